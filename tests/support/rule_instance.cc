#include "tests/support/rule_instance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/graph/constant.h"
#include "core/rewrite/make.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"

namespace tandem::test {

using reference::Random;
using rewriting::Pattern;

namespace {

[[noreturn]] void unfit(const char* why) { throw TensorError(why); }

double special_number(Random& random) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers = {0,     -0.0,   1,     -1,   2,        0.5,       8,
                                       -4,    1e-3,   -2.5,  3.5,  infinity, -infinity, std::nan(""),
                                       1e-40, -1e-42, 65504, 1e30, -3e38,    5e-324};
  return random.pick(numbers);
}

double any_number(Random& random) { return random.chance(0.3) ? special_number(random) : random.uniform(-4, 4); }

int64_t any_integer(Random& random, DType dtype) {
  const int64_t far = static_cast<int64_t>(~uint64_t{0} >> (65 - std::min<size_t>(64, 8 * size_of(dtype))));
  const std::vector<int64_t> numbers = {0, 0, 1, -1, 2, 3, far, -far - 1};
  return random.chance(0.4) ? random.pick(numbers) : random.between(-9, 9);
}

const std::vector<DType> kAllTypes = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                                      DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                                      DType::kBF16, DType::kF32, DType::kF64};

class Builder {
 public:
  explicit Builder(Random& random) : random_(random), graph_(std::make_shared<Graph>()) {
    style_ = static_cast<int>(random_.below(5));
    t_ = Index::variable("t", kSmallestT, kLargestT);
  }

  RuleInstance run(const rewriting::Rule& rule) {
    const std::string name = rule.name;
    RuleInstance instance;
    instance.module.graph = graph_;
    const NodeId root = name == "contract.dead_taps"     ? convolution()
                        : name == "contract.few_results" ? row_product()
                                                         : by_pattern(rule.pattern);
    instance.module.outputs = {root};
    instance.module.output_names = {"root"};
    return instance;
  }

 private:
  // Roots -----------------------------------------------------------------------------------------------------------

  NodeId by_pattern(const Pattern& pattern) {
    const Op op = random_.pick(pattern.ops);
    Pattern chosen = pattern;
    chosen.ops = {op};
    const bool scalars = style_ == 1 && rewriting_is_elementwise(op);
    Shape shape = scalars || op == Op::kSize ? Shape{}
                                             : random_shape(op == Op::kWindow   ? 2
                                                            : op_needs_axis(op) ? 1
                                                                                : 0);
    return build(chosen, random_dtype(op), shape);
  }
  static bool rewriting_is_elementwise(Op op) { return is_elementwise(info(op).op_class) && op != Op::kGather; }
  static bool op_needs_axis(Op op) { return op == Op::kIota || op == Op::kConcat; }

  DType random_dtype(Op op) {
    if (op == Op::kIota || op == Op::kSize) return DType::kI64;
    const TypeRule rule = info(op).type_rule;
    if (rule == TypeRule::kCompare) return DType::kBool;
    for (;;) {
      const DType dtype = random_.pick(kAllTypes);
      if (rule == TypeRule::kFloat && !is_float(dtype)) continue;
      if (rule == TypeRule::kInteger && is_float(dtype)) continue;
      return dtype;
    }
  }

  /// A convolution of few samples with much padding, whose outer taps meet nothing else.
  NodeId convolution() {
    const int64_t taps = random_.between(2, 5), channels = random_.between(1, 3), samples = random_.between(1, 3);
    const int64_t padding = random_.between(1, 4), dilation = random_.between(1, 2), step = random_.between(1, 3);
    const bool symbolic = random_.chance(0.3);
    const Tensor x(graph_,
                   input(DType::kF32, {symbolic ? Index(t_) : Index(random_.between(1, 2)), channels, samples}));
    const std::vector<Index> shape = {random_.between(1, 3), channels, taps};
    const Tensor weight(graph_, constant(DType::kF32, shape, true));
    Conv1dOptions options;
    options.stride = step;
    options.padding = padding;
    options.dilation = dilation;
    static_cast<void>(conv1d(x, weight, {}, options));
    for (auto id = static_cast<NodeId>(graph_->size()); id-- > 0;)
      if (graph_->node(id).op == Op::kContract) return id;
    unfit("no contraction");
  }

  NodeId row_product() {
    const std::vector<Index> shape = {random_.between(1, 3), random_.between(16, 40)};
    const DType dtype = random_.chance(0.7) ? DType::kF32 : DType::kF64;
    const NodeId y = rewriting::expand(*graph_, input(dtype, {1, shape[1]}), shape);
    return rewriting::accumulate(*graph_, Op::kContract, {input(dtype, shape), y}, 1);
  }

  // Patterns --------------------------------------------------------------------------------------------------------

  NodeId build(const Pattern& pattern, DType dtype, const Shape& shape) {
    if (pattern.name != 0)
      if (const auto bound = bound_.find(pattern.name); bound != bound_.end()) {
        const Node& node = graph_->node(bound->second);
        const bool uniform = pattern.kind == Pattern::Kind::kUniform;
        if (node.dtype != dtype || (!uniform && !same(node.shape, shape))) unfit("a repeated name of another shape");
        return uniform ? rewriting::filled(*graph_, bound->second, shape) : bound->second;
      }
    NodeId made = kNoNode, named = kNoNode;
    if (pattern.kind == Pattern::Kind::kUniform) {
      named = pattern.value ? scalar(dtype, *pattern.value) : random_scalar(dtype);
      made = rewriting::filled(*graph_, named, shape);
    } else {
      made = named = pattern.kind == Pattern::Kind::kAny ? leaf(dtype, shape) : operation(pattern, dtype, shape);
    }
    if (pattern.name != 0) bound_[pattern.name] = named;
    return made;
  }

  NodeId operand(const Pattern& pattern, size_t i, DType dtype, const Shape& shape) {
    static const Pattern nothing;
    if (pattern.operands.empty()) return build(nothing, dtype, shape);
    return build(pattern.operands.at(i), dtype, shape);
  }

  NodeId operation(const Pattern& pattern, DType dtype, const Shape& shape) {
    const Op op = random_.pick(pattern.ops);
    if (op == Op::kGather) return gather(pattern, dtype, shape);
    switch (info(op).op_class) {
      case OpClass::kLeaf:
        return leaf_operation(op, dtype, shape);
      case OpClass::kMovement:
        return movement(pattern, op, dtype, shape);
      case OpClass::kNary:
        return concat(pattern, dtype, shape);
      case OpClass::kReduce:
      case OpClass::kContract:
        return accumulation(pattern, op, dtype, shape);
      default:
        return elementwise(pattern, op, dtype, shape);
    }
  }

  NodeId elementwise(const Pattern& pattern, Op op, DType dtype, const Shape& shape) {
    const TypeRule rule = info(op).type_rule;
    DType from = dtype;
    if (rule == TypeRule::kCompare) {
      if (dtype != DType::kBool) unfit("a comparison is bool");
      from = random_.chance(0.3) ? DType::kBool : random_.pick(kAllTypes);
    }
    if (op == Op::kCast) from = random_.chance(0.2) ? dtype : random_.pick(kAllTypes);
    if (op == Op::kBitcast) {
      from = random_.pick(kAllTypes);
      if (size_of(from) != size_of(dtype)) unfit("other size");
    }
    std::vector<NodeId> operands;
    const auto arity = static_cast<size_t>(info(op).arity);
    for (size_t i = 0; i < arity; i++)
      operands.push_back(operand(pattern, i, op == Op::kWhere && i == 0 ? DType::kBool : from, shape));
    if (pattern.commutative && random_.chance(0.5)) std::swap(operands[0], operands[1]);
    return graph_->make(op, operands, {}, dtype);
  }

  NodeId leaf_operation(Op op, DType dtype, const Shape& shape) {
    if (dtype != DType::kI64) unfit("i64");
    Attributes attributes;
    if (op == Op::kSize) attributes.size = {random_.chance(0.7) ? Index(random_.between(0, 99)) : t_ * 3};
    if (op == Op::kIota) attributes.axis = static_cast<int32_t>(random_.below(static_cast<int64_t>(shape.size())));
    return graph_->make(op, {}, std::move(attributes), dtype, shape);
  }

  NodeId accumulation(const Pattern& pattern, Op op, DType dtype, const Shape& shape) {
    Attributes attributes;
    attributes.count = static_cast<int32_t>(random_.between(1, 3));
    Shape from = shape;
    for (int i = 0; i < attributes.count; i++) from.push_back(style_ == 2 ? Dim(1) : random_dim());
    std::vector<NodeId> operands;
    for (size_t i = 0; i < static_cast<size_t>(info(op).arity); i++)
      operands.push_back(operand(pattern, i, dtype, from));
    return graph_->make(op, operands, std::move(attributes));
  }

  NodeId gather(const Pattern& pattern, DType dtype, const Shape& shape) {
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t axis = random_.between(0, rank), width = random_.between(0, std::min<int64_t>(2, rank - axis));
    Shape from = shape;
    const Shape indices(shape.begin() + axis, shape.begin() + axis + width);
    from.erase(from.begin() + axis, from.begin() + axis + width);
    const Dim inside = width > 0 && random_.chance(0.6) ? indices[0] + random_.below(3) : random_dim();
    from.insert(from.begin() + axis, inside);
    Attributes attributes;
    attributes.axis = static_cast<int32_t>(axis);
    const NodeId x = operand(pattern, 0, dtype, from);
    const NodeId i = operand(pattern, 1, DType::kI64, indices);
    return graph_->make(Op::kGather, std::vector<NodeId>{x, i}, std::move(attributes));
  }

  NodeId concat(const Pattern& pattern, DType dtype, const Shape& shape) {
    if (shape.empty()) unfit("no axis");
    const auto axis = static_cast<size_t>(random_.below(static_cast<int64_t>(shape.size())));
    if (!shape[axis].is_constant()) unfit("cut a number");
    Attributes attributes;
    attributes.axis = static_cast<int32_t>(axis);
    if (!pattern.operands.empty())
      return graph_->make(Op::kConcat, std::vector<NodeId>{operand(pattern, 0, dtype, shape)}, std::move(attributes));
    // Parts of one tensor, the same number twice, parts without elements, concats, or anything.
    const NodeId whole = leaf(dtype, shape);
    const NodeId number = random_scalar(dtype);
    std::vector<NodeId> parts;
    for (int64_t at = 0; at < shape[axis].constant() || parts.empty();) {
      Shape part = shape;
      part[axis] = random_.chance(0.15) ? 0 : random_.between(0, shape[axis].constant() - at);
      std::vector<Index> begin = rewriting::zeros(shape.size());
      begin[axis] = at;
      switch (style_) {
        case 0:
          parts.push_back(rewriting::shrink(*graph_, whole, begin, part));
          break;
        case 1:
          parts.push_back(rewriting::filled(*graph_, number, part));
          break;
        case 2:
          parts.push_back(random_.chance(0.5) && depth_++ < 2 ? concat(pattern, dtype, part) : leaf(dtype, part));
          break;
        default:
          parts.push_back(leaf(dtype, part));
      }
      at += part[axis].constant();
      if (parts.size() > 6) unfit("too many parts");
    }
    return graph_->make(Op::kConcat, parts, std::move(attributes));
  }

  // Movement: the operand's shape from the result's -----------------------------------------------------------------

  NodeId movement(const Pattern& pattern, Op op, DType dtype, const Shape& shape) {
    Attributes attributes;
    Shape from = shape;
    if (op == Op::kReshape) from = reshaped(shape);
    if (op == Op::kPermute) from = permuted(shape, attributes);
    if (op == Op::kWindow) from = windowed(shape, attributes);
    const bool still = random_.chance(0.25);
    for (size_t axis = 0; axis < shape.size(); axis++) {
      if (op == Op::kExpand && !still && random_.chance(0.5)) from[axis] = 1;
      if (op == Op::kFlip) attributes.order.push_back(!still && random_.chance(0.5) ? 1 : 0);
      if (op == Op::kPad || op == Op::kReflectPad) padded(from[axis], attributes, still, op == Op::kReflectPad);
      if (op == Op::kShrink) {
        attributes.begin.emplace_back(still ? 0 : random_.between(0, 3));
        from[axis] = shape[axis] + attributes.begin.back() + (still ? 0 : random_.between(0, 3));
        attributes.size.push_back(shape[axis]);
      }
      if (op == Op::kStride) {
        const int64_t step = still ? 1 : random_.between(1, 3);
        attributes.size.emplace_back(step);
        if (!shape[axis].is(1) || !still) from[axis] = (shape[axis] - 1) * step + 1;
        if (less(0, shape[axis]) != Truth::kAlways) unfit("nothing to step over");
      }
    }
    std::vector<NodeId> operands = {operand(pattern, 0, dtype, from)};
    if (op == Op::kPad) operands.push_back(operand(pattern, 1, dtype, {}));
    return graph_->make(op, operands, std::move(attributes), dtype, shape);
  }

  void padded(Dim& size, Attributes& attributes, bool still, bool reflect) {
    int64_t before = 0, after = 0;
    if (!still && size.is_constant() && random_.chance(0.7)) {
      before = random_.between(0, size.constant());
      after = random_.between(0, size.constant() - before);
    }
    const Dim inner = size - before - after;
    if (reflect && (less(before, inner) != Truth::kAlways || less(after, inner) != Truth::kAlways)) before = after = 0;
    size = size - before - after;
    attributes.begin.emplace_back(before);
    attributes.size.emplace_back(after);
  }

  Shape reshaped(Shape shape) {
    for (int64_t i = random_.between(0, 3); i > 0; i--) {
      const auto axis = static_cast<size_t>(random_.below(static_cast<int64_t>(shape.size()) + 1));
      const int64_t way = random_.below(3);
      if (way == 0) {
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), Dim(1));
      } else if (way == 1 && axis + 1 < shape.size()) {
        shape[axis] = shape[axis] * shape[axis + 1];
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
      } else if (axis < shape.size() && shape[axis].is_constant()) {
        for (const int64_t divisor : {2, 3, 5}) {
          if (shape[axis].constant() == 0 || shape[axis].constant() % divisor != 0) continue;
          shape[axis] = shape[axis].constant() / divisor;
          shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), Dim(divisor));
          break;
        }
      }
    }
    return shape;
  }

  Shape permuted(const Shape& shape, Attributes& attributes) {
    for (size_t axis = 0; axis < shape.size(); axis++) attributes.order.push_back(static_cast<int32_t>(axis));
    if (random_.chance(0.8))
      for (size_t axis = shape.size(); axis > 1; axis--)
        std::swap(attributes.order[axis - 1],
                  attributes.order[static_cast<size_t>(random_.below(static_cast<int64_t>(axis)))]);
    Shape from(shape.size());
    for (size_t axis = 0; axis < shape.size(); axis++) from[static_cast<size_t>(attributes.order[axis])] = shape[axis];
    return from;
  }

  Shape windowed(const Shape& shape, Attributes& attributes) {
    if (shape.size() < 2) unfit("a window has two axes");
    const auto axis = static_cast<size_t>(random_.below(static_cast<int64_t>(shape.size()) - 1));
    const Dim& size = shape.back();
    const bool touching = random_.chance(0.3);
    const Dim step = touching ? size : Dim(random_.between(1, 3));
    const int64_t dilation = touching || random_.chance(0.5) ? 1 : random_.between(1, 3);
    Shape from(shape.begin(), shape.end() - 1);
    if (!rewriting::is_positive(shape[axis]) || !rewriting::is_positive(size)) unfit("an empty window");
    from[axis] = (shape[axis] - 1) * step + (size - 1) * dilation + 1;
    if (step.is_constant()) from[axis] += random_.below(step.constant());
    attributes.axis = static_cast<int32_t>(axis);
    attributes.size = {size};
    attributes.begin = {step, dilation};
    return from;
  }

  // Leaves ----------------------------------------------------------------------------------------------------------

  Dim random_dim() {
    const std::vector<int64_t> sizes = {1, 1, 1, 2, 2, 3, 4, 5, 6, 20};
    if (random_.chance(0.02)) return 0;
    return random_.chance(0.08) ? Dim(t_) : Dim(random_.pick(sizes));
  }

  Shape random_shape(int64_t smallest) {
    for (;;) {
      Shape shape;
      for (int64_t rank = random_.between(smallest, 4); rank > 0; rank--) shape.push_back(random_dim());
      if (element_count(shape).upper() <= 600) return shape;
    }
  }

  NodeId input(DType dtype, const Shape& shape) {
    Attributes attributes;
    attributes.count = inputs_++;
    attributes.name = "x" + std::to_string(attributes.count);
    return graph_->make(Op::kInput, {}, std::move(attributes), dtype, shape);
  }

  NodeId constant(DType dtype, const Shape& shape, bool finite) {
    std::vector<std::byte> bytes;
    for (int64_t i = element_count(shape).constant(); i > 0; i--) {
      double value = any_number(random_);
      while (finite && !(std::fabs(value) < 1e30)) value = any_number(random_);
      append_element(bytes, dtype, value);
    }
    return make_constant(*graph_, dtype, shape, constant_data(dtype, shape, std::move(bytes), "weight"));
  }

  NodeId scalar(DType dtype, double value) {
    return is_float(dtype) ? make_scalar(*graph_, dtype, value)
                           : make_integer_scalar(*graph_, dtype, static_cast<int64_t>(value));
  }
  NodeId random_scalar(DType dtype) {
    if (is_float(dtype)) return make_scalar(*graph_, dtype, any_number(random_));
    return make_integer_scalar(*graph_, dtype, any_integer(random_, dtype));
  }

  NodeId leaf(DType dtype, const Shape& shape) {
    if (style_ == 1 || random_.chance(0.1)) return rewriting::filled(*graph_, random_scalar(dtype), shape);
    if (style_ == 3 || random_.chance(0.1)) {
      Shape narrow = shape;
      for (Dim& dim : narrow)
        if (random_.chance(0.6)) dim = 1;
      return rewriting::expand(*graph_, input(dtype, narrow), shape);
    }
    if (is_float(dtype) && is_constant(shape) && random_.chance(0.2)) return constant(dtype, shape, false);
    return input(dtype, shape);
  }

  Random& random_;
  std::shared_ptr<Graph> graph_;
  std::map<char, NodeId> bound_;
  Index t_;
  int style_ = 0;  // What leaves and parts are mostly made of; see their uses.
  int depth_ = 0;
  int32_t inputs_ = 0;
};

}  // namespace

RuleInstance make_instance(const rewriting::Rule& rule, Random& random) { return Builder(random).run(rule); }

reference::Options random_inputs(const GraphModule& module, Random& random, int64_t t, bool special) {
  reference::Options options;
  options.variables["t"] = t;
  for (const NodeId id : reachable_nodes(*module.graph, module.outputs)) {
    const Node& node = module.graph->node(id);
    if (node.op != Op::kInput) continue;
    const int64_t count = element_count(node.shape).evaluate([&](const Index&) { return t; });
    std::vector<std::byte>& bytes = options.inputs[node.attributes.count];
    for (int64_t i = 0; i < count; i++) {
      if (is_float(node.dtype))
        append_element(bytes, node.dtype, special ? any_number(random) : random.uniform(-4, 4));
      else
        append_integer(bytes, node.dtype,
                       node.dtype == DType::kBool ? random.below(2) : any_integer(random, node.dtype));
    }
  }
  return options;
}

}  // namespace tandem::test
