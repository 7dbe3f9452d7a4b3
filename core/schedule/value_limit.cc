// Axes that end early, at lengths that a buffer holds.

#include <algorithm>

#include "core/schedule/access.h"
#include "core/schedule/value_lowerer.h"

namespace tandem {

namespace {

/// A subscript with the counters that it grows with at their begin: in the loop behind a length, that is the length.
Index least(Index place) {
  std::vector<Index> leaves;
  place.for_each_leaf([&](const Index& leaf) { leaves.push_back(leaf); });
  for (const Index& leaf : leaves) {
    const std::optional<Index> step = place.coefficient(leaf);
    if (!step || step->lower() < 0) continue;
    if (leaf.kind() == IndexKind::kLoop) place = place.substitute(leaf, leaf.loop_begin());
    if (leaf.kind() == IndexKind::kLane) place = place.substitute(leaf, 0);
  }
  return place;
}

/// Is the subscript of a limit inside its lengths? A walk passes paddings and concatenations without looking at which
/// part is wanted.
bool has_length(const Graph& graph, const Node& limit, const std::vector<Index>& index) {
  const Shape& lengths = graph.node(limit.operands[1]).shape;
  for (size_t axis = 0; axis < lengths.size(); axis++)
    if (less_equal(0, index[axis]) != Truth::kAlways || less(index[axis], lengths[axis]) != Truth::kAlways)
      return false;
  return true;
}

/// What stands for a loop or a value that the kernel does not have (yet).
bool is_stand_in(const Index& leaf) {
  return (leaf.kind() == IndexKind::kLoop || leaf.kind() == IndexKind::kValue) && leaf.id() >= kFirstWalked;
}

}  // namespace

Index ValueLowerer::length_at(NodeId id, const std::vector<Index>& index) {
  const Node& node = graph_.node(id);
  const auto rank = static_cast<std::ptrdiff_t>(graph_.node(node.operands[1]).shape.size());
  const Index& size = node.shape[static_cast<size_t>(node.attributes.axis)];
  return length_of(node.operands[1], {index.begin(), index.begin() + rank}, size, 0);
}

/// A length as a number between `least` and the size, or just the size where that is smaller.
Index ValueLowerer::length_of(NodeId id, const std::vector<Index>& at, const Index& size, int64_t least) {
  const Node& lengths = graph_.node(id);
  // One number for all lanes: it is loaded as if there were none.
  const ValueId loaded = without_lanes([&] { return lower(id, at); });
  const Scalar scalar = register_scalar(lengths.dtype);
  const ValueId enough = builder_.binary(Opcode::kMax, loaded, builder_.integer({scalar, 1}, least));
  const ValueId length = builder_.binary(Opcode::kMin, enough, builder_.index_value(scalar, size));
  return min(builder_.as_index(length, std::min(least, size.lower()), size.upper()), size);
}

Index ValueLowerer::end_of_demand(const AxisDemand& demand, const std::vector<Index>& index, const Index& extent) {
  if (demand.empty()) return extent;
  std::optional<Index> result;
  for (const LaneEnd& end : demand) {
    std::vector<Index> at = end.lanes;
    for (Index& lane : at)
      if (!lane.is_constant()) lane = index[axis_of_counter(lane)];
    const Index own = end.end.substitute(lane_length(end.size), length_of(end.lengths, at, end.size, 1));
    result = result ? max(*result, own) : own;
  }
  return min(*result, extent);
}

bool ValueLowerer::reads_partial(NodeId id) {
  const auto known = reads_partial_.find(id);
  if (known != reads_partial_.end()) return known->second;
  const auto buffer = buffers_.find(id);
  bool reads = false;
  if (buffer != buffers_.end()) {
    reads = buffer->second.partial;
  } else {
    for (NodeId operand : graph_.node(id).operands) reads |= reads_partial(operand);
  }
  reads_partial_.emplace(id, reads);
  return reads;
}

Truth ValueLowerer::known_inside(NodeId id, const std::vector<Index>& index, const std::vector<Index>& open) {
  const Node& node = graph_.node(id);
  if (!has_open_lanes(node, index, open)) return Truth::kUnknown;
  const Index& place = index[static_cast<size_t>(node.attributes.axis)];
  const Index length = length_at(id, index);
  return less_equal(length, least(place)) == Truth::kAlways ? Truth::kNever : less(place, length);
}

bool ValueLowerer::has_open_lanes(const Node& limit, const std::vector<Index>& index,
                                  const std::vector<Index>& open) const {
  const size_t rank = graph_.node(limit.operands[1]).shape.size();
  bool ready = true;
  for (size_t axis = 0; axis < rank; axis++)
    index[axis].for_each_leaf([&](const Index& leaf) {
      ready &= leaf.kind() == IndexKind::kVariable || std::find(open.begin(), open.end(), leaf) != open.end();
    });
  return ready && has_length(graph_, limit, index);
}

std::vector<Index> ValueLowerer::inside_limit(NodeId id, const std::vector<Index>& index,
                                              const std::vector<Index>& open) {
  const Node& node = graph_.node(id);
  if (!reads_partial(node.operands[0]) || !has_open_lanes(node, index, open)) return index;
  const size_t axis = static_cast<size_t>(node.attributes.axis);
  const Index length = length_at(id, index);
  if (less(index[axis], length) == Truth::kAlways) return index;
  std::vector<Index> inside = index;
  inside[axis] = min(index[axis], max(length - 1, 0));
  return inside;
}

std::optional<NodeId> ValueLowerer::beyond_limit(NodeId id, std::vector<Index> index) {
  while (is_rearrangement(graph_.node(id).op) && buffers_.count(id) == 0) {
    index = operand_index(graph_, graph_.node(id), index);
    id = graph_.node(id).operands[0];
  }
  const Node& node = graph_.node(id);
  if (node.op != Op::kLimit || buffers_.count(id) > 0) return std::nullopt;
  for (size_t axis = 0; axis < graph_.node(node.operands[1]).shape.size(); axis++)
    if (varies(index[axis])) return std::nullopt;
  if (!has_length(graph_, node, index)) return std::nullopt;
  const Index& place = index[static_cast<size_t>(node.attributes.axis)];
  if (less_equal(length_at(id, index), least(place)) != Truth::kAlways) return std::nullopt;
  return node.operands[2];
}

ValueId ValueLowerer::limit(NodeId id, const std::vector<Index>& index) {
  const Node& node = graph_.node(id);
  const Node& lengths = graph_.node(node.operands[1]);
  const Index& place = index[static_cast<size_t>(node.attributes.axis)];
  const std::vector<Index> at(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(lengths.shape.size()));
  bool one_length = true;
  for (const Index& expression : at) one_length &= !varies(expression);
  if (one_length) {
    const Index length = length_at(id, index);
    if (less(place, length) == Truth::kAlways) return lower(node.operands[0], index);
    if (less_equal(length, least(place)) == Truth::kAlways) return lower(node.operands[2], {});
  }
  const bool partial = reads_partial(node.operands[0]);
  if (partial && !one_length) {
    const Index lane = *lane_;
    return lane_by_lane(node.dtype, [&](int, const Index& number) {
      std::vector<Index> own = index;
      for (Index& expression : own) expression = expression.substitute(lane, number);
      return lower(id, own);
    });
  }
  ValueId position = index_as_value(place, register_scalar(lengths.dtype));
  ValueId length = lower(node.operands[1], at);
  const ValueId value = partial ? limited(id, index) : lower(node.operands[0], index);
  const ValueId fill = lower(node.operands[2], {});
  return choose(builder_.binary(Opcode::kLess, position, length), value, fill);
}

/// What is below a limit, without a look at anything at or beyond the length: the lanes that lie there have any value.
ValueId ValueLowerer::limited(NodeId id, const std::vector<Index>& index) {
  const Node& node = graph_.node(id);
  const size_t axis = static_cast<size_t>(node.attributes.axis);
  const Index length = length_at(id, index);
  const std::optional<Index> step = varies(index[axis]) ? index[axis].coefficient(*lane_) : std::nullopt;
  if (!step || !step->is(1)) {
    std::vector<Index> inside = index;
    inside[axis] = min(index[axis], max(length - 1, 0));
    return lower(node.operands[0], inside);
  }
  // Consecutive lanes: fewer of them touch memory. The first one always lies inside, or at the last place that does, so
  // that what is the same for all lanes, or taken lane by lane, meets nothing beyond either.
  const std::optional<Index> count = count_;
  auto memo = std::move(memo_);
  memo_.clear();
  const Index first = min(index[axis].substitute(*lane_, 0), max(length - 1, 0));
  std::vector<Index> inside = index;
  inside[axis] = first + *lane_;
  count_ = max(min(length - first, count ? *count : Index(lanes_)), 1);
  const ValueId value = lower(node.operands[0], inside);
  count_ = count;
  memo_ = std::move(memo);
  return value;
}

std::optional<Index> ValueLowerer::end_of(NodeId id, const std::vector<Index>& index, const Index& leaf) {
  const Node& node = graph_.node(id);
  const auto is_open = [&](const Index& expression) {
    bool open = !varies(expression);
    expression.for_each_leaf([&](const Index& other) { open &= other == leaf || !is_stand_in(other); });
    return open;
  };
  const Index& along = index[static_cast<size_t>(node.attributes.axis)];
  const std::optional<Index> step = along.coefficient(leaf);
  if (!step || !step->is(1) || !is_open(along)) return std::nullopt;
  for (size_t axis = 0; axis < graph_.node(node.operands[1]).shape.size(); axis++)
    if (index[axis].depends_on(leaf) || !is_open(index[axis])) return std::nullopt;
  if (!has_length(graph_, node, index)) return std::nullopt;
  return length_at(id, index) - along.substitute(leaf, 0);
}

std::optional<ValueLowerer::EarlyEnd> ValueLowerer::early_end(NodeId id, const std::vector<Index>& index,
                                                              const Index& leaf, const Index& extent) {
  std::vector<Index> place = index;
  while (shows_limit(graph_, graph_.node(id))) {
    if (is_rearrangement(graph_.node(id).op)) place = operand_index(graph_, graph_.node(id), place);
    id = graph_.node(id).operands[0];
  }
  const Node& node = graph_.node(id);
  if (node.op != Op::kLimit) return std::nullopt;
  const std::optional<Index> end = end_of(id, place, leaf);
  if (!end) return std::nullopt;
  return EarlyEnd{id, max(min(*end, extent), 0)};
}

}  // namespace tandem
