#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace tandem {

/// The subscript of the operand element that element `index` of a movement node shows. For the ops that only rearrange:
/// reshape, permute, expand, shrink, stride, flip, window. (pad, reflect_pad, concat and gather choose; whoever lowers
/// them decides how.)
std::vector<Index> operand_index(const Graph& graph, const Node& node, const std::vector<Index>& index);
/// True for the movement ops that `operand_index` knows.
bool is_rearrangement(Op op);
/// The first node that is no rearrangement, from `node` down: what the node shows.
NodeId below_rearrangements(const Graph& graph, NodeId node);

/// Does this cast show bf16 as f32? That is one shift: wherever the value is loaded, it may as well be bf16. Other
/// widening casts take longer on some machines.
bool shows_bfloat16(const Graph& graph, NodeId node);

/// The subscript in `to` of the element that has the subscript `index` in `from`: same row-major number, other shape.
/// Axes that the two shapes share pass through without division.
std::vector<Index> reshape_index(const std::vector<Index>& index, const Shape& from, const Shape& to);

/// A size to divide subscripts by: at least 1, since nothing is counted along an axis of size 0.
Index divisor(const Index& size);

/// Sum of index * stride.
Index flat_offset(const std::vector<Index>& index, const Shape& strides);

}  // namespace tandem
