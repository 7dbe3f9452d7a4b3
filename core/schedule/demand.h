#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace tandem {

struct Group;

/// Where an axis ends for everybody who looks, in terms of a lane's length: subscripts below `end` may be seen.
struct LaneEnd {
  NodeId lengths = kNoNode;  ///< The tensor of lengths.
  Index size;                ///< A length counts as one between 0 and this.
  std::vector<Index> lanes;  ///< Subscript of the lengths, over axis_counters of the shape that the axis belongs to.
  Index end;                 ///< Over lane_length(size), the lane's length.
};
/// The ends that the users of an axis see: the largest counts. None: the whole axis is seen.
///
/// Whatever the lengths are, the first element of an axis counts as seen: a subscript that is clamped to an axis, as
/// padding does it, then always meets something that was computed.
using AxisDemand = std::vector<LaneEnd>;

/// Walk-time stand-ins for loop counters, one per axis of a shape.
std::vector<Index> axis_counters(const Shape& shape);
/// The axis of one of them.
size_t axis_of_counter(const Index& counter);

/// Stands for the length of a lane in LaneEnd::end.
Index lane_length(const Index& size);

/// Does the end depend on this axis?
bool is_lane(const AxisDemand& demand, size_t axis);

/// Works out, from the users to what they use, which part of each group's loops anybody can see the results of, and
/// stores it in `Group::demand`. Lengths come before the groups that they bound: the order of the groups may change.
void find_demand(const GraphModule& module, std::vector<Group>& groups);

}  // namespace tandem
