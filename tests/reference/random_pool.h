#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/graph/constant.h"
#include "core/tensor/tensor.h"
#include "tests/reference/evaluator.h"
#include "tests/reference/random_graph.h"

namespace tandem::reference {

/// The values that a random graph has so far, and what new ones are made of. Never two random numbers in one argument
/// list: their order would be the compiler's choice.
class RandomPool {
 protected:
  RandomPool(uint32_t seed, const RandomGraphOptions& options)
      : random_(seed * 2654435761u + 1),
        options_(options),
        graph_(std::make_shared<Graph>()),
        evaluator_(*graph_, values_) {}

  Tensor any() {
    // Recent values more often, so that chains get long.
    const auto count = static_cast<int64_t>(pool_.size());
    return pool_[static_cast<size_t>(random_.chance(0.6) ? count - 1 - random_.below(std::min<int64_t>(3, count))
                                                         : random_.below(count))];
  }
  Tensor any_float() {
    for (int i = 0; i < 8; i++)
      if (const Tensor x = any(); is_float(x.dtype())) return x;
    return any().cast(DType::kF32);
  }
  Tensor any_integer() {
    for (int i = 0; i < 8; i++)
      if (const Tensor x = any(); is_integer(x.dtype())) return x;
    return fresh(random_shape(), DType::kI32);
  }
  Tensor with_rank(Tensor x, int rank) {
    while (x.rank() > rank) x = x.flatten(0, 1);
    while (x.rank() < rank) x = x.unsqueeze(static_cast<int>(random_.below(x.rank() + 1)));
    return x;
  }
  int any_axis(const Tensor& x) { return static_cast<int>(random_.below(std::max(1, x.rank()))); }

  Dim any_size() {
    if (!variables_.empty() && random_.chance(0.4)) return random_.pick(variables_);
    return random_.pick(kSizes);
  }
  /// A size that a step needs as a number.
  static int64_t number_of(const Dim& dim) {
    if (!dim.is_constant()) throw TensorError("the step needs a constant size");
    return dim.constant();
  }

  Shape random_shape() {
    Shape shape;
    int64_t count = 1;
    const int64_t rank = random_.between(1, 4);
    for (int64_t i = 0; i < rank; i++) {
      Dim size = any_size();
      if (count * size.upper() > options_.max_elements / 2) size = 1;
      count *= size.upper();
      shape.push_back(size);
    }
    return shape;
  }
  DType random_dtype() {
    if (options_.floats_only) return DType::kF32;
    return random_.pick(std::vector<DType>{DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kF16,
                                           DType::kBF16, DType::kI32, DType::kI64, DType::kI16, DType::kU8,
                                           DType::kBool});
  }

  std::vector<std::byte> random_bytes(const Shape& shape, DType dtype) {
    std::vector<std::byte> bytes;
    for (int64_t i = element_count(shape).upper(); i > 0; i--) {
      if (is_float(dtype))
        append_element(bytes, dtype, random_.uniform(-2, 2));
      else
        append_integer(bytes, dtype,
                       dtype == DType::kBool ? random_.below(2) : random_.between(is_unsigned(dtype) ? 0 : -20, 20));
    }
    return bytes;
  }
  /// A new input or a new constant.
  Tensor fresh(const Shape& shape, DType dtype) {
    std::vector<std::byte> bytes = random_bytes(shape, dtype);
    if (random_.chance(0.5) && !pool_.empty() && is_constant(shape)) {
      const std::string name = "weight" + std::to_string(constants_++);
      return in_graph(Tensor::constant(dtype, shape, constant_data(dtype, shape, std::move(bytes), name)));
    }
    const auto number = static_cast<int32_t>(values_.inputs.size());
    values_.inputs[number] = std::move(bytes);
    return Tensor::input(graph_, number, "x" + std::to_string(number), dtype, shape);
  }
  /// The input of a number; empty when it is not in the graph.
  Tensor input_tensor(int32_t number) const {
    for (NodeId id = 0; id < graph_->size(); id++)
      if (graph_->node(id).op == Op::kInput && graph_->node(id).attributes.count == number) return Tensor(graph_, id);
    return {};
  }
  Tensor optional(const Shape& shape, DType dtype) { return random_.chance(0.6) ? fresh(shape, dtype) : Tensor(); }
  Tensor in_graph(const Tensor& tensor) { return Tensor(graph_, tensor.node_in(graph_)); }

  /// The other operand of `x`: a value of the pool when it fits, the same with axes of size 1, or something new.
  Tensor partner(const Tensor& x) {
    for (int i = 0; i < 4; i++)
      if (const Tensor y = any(); y.dtype() == x.dtype() && same(y.shape(), x.shape())) return y;
    Shape shape = x.shape();
    for (Dim& dim : shape)
      if (random_.chance(0.3)) dim = 1;
    if (!shape.empty() && random_.chance(0.3)) shape.erase(shape.begin());
    return fresh(shape, x.dtype());
  }

  /// Small enough, finite, and decided in every element.
  bool acceptable(const Tensor& tensor) {
    const NodeId node = tensor.node_in(graph_);
    if (element_count(tensor.shape()).upper() > options_.max_elements) return false;
    const std::vector<NodeId> missing = evaluator_.missing(node);
    for (const NodeId id : missing)
      if (element_count(graph_->node(id).shape).upper() > 64 * options_.max_elements) return false;
    evaluator_.run(missing);
    const ReferenceResult result = evaluator_.result(node);
    for (size_t i = 0; i < result.values.size(); i++) {
      const double size = std::fabs(result.values[i]);
      if (is_float(result.dtype) && !(size < 1000)) return false;
      if (!(result.error[i] < 0.05 * (1 + size))) return false;
    }
    return true;
  }

  inline static const std::vector<int64_t> kSizes = {1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 33};

  Random random_;
  RandomGraphOptions options_;
  std::shared_ptr<Graph> graph_;
  Options values_;
  Evaluator evaluator_;
  std::vector<Index> variables_;
  std::vector<Tensor> pool_;
  int constants_ = 0;
};

}  // namespace tandem::reference
