#pragma once

#include <functional>
#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"

namespace tandem {

/// The subscript of the operand element that element `index` of a movement node shows. For the ops that only rearrange:
/// reshape, permute, expand, shrink, stride, flip, window. (pad, reflect_pad, concat and gather choose; whoever lowers
/// them decides how.)
std::vector<Index> operand_index(const Graph& graph, const Node& node, const std::vector<Index>& index);
/// True for the movement ops that `operand_index` knows.
bool is_rearrangement(Op op);

/// The subscript in `to` of the element that has the subscript `index` in `from`: same row-major number, other shape.
/// Axes that the two shapes share pass through without division.
std::vector<Index> reshape_index(const std::vector<Index>& index, const Shape& from, const Shape& to);

/// Sum of index * stride.
Index flat_offset(const std::vector<Index>& index, const Shape& strides);

/// A place where an index function of an axis changes: at `position` = `bound` the element comes from elsewhere (the
/// end of a padding, of a part of a concatenation).
struct Breakpoint {
  Index position;
  Index bound;
};

/// Walks the expression under a node with symbolic subscripts, as lowering would, without making instructions.
class AccessWalk {
 public:
  /// Called once for each node and subscript reached; returns whether to go on below it.
  std::function<bool(NodeId node, const std::vector<Index>& index)> visit;
  /// Called at each choice between parts.
  std::function<void(const Breakpoint& breakpoint)> choose;
  /// First number for the counters of reduced axes that the walk passes.
  uint32_t next_loop = 1u << 20;

  explicit AccessWalk(const Graph& graph) : graph_(graph) {}
  void walk(NodeId node, const std::vector<Index>& index);

 private:
  const Graph& graph_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace tandem
