#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace tandem::rewriting {

/// What an operand shows for a subscript, followed down through rearrangements and paddings.
struct Reading {
  NodeId node = kNoNode;     ///< What computes or holds the element.
  std::vector<Index> index;  ///< Its subscript there.
  bool padding = false;      ///< Every element is the fill value of a padding, `node`, a scalar.
};
/// Counters for the axes of a shape, all different.
std::vector<Index> counters_of(const Shape& shape);
Reading read_through(const Graph& graph, NodeId id, std::vector<Index> index);

/// The places [first, last) of an axis of constant size outside of which the operand shows nothing but padding with
/// zeros, for all values of the other subscripts. [0, size) when nothing can be proven; never empty.
struct LivePlaces {
  int64_t first = 0;
  int64_t last = 0;
};
LivePlaces live_places(const Graph& graph, NodeId operand, size_t axis);

/// Is every element finite, provably: a constant without infinities and NaN, a finite number, an integer, seen through
/// rearrangements, paddings and casts.
bool is_finite(const Graph& graph, NodeId id);

/// Do consecutive places of the axis lie next to each other in the memory of what the operand shows?
bool runs_consecutively(const Graph& graph, NodeId operand, size_t axis);

}  // namespace tandem::rewriting
