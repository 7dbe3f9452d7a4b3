#include "core/schedule/demand.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "core/base/bits.h"
#include "core/graph/movement_index.h"
#include "core/schedule/access.h"
#include "core/schedule/loops.h"
#include "core/schedule/schedule.h"

namespace tandem {
namespace {

/// Numbers of the leaves that stand for axes, and for a length. Those of a walk are larger.
constexpr uint32_t kFirstAxis = 1u << 16;
constexpr uint32_t kLengthLeaf = 1u << 19;
/// An axis that ends at more lengths than these is computed as a whole.
constexpr size_t kMostEnds = 3;

/// No axis is as long.
constexpr int64_t kMostElements = int64_t{1} << 48;

/// Something known about the subscripts of a walk: this one, a single leaf, is below the largest of the ends, or 0.
struct Restriction {
  Index position;
  AxisDemand below;  ///< Their lanes are subscripts of the walk.
};

/// A subscript that has one value is a number.
Index settled(const Index& index) { return index.lower() == index.upper() ? Index(index.lower()) : index; }

Index at_least_one(const Index& end) { return end.lower() >= 1 ? end : max(end, 1); }

Index larger(const Index& a, const Index& b) {
  if (less_equal(a, b) == Truth::kAlways) return b;
  return less_equal(b, a) == Truth::kAlways ? a : max(a, b);
}

bool joins(const LaneEnd& a, const LaneEnd& b) {
  return a.lengths == b.lengths && same(a.size, b.size) && a.lanes == b.lanes;
}

/// Where an axis ends for two who look.
AxisDemand join(AxisDemand a, const AxisDemand& b) {
  if (a.empty() || b.empty()) return {};
  for (const LaneEnd& other : b) {
    const auto found = std::find_if(a.begin(), a.end(), [&](const LaneEnd& end) { return joins(end, other); });
    if (found == a.end())
      a.push_back(other);
    else
      found->end = larger(found->end, other.end);
  }
  return a.size() > kMostEnds ? AxisDemand{} : a;
}

class Search {
 public:
  Search(const GraphModule& module, std::vector<Group>& groups)
      : module_(module), graph_(*module.graph), groups_(groups) {
    for (const Group& group : groups) group_of_[group.root] = &group;
  }

  void run() {
    find_lengths();
    for (const NodeId output : module_.outputs) see_all(output);
    for (const auto& [lengths, known] : lengths_)
      for (const NodeId root : known.read) see_all(root);
    for (size_t i = groups_.size(); i-- > 0;)
      if (!groups_[i].prepare) descend(groups_[i]);
    std::vector<Group> ordered;
    for (const bool first : {true, false})
      for (const Group& group : groups_)
        if ((first_.count(group.root) > 0) == first) ordered.push_back(group);
    groups_ = std::move(ordered);
  }

 private:
  /// What it takes to know lengths.
  struct Lengths {
    bool in_place = true;     ///< Any kernel can compute an element from buffers.
    bool comes_first = true;  ///< The groups that compute them are simple ones: they can run before all others.
    std::set<NodeId> read;    ///< Groups whose results are read for it.
    std::set<NodeId> roots;   ///< These groups, and all that they use.
  };

  void find_lengths() {
    for (const NodeId id : reachable_nodes(graph_, module_.outputs)) {
      if (graph_.node(id).op != Op::kLimit) continue;
      const NodeId lengths = graph_.node(id).operands[1];
      if (lengths_.count(lengths)) continue;
      Lengths& known = lengths_[lengths];
      std::set<NodeId> seen;
      survey(lengths, known, true, seen);
      if (known.in_place && known.comes_first) first_.insert(known.roots.begin(), known.roots.end());
    }
  }

  void survey(NodeId id, Lengths& known, bool in_place, std::set<NodeId>& seen) const {
    if (!seen.insert(id).second) return;
    const auto group = group_of_.find(id);
    if (group != group_of_.end()) {
      if (group->second->prepare) return;
      known.roots.insert(id);
      if (in_place) known.read.insert(id);
      known.comes_first &= group->second->form == Form::kMap && !group->second->row_statistics;
      in_place = false;
    }
    const OpClass op_class = info(graph_.node(id).op).op_class;
    const bool accumulates = op_class == OpClass::kReduce || op_class == OpClass::kContract;
    if (accumulates && in_place) known.in_place = false;
    for (const NodeId operand : graph_.node(id).operands) survey(operand, known, in_place, seen);
  }

  /// May the kernel of a group be bounded by these lengths? They must be there when it runs.
  bool can_bound(NodeId lengths, NodeId root) const {
    const Lengths& known = lengths_.at(lengths);
    if (!known.in_place || first_.count(root)) return false;
    return known.comes_first || known.roots.empty() || *known.roots.rbegin() < root;
  }

  void see_all(NodeId root) {
    const auto group = group_of_.find(root);
    if (group != group_of_.end()) seen_[root] = std::vector<AxisDemand>(graph_.node(root).shape.size());
  }

  void descend(Group& group) {
    const Node& root = graph_.node(group.root);
    const auto found = seen_.find(group.root);
    std::vector<AxisDemand> seen = found == seen_.end() ? std::vector<AxisDemand>(root.shape.size()) : found->second;
    present_ = &group;
    if (group.form == Form::kMap) {
      group.demand = std::move(seen);
      const std::vector<Index> counters = axis_counters(root.shape);
      return enter(group.root, counters, restrictions_of(group.demand, counters));
    }
    const Node& anchor = graph_.node(group.anchor);
    const std::vector<Index> root_counters = axis_counters(root.shape);
    anchor_demand_.reset();
    enter(group.root, root_counters, restrictions_of(seen, root_counters));
    group.demand = anchor_demand_ ? *anchor_demand_ : std::vector<AxisDemand>(anchor.shape.size());
    anchor_demand_.reset();

    std::vector<Index> counters = axis_counters(anchor.shape);
    std::vector<Restriction> restrictions = restrictions_of(group.demand, counters);
    enter(group.root, *root_index_of_anchor(module_, group.root, group.anchor, counters), restrictions);
    const Shape& space = graph_.node(anchor.operands[0]).shape;
    const std::vector<Index> all = axis_counters(space);
    counters.insert(counters.end(), all.begin() + static_cast<std::ptrdiff_t>(counters.size()), all.end());
    if (group.form == Form::kContract) {
      group.demand.resize(space.size());
      for (size_t axis = anchor.shape.size(); axis < space.size(); axis++)
        if (auto end = common_end(group, counters, axis)) {
          group.demand[axis] = {std::move(*end)};
          restrictions.push_back({counters[axis], group.demand[axis]});
        }
    }
    for (const NodeId operand : anchor.operands) enter(operand, counters, restrictions);
  }

  static std::vector<Restriction> restrictions_of(const std::vector<AxisDemand>& demand,
                                                  const std::vector<Index>& counters) {
    std::vector<Restriction> restrictions;
    for (size_t axis = 0; axis < demand.size(); axis++)
      if (!demand[axis].empty()) restrictions.push_back({counters[axis], demand[axis]});
    return restrictions;
  }

  /// The length at which both operands of a contraction become zero along a reduced axis.
  std::optional<LaneEnd> common_end(const Group& group, const std::vector<Index>& counters, size_t axis) const {
    std::optional<LaneEnd> common;
    for (NodeId id : graph_.node(group.anchor).operands) {
      std::vector<Index> place = counters;
      for (; shows_limit(graph_, graph_.node(id)); id = graph_.node(id).operands[0])
        if (is_rearrangement(graph_.node(id).op)) place = operand_index(graph_, graph_.node(id), place);
      const Node& node = graph_.node(id);
      if (node.op != Op::kLimit || !(place[static_cast<size_t>(node.attributes.axis)] == counters[axis])) return {};
      if (!fills_with(graph_, node, 0, 0)) return {};
      const LaneEnd end = end_of(node, place);
      if (!can_bound(end.lengths, group.root) || (common && !joins(*common, end))) return {};
      for (const Index& lane : end.lanes)
        if (!lane.is_constant() && std::find(counters.begin(), counters.end(), lane) == counters.end()) return {};
      common = end;
    }
    return common;
  }

  LaneEnd end_of(const Node& limit, const std::vector<Index>& place) const {
    const size_t rank = graph_.node(limit.operands[1]).shape.size();
    LaneEnd end;
    end.lengths = limit.operands[1];
    end.size = limit.shape[static_cast<size_t>(limit.attributes.axis)];
    for (size_t i = 0; i < rank; i++) end.lanes.push_back(settled(place[i]));
    end.end = lane_length(end.size);
    return end;
  }

  void enter(NodeId id, const std::vector<Index>& index, const std::vector<Restriction>& restrictions) {
    walked_.clear();
    leaves_.clear();
    next_leaf_ = kFirstWalked;
    walk(id, index, restrictions);
  }

  /// Walks an expression as lowering would; at each buffer notes what is seen of it.
  void walk(NodeId id, const std::vector<Index>& index, const std::vector<Restriction>& restrictions) {
    uint64_t key = hash_mix(hash_of(restrictions), id);
    for (const Index& expression : index) key = hash_mix(key, expression.hash());
    if (!walked_.insert(key).second) return;
    if (id == present_->anchor) return meet_anchor(index, restrictions);
    if (id != present_->root && group_of_.count(id)) return see(id, index, restrictions);
    const Node& node = graph_.node(id);
    if (is_rearrangement(node.op)) return walk(node.operands[0], operand_index(graph_, node, index), restrictions);
    std::vector<Index> below = index;
    switch (node.op) {
      case Op::kPad:
      case Op::kReflectPad:
        return walk_padding(node, index, restrictions);
      case Op::kConcat: {
        const size_t axis = static_cast<size_t>(node.attributes.axis);
        Index begin = 0;
        for (const NodeId operand : node.operands) {
          std::vector<Restriction> more = restrictions;
          below[axis] = clamped(index[axis], begin, graph_.node(operand).shape[axis], more);
          begin += graph_.node(operand).shape[axis];
          walk(operand, below, more);
        }
        return;
      }
      case Op::kLimit: {
        const size_t axis = static_cast<size_t>(node.attributes.axis);
        std::vector<Restriction> more = restrictions;
        below[axis] = leaf_for(index[axis], node.shape[axis], more);
        if (!below[axis].is_constant()) more.push_back({below[axis], {end_of(node, index)}});
        walk(node.operands[0], below, more);
        return walk(node.operands[2], {}, {});
      }
      case Op::kGather: {
        const auto axis = static_cast<std::ptrdiff_t>(node.attributes.axis);
        const auto rank = static_cast<std::ptrdiff_t>(graph_.node(node.operands[1]).shape.size());
        const std::vector<Index> at(index.begin() + axis, index.begin() + axis + rank);
        walk(node.operands[1], at, restrictions);
        below.erase(below.begin() + axis, below.begin() + axis + rank);
        below.insert(below.begin() + axis, anywhere(graph_.node(node.operands[0]).shape[static_cast<size_t>(axis)]));
        return walk(node.operands[0], below, restrictions);
      }
      default:
        break;
    }
    const OpClass op_class = info(node.op).op_class;
    if (op_class == OpClass::kReduce || op_class == OpClass::kContract) {
      const Shape& inner = graph_.node(node.operands[0]).shape;
      for (size_t axis = index.size(); axis < inner.size(); axis++)
        below.push_back(Index::loop(next_leaf_++, inner[axis]));
    }
    for (const NodeId operand : node.operands) walk(operand, below, restrictions);
  }

  void walk_padding(const Node& node, const std::vector<Index>& index, std::vector<Restriction> restrictions) {
    const Shape& inner = graph_.node(node.operands[0]).shape;
    std::vector<Index> below = index;
    for (size_t axis = 0; axis < index.size(); axis++) {
      const Index& before = node.attributes.begin[axis];
      if (before.is(0) && node.attributes.size[axis].is(0)) continue;
      below[axis] =
          node.op == Op::kPad ? clamped(index[axis], before, inner[axis], restrictions) : anywhere(inner[axis]);
    }
    walk(node.operands[0], below, restrictions);
    if (node.op == Op::kPad) walk(node.operands[1], {}, {});
  }

  Index anywhere(const Index& size) { return Index::value(next_leaf_++, 0, std::max<int64_t>(size.upper() - 1, 0)); }

  static uint64_t hash_of(const std::vector<Restriction>& restrictions) {
    uint64_t hash = restrictions.size();
    for (const Restriction& known : restrictions) {
      hash = hash_mix(hash, known.position.hash());
      for (const LaneEnd& end : known.below) {
        hash = hash_mix(hash_mix(hash, end.lengths), end.end.hash());
        for (const Index& lane : end.lanes) hash = hash_mix(hash, lane.hash());
      }
    }
    return hash;
  }

  /// index - begin as lowering clamps it to an axis.
  Index clamped(const Index& index, const Index& begin, const Index& size, std::vector<Restriction>& restrictions) {
    const Index place = index - begin;
    return less_equal(0, place) == Truth::kAlways ? place : leaf_for(place, size, restrictions);
  }

  /// A new leaf for a subscript that lowering may clamp, with what is known of the subscript.
  Index leaf_for(const Index& place, const Index& size, std::vector<Restriction>& restrictions) {
    if (size.is(1)) return 0;
    const uint64_t key = hash_mix(hash_mix(hash_of(restrictions), place.hash()), size.hash());
    const auto [found, is_new] = leaves_.emplace(key, Index());
    if (is_new) found->second = Index::loop(next_leaf_++, size);
    const Index leaf = settled(found->second);
    const size_t known = restrictions.size();
    for (size_t i = 0; i < known && !leaf.is_constant(); i++)
      if (auto below = ends_for(place, restrictions[i])) restrictions.push_back({leaf, std::move(*below)});
    return leaf;
  }

  /// Where a subscript ends that grows with a restricted one.
  static std::optional<AxisDemand> ends_for(const Index& place, const Restriction& known) {
    const std::optional<Index> step = place.coefficient(known.position);
    if (!step || !step->is_constant() || step->constant() < 1) return std::nullopt;
    const int64_t most = place.substitute(known.position, 0).upper();
    if (most > kMostElements) return std::nullopt;
    AxisDemand ends = known.below;
    for (LaneEnd& end : ends) end.end = at_least_one((end.end - 1) * *step + most + 1);
    return ends;
  }

  /// What a look at this subscript shows of each axis of a node, for kernels of the group `root`.
  std::vector<AxisDemand> shown(NodeId id, NodeId root, const std::vector<Index>& index,
                                const std::vector<Restriction>& restrictions) const {
    const Shape& shape = graph_.node(id).shape;
    std::vector<AxisDemand> result(shape.size());
    for (size_t axis = 0; axis < shape.size(); axis++) {
      if (shape[axis].upper() < 2) continue;
      // The innermost restriction is the closest one.
      for (size_t i = restrictions.size(); i-- > 0 && result[axis].empty();) {
        const AxisDemand& known = restrictions[i].below;
        if (!std::all_of(known.begin(), known.end(), [&](const LaneEnd& e) { return can_bound(e.lengths, root); }))
          continue;
        std::optional<AxisDemand> ends = ends_for(index[axis], restrictions[i]);
        if (!ends) continue;
        bool useful = true;
        for (LaneEnd& end : *ends)
          useful &= less_equal(shape[axis], end.end) != Truth::kAlways && has_lanes_as_axes(end, index, shape);
        if (useful) result[axis] = std::move(*ends);
      }
    }
    return result;
  }

  /// Makes the lanes axes of the node: each must be one axis, and lie in it as in the lengths.
  bool has_lanes_as_axes(LaneEnd& end, const std::vector<Index>& index, const Shape& shape) const {
    const std::vector<Index> counters = axis_counters(shape);
    const Shape& lengths = graph_.node(end.lengths).shape;
    for (size_t i = 0; i < end.lanes.size(); i++) {
      const Index lane = settled(end.lanes[i]);
      if (lane.is_constant()) continue;
      size_t axis = 0;
      while (axis < shape.size() && !(settled(index[axis]) == lane && same(shape[axis], lengths[i]))) axis++;
      if (axis == shape.size()) return false;
      end.lanes[i] = counters[axis];
    }
    return true;
  }

  void meet_anchor(const std::vector<Index>& index, const std::vector<Restriction>& restrictions) {
    std::vector<AxisDemand> own = shown(present_->anchor, present_->root, index, restrictions);
    if (anchor_demand_)
      for (size_t axis = 0; axis < own.size(); axis++) own[axis] = join(own[axis], (*anchor_demand_)[axis]);
    anchor_demand_ = std::move(own);
  }

  void see(NodeId root, const std::vector<Index>& index, const std::vector<Restriction>& restrictions) {
    if (group_of_.at(root)->prepare) return;
    std::vector<AxisDemand> own = shown(root, root, index, restrictions);
    const auto [found, is_new] = seen_.emplace(root, own);
    for (size_t axis = 0; axis < own.size() && !is_new; axis++)
      found->second[axis] = join(own[axis], found->second[axis]);
  }

  const GraphModule& module_;
  const Graph& graph_;
  std::vector<Group>& groups_;
  std::map<NodeId, const Group*> group_of_;
  std::map<NodeId, Lengths> lengths_;
  std::set<NodeId> first_;  ///< Groups that compute lengths before all others run.
  std::map<NodeId, std::vector<AxisDemand>> seen_;

  const Group* present_ = nullptr;
  std::optional<std::vector<AxisDemand>> anchor_demand_;
  std::unordered_set<uint64_t> walked_;
  std::unordered_map<uint64_t, Index> leaves_;
  uint32_t next_leaf_ = kFirstWalked;
};

}  // namespace

std::vector<Index> axis_counters(const Shape& shape) {
  std::vector<Index> counters;
  for (size_t axis = 0; axis < shape.size(); axis++)
    counters.push_back(Index::loop(static_cast<uint32_t>(kFirstAxis + axis), shape[axis]));
  return counters;
}

size_t axis_of_counter(const Index& counter) { return counter.id() - kFirstAxis; }

bool is_lane(const AxisDemand& demand, size_t axis) {
  for (const LaneEnd& end : demand)
    for (const Index& lane : end.lanes)
      if (!lane.is_constant() && axis_of_counter(lane) == axis) return true;
  return false;
}

const AxisDemand& Group::demand_of(size_t axis) const {
  static const AxisDemand whole;
  return axis < demand.size() ? demand[axis] : whole;
}

bool Group::is_partial(size_t rank) const {
  for (size_t axis = 0; axis < rank; axis++)
    if (!demand_of(axis).empty()) return true;
  return false;
}

bool Group::is_lane(size_t axis) const {
  return std::any_of(demand.begin(), demand.end(), [&](const AxisDemand& d) { return tandem::is_lane(d, axis); });
}

Index lane_length(const Index& size) { return Index::value(kLengthLeaf, 1, std::max<int64_t>(size.upper(), 1)); }

void find_demand(const GraphModule& module, std::vector<Group>& groups) { Search(module, groups).run(); }

}  // namespace tandem
