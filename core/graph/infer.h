#pragma once

#include <span>

#include "core/base/text.h"
#include "core/graph/graph.h"

namespace tandem {

/// Applies the op table's rules: checks operands and attributes, and returns the node with its shape, its dtype and
/// only those attributes that its op uses, in one canonical form (a scalar is rounded to its dtype, every NaN is one
/// NaN).
///
/// `dtype` and `shape` are read for ops whose rule needs them. A dimension or bound that depends on symbolic variables
/// must be provable for their whole range. Throws TensorError naming the op, the shapes and what to do.
Node infer_node(const Graph& graph, Op op, std::span<const NodeId> operands, Attributes attributes, DType dtype,
                Shape shape);

namespace infer_detail {

/// What the rules of one class of ops work on: the node being made (op, operands and attributes are filled in).
struct Inference {
  const Graph& graph;
  Node& node;

  const Node& operand(size_t i) const { return graph.node(node.operands[i]); }
  /// "permute f32[2, 3]": the op with its operands, for the beginning of an error.
  std::string subject() const;
  [[noreturn]] void fail(const std::string& problem) const;
  void require(bool condition, const char* problem) const {
    if (!condition) fail(problem);
  }
  /// The attribute list must have one entry for each axis of the first operand.
  void require_per_axis(size_t entries, const char* list) const;
  /// Throws unless low <= value is proven. `what` is put together for the error alone: a graph has thousands of bounds.
  template <typename... What>
  void require_at_least(const Index& value, int64_t low, const What&... what) const {
    if (value.lower() >= low || less_equal(low, value) == Truth::kAlways) return;
    fail_bound(value, low, concat(what...));
  }
  [[noreturn]] void fail_bound(const Index& value, int64_t low, const std::string& what) const;
  /// The axis of an attribute, checked against the rank.
  int32_t require_axis(int32_t axis, size_t rank) const;
};

void infer_leaf(Inference& inference, DType dtype, Shape shape);
void infer_elementwise(Inference& inference, DType dtype);
void infer_movement(Inference& inference, Shape shape);
void infer_concat(Inference& inference);
void infer_gather(Inference& inference);
void infer_limit(Inference& inference);
void infer_reduction(Inference& inference);

}  // namespace infer_detail
}  // namespace tandem
