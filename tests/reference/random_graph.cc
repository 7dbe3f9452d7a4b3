#include "tests/reference/random_graph.h"

#include <algorithm>

#include "core/tensor/nn.h"
#include "tests/reference/random_pool.h"

namespace tandem::reference {

namespace {

class Generator : RandomPool {
 public:
  Generator(uint32_t seed, const RandomGraphOptions& options) : RandomPool(seed, options) {}

  RandomGraph run() {
    for (int i = 0; i < options_.variables; i++) {
      const int64_t least = random_.between(1, 4);
      variables_.push_back(Index::variable(i == 0 ? "t" : "b", least, least + random_.between(1, 36)));
    }
    pool_.push_back(fresh(random_shape(), random_dtype()));
    pool_.push_back(fresh(random_shape(), DType::kF32));
    for (int done = 0, tries = 0; done < options_.operations && tries < 20 * options_.operations; tries++) {
      try {
        const Tensor next = step();
        if (!acceptable(next)) continue;
        pool_.push_back(next);
        done++;
      } catch (const TensorError&) {
        // The step does not fit the shapes that it met: another one will.
      }
    }
    RandomGraph out;
    out.module.graph = graph_;
    const size_t first = pool_.size() - std::min<size_t>(pool_.size(), static_cast<size_t>(random_.between(1, 4)));
    for (size_t i = first; i < pool_.size(); i++) {
      const NodeId node = pool_[i].node_in(graph_);
      if (std::count(out.module.outputs.begin(), out.module.outputs.end(), node) != 0) continue;
      out.module.output_names.push_back("output" + std::to_string(out.module.outputs.size()));
      out.module.outputs.push_back(node);
    }
    add_states(out);
    out.inputs = values_.inputs;
    return compacted(out);
  }

 private:
  Tensor step() {
    switch (random_.below(options_.floats_only ? 9 : 15)) {
      case 0:
        return unary_float();
      case 1:
      case 2:
        return binary_any();
      case 3:
      case 4:
        return movement();
      case 5:
        return reduction();
      case 6:
        return contraction();
      case 7:
        return composition();
      case 8:
        return joined();
      case 9:
        return integer_op();
      case 10:
        return in_graph(any().cast(random_dtype()));
      case 11:
      case 12:
        return ragged();
      case 13:
        return gathered();
      default:
        return choice();
    }
  }

  Tensor unary_float() {
    const Tensor x = any_float();
    switch (random_.below(18)) {
      case 0:
        return -x;
      case 1:
        return abs(x);
      case 2:
        return sqrt(abs(x));
      case 3:
        return exp(minimum(x, 3));
      case 4:
        return log(abs(x) + 0.5);
      case 5:
        return sin(x);
      case 6:
        return cos(x);
      case 7:
        return tanh(x);
      case 8:
        return sigmoid(x);
      case 9:
        return erf(x);
      case 10:
        return floor(x);
      case 11:
        return round(x);
      case 12:
        return silu(x);
      case 13:
        return gelu(x);
      case 14:
        return softplus(x);
      case 15:
        return elu(x);
      case 16:
        return pow(abs(x) + 0.25, 1.5);
      default:
        return relu(x);
    }
  }

  Tensor binary_any() {
    const Tensor x = any();
    const bool boolean = x.dtype() == DType::kBool;
    if (!boolean && random_.chance(0.25)) return random_.chance(0.5) ? x * 2 : 1 - x;
    const Tensor y = partner(x);
    switch (random_.below(boolean ? 2 : 6)) {
      case 0:
        return minimum(x, y);
      case 1:
        return maximum(x, y);
      case 2:
        return x - y;
      case 3:
        return x * y;
      case 4:
        return is_float(x.dtype()) ? x / (abs(y) + 0.5) : x / y;
      default:
        return x + y;
    }
  }
  Tensor integer_op() {
    const Tensor x = any_integer();
    const Tensor y = partner(x);
    switch (random_.below(8)) {
      case 0:
        return bitwise_and(x, y);
      case 1:
        return bitwise_or(x, y);
      case 2:
        return bitwise_xor(x, y);
      case 3:
        return shift_left(x, bitwise_and(y, 3));
      case 4:
        return shift_right(x, bitwise_and(y, 3));
      case 5:
        return x % y;
      case 6:
        return x / y;
      default:
        return logical_not(x);
    }
  }
  Tensor choice() {
    const Tensor x = any();
    const Tensor y = partner(x);
    const Tensor condition = random_.chance(0.5)   ? less(x, y)
                             : random_.chance(0.5) ? less_equal(y, x)
                                                   : not_equal(x, y);
    return random_.chance(0.3) ? condition : where(condition, x, y);
  }

  Tensor movement() {
    const Tensor x = any();
    const int axis = x.rank() == 0 ? 0 : any_axis(x);
    if (x.rank() == 0) return x.expand({any_size()});
    const int64_t size = x.dim(axis).lower();  // What holds for the smallest value holds for all.
    std::vector<DimPair> pairs(x.shape().size(), DimPair(0, 0));
    switch (random_.below(10)) {
      case 0:
        return x.flatten(0, axis);
      case 1:
        return x.transpose(axis, any_axis(x));
      case 2: {
        std::vector<int> order;
        for (int i = 0; i < x.rank(); i++) order.insert(order.begin() + random_.below(i + 1), i);
        return x.permute(order);
      }
      case 3: {
        Shape shape = x.shape();
        shape.insert(shape.begin() + axis, any_size());
        return x.unsqueeze(axis).expand(shape);
      }
      case 4:
        pairs[static_cast<size_t>(axis)] = {random_.below(4), random_.below(3)};
        return x.dtype() == DType::kBool ? x.pad(pairs, 1) : x.pad(pairs, random_.between(0, 2));
      case 5:
        pairs[static_cast<size_t>(axis)] = {random_.below(size), random_.below(size)};
        return x.reflect_pad(pairs);
      case 6: {
        const int64_t begin = random_.below(size);
        const int64_t end = begin + 1 + random_.below(size - begin);
        const bool to_the_end = !x.dim(axis).is_constant() && random_.chance(0.7);
        return x.slice(axis, begin, to_the_end ? Dim(kEnd) : Dim(end), random_.between(1, 3));
      }
      case 7:
        return x.flip({axis});
      case 8: {
        const int64_t width = random_.between(1, std::min<int64_t>(4, size));
        return x.window(axis, width, random_.between(1, 2), 1);
      }
      default:
        return x.chunk(axis, size % 2 == 0 && x.dim(axis).is_constant() ? 2 : 1).back();
    }
  }

  Tensor reduction() {
    const Tensor x = any();
    std::vector<int> axes;
    for (int i = 0; i < x.rank(); i++)
      if (random_.chance(0.5)) axes.push_back(i);
    const bool keep = random_.chance(0.5);
    switch (random_.below(6)) {
      case 0:
        return x.max(axes, keep);
      case 1:
        return x.min(axes, keep);
      case 2:
        return is_float(x.dtype()) ? x.mean(axes, keep) : x.any(axes, keep);
      case 3:
        return is_float(x.dtype()) ? x.var(axes, keep) : x.all(axes, keep);
      case 4:
        return x.argmax(any_axis(x), keep);
      default:
        return x.sum(axes, keep);
    }
  }

  Tensor contraction() {
    const Tensor x = any_float();
    switch (random_.below(5)) {
      case 0: {
        const Tensor a = with_rank(x, 2);
        return matmul(a, fresh({a.dim(1), any_size()}, a.dtype()));
      }
      case 1: {
        const Tensor a = with_rank(x, static_cast<int>(random_.between(1, 3)));
        const Dim out = any_size();
        const Tensor weight = fresh({out, a.dim(-1)}, a.dtype());
        return linear(a, weight, optional({out}, a.dtype()));
      }
      case 2: {
        const Tensor a = with_rank(x, 3);
        return matmul(a, a.transpose(1, 2));
      }
      case 3:
        return convolution1(with_rank(x, 3));
      default:
        return convolution2(with_rank(x, 4));
    }
  }
  Tensor convolution1(const Tensor& x) {
    const int64_t channels = number_of(x.dim(1));
    Conv1dOptions options;
    options.stride = random_.between(1, 3);
    options.padding = random_.between(0, 3);
    options.dilation = random_.between(1, 2);
    options.groups = random_.chance(0.3) ? channels : 1;
    const int64_t outputs = options.groups * random_.between(1, options.groups == 1 ? 9 : 2);
    const Tensor weight = fresh({outputs, channels / options.groups, random_.between(1, 5)}, x.dtype());
    return conv1d(x, weight, optional({outputs}, x.dtype()), options);
  }
  Tensor convolution2(const Tensor& x) {
    const int64_t channels = number_of(x.dim(1));
    Conv2dOptions options;
    options.stride = {random_.between(1, 2), random_.between(1, 2)};
    options.padding = {random_.between(0, 2), random_.between(0, 2)};
    options.dilation = {random_.between(1, 2), 1};
    options.groups = random_.chance(0.3) ? channels : 1;
    const int64_t outputs = options.groups * random_.between(1, 3);
    const Shape weight = {outputs, channels / options.groups, random_.between(1, 3), random_.between(1, 3)};
    return conv2d(x, fresh(weight, x.dtype()), {}, options);
  }

  Tensor composition() {
    const Tensor x = any_float();
    const int axis = any_axis(x);
    switch (random_.below(8)) {
      case 0:
        return softmax(x, axis);
      case 6:
      case 7:
        return attention(x);
      case 1:
        return log_softmax(x, axis);
      case 2: {
        const Shape last = {x.dim(-1)};
        const Tensor weight = fresh(last, x.dtype());
        return layer_norm(x, weight, optional(last, x.dtype()));
      }
      case 3:
        return glu(concat({x, x * 0.5}, axis), axis);
      case 4:
        return x.cumsum(axis);
      default: {
        const Tensor a = with_rank(x, 2);
        const Dim hidden = random_.between(1, 9);
        const Tensor h = fresh({a.dim(0), hidden}, a.dtype());
        const Tensor c = fresh({a.dim(0), hidden}, a.dtype());
        const Tensor w_ih = fresh({hidden * 4, a.dim(1)}, a.dtype());
        const Tensor w_hh = fresh({hidden * 4, hidden}, a.dtype());
        const LstmOutput out = lstm_cell(a, h, c, w_ih, w_hh, fresh({hidden * 4}, a.dtype()));
        return concat({out.h, out.c}, 1);
      }
    }
  }

  /// A product, something about its rows, and a product along these; with ends of the keys and of the queries.
  Tensor attention(const Tensor& x) {
    const Tensor q = with_rank(x, static_cast<int>(random_.between(2, 4)));
    Shape shape = q.shape();
    shape[shape.size() - 2] = random_.chance(0.2) ? q.dim(-2) : any_size();
    if (shape.size() > 2 && random_.chance(0.3)) shape[0] = 1;
    const Tensor k = fresh(shape, q.dtype());
    shape.back() = any_size();
    const Tensor v = random_.chance(0.3) ? k : fresh(shape, q.dtype());
    Tensor scores = matmul(q, k.transpose(-2, -1)) * 0.25;
    const int keys = scores.rank() - 1, queries = keys - 1;
    if (random_.chance(0.2)) scores = scores + fresh({scores.dim(-1)}, q.dtype());
    if (random_.chance(0.15)) scores = tanh(scores.flip({random_.chance(0.5) ? keys : queries}));
    Tensor weights;
    switch (random_.below(4)) {
      case 0:
        weights = softmax(scores, keys);
        break;
      case 1:
        weights = softmax(scores, keys, lengths_for(scores, keys));
        break;
      case 2:
        weights = scores - scores.mean({random_.chance(0.7) ? keys : queries}, true);
        break;
      default: {
        const Tensor squares = scores * scores + 1;
        weights = squares / squares.sum({keys}, true);
      }
    }
    if (random_.chance(0.2)) weights = weights.limit(queries, lengths_for(weights, queries));
    if (random_.chance(0.1)) return matmul(v.transpose(-2, -1), weights.transpose(-2, -1));
    const Tensor result = matmul(weights, v);
    return random_.chance(0.3) ? result.limit(queries, lengths_for(result, queries)) : result;
  }

  Tensor joined() {
    const Tensor x = any();
    if (x.rank() == 0) return stack({x, x}, 0);
    const int axis = any_axis(x);
    Shape shape = x.shape();
    shape[static_cast<size_t>(axis)] = random_.between(1, 3);
    const Tensor y = fresh(shape, x.dtype());
    return random_.chance(0.5) ? concat({x, y}, axis) : concat({y, x, x}, axis);
  }

  /// Elements by index, of which some lie outside.
  Tensor gathered() {
    const Tensor x = any();
    if (x.rank() == 0) throw TensorError("the step needs an axis");
    const int axis = any_axis(x);
    const DType dtype = random_.chance(0.5) ? DType::kI64 : DType::kI32;
    if (random_.chance(0.3)) return x.gather(axis, in_graph(any_integer().cast(dtype)));
    Shape shape = {random_.between(1, 6)};
    if (random_.chance(0.3)) shape.insert(shape.begin(), any_size());
    const Tensor indices = fresh(shape, dtype);
    return random_.chance(0.5) ? x.gather(axis, indices) : x.gather(axis, indices + random_.between(0, 9));
  }

  /// Lengths for an axis: those of another axis where they fit, so that both operands of a product end together.
  Tensor lengths_for(const Tensor& x, int axis) {
    const Shape prefix(x.shape().begin(), x.shape().begin() + random_.below(axis + 1));
    for (const Tensor& lengths : lengths_)
      if (same(lengths.shape(), prefix) && random_.chance(0.7)) return lengths;
    const DType dtype = random_.chance(0.7) ? DType::kI32 : DType::kI64;
    lengths_.push_back(fresh(prefix, dtype));
    return lengths_.back();
  }
  /// Axes that end early, and what is done with them.
  Tensor ragged() {
    const Tensor x = any();
    if (x.rank() == 0) throw TensorError("the step needs an axis");
    const int axis = any_axis(x);
    const Tensor lengths = lengths_for(x, axis);
    const int64_t fill = random_.chance(0.6) ? 0 : random_.between(0, 7);
    if (x.dtype() == DType::kBool) return x.limit(axis, lengths, fill % 2);
    if (!is_float(x.dtype()) || random_.chance(0.4)) return x.limit(axis, lengths, fill);
    switch (random_.below(6)) {
      case 0:
        return softmax(x, axis, lengths);
      case 1:
        return x.limit(axis, lengths, fill).sum({axis}, true);
      case 2:
        return x.limit(axis, lengths, -9).max({axis});
      case 3: {
        const Tensor y = silu(x).limit(axis, lengths, fill);
        return (y * 2).limit(axis, lengths, 1) - y;
      }
      case 4: {
        // A product over the axis that ends early, which both operands may do.
        const Tensor a = x.limit(axis, lengths).transpose(axis, -1);
        const Tensor b = random_.chance(0.5) ? a : x.transpose(axis, -1);
        return matmul(a.unsqueeze(-2), b.unsqueeze(-1)).squeeze(-1);
      }
      default:
        return x.limit(axis, lengths, fill).cumsum(axis);
    }
  }

  /// Inputs that become states: their next values are bounded, whatever number of steps is made.
  void add_states(RandomGraph& out) {
    std::vector<int32_t> free;
    for (const auto& [number, bytes] : values_.inputs) free.push_back(number);
    while (out.states.size() < static_cast<size_t>(options_.states) && !free.empty()) {
      const auto chosen = free.begin() + random_.below(static_cast<int64_t>(free.size()));
      const int32_t number = *chosen;
      free.erase(chosen);
      const Tensor x = input_tensor(number);
      if (x.empty() || !is_constant(x.shape())) continue;
      const Tensor next = next_value(x);
      if (!acceptable(next)) continue;
      out.states.push_back({number, out.module.outputs.size()});
      out.module.output_names.push_back("state" + std::to_string(out.states.size() - 1));
      out.module.outputs.push_back(next.node_in(graph_));
    }
  }
  Tensor next_value(const Tensor& x) {
    Tensor next;
    for (size_t i = pool_.size(); i-- > 0 && next.empty();)
      if (pool_[i].dtype() == x.dtype() && same(pool_[i].shape(), x.shape()) &&
          pool_[i].node_in(graph_) != x.node_in(graph_))
        next = pool_[i];
    if (x.dtype() == DType::kBool) return next.empty() ? logical_not(x) : next;
    if (next.empty()) next = is_float(x.dtype()) ? x * 0.5 + 1 : x + 1;
    return is_float(x.dtype()) ? minimum(maximum(next, -3), 3) : next;
  }

  std::vector<Tensor> lengths_;
};

}  // namespace

RandomGraph random_graph(uint32_t seed, const RandomGraphOptions& options) { return Generator(seed, options).run(); }

}  // namespace tandem::reference
