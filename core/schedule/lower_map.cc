// Kernels in which every output element is computed on its own.

#include <algorithm>
#include <numeric>

#include "core/base/text.h"
#include "core/schedule/loops.h"

namespace tandem {
namespace {

/// One loop of the kernel: an axis of the root, or several that run as one.
struct LoopAxis {
  Index extent;
  std::vector<size_t> axes;  ///< Outermost first.
};

class MapLowering : public RowLowering {
 public:
  /// With a `row_axis` it computes rows of that axis when it is told to: the axes before it are loops of others, those
  /// after it, in the order of the tensor, its own.
  MapLowering(ProgramBuilder& program, const Group& group, const BufferRef& target, const std::vector<size_t>& order,
              std::optional<size_t> row_axis, KernelContext& kernel)
      : program_(program),
        group_(group),
        target_(target),
        node_(program.module.graph->node(group.root)),
        row_axis_(row_axis),
        builder_(kernel.builder),
        lowerer_(kernel.lowerer) {
    choose_loops(order);
  }

  void run() {
    std::vector<Index> counters(loops_.size());
    if (loops_.size() < 2) {
      pin_statistics(counters, 0);
      loops_.empty() ? store(counters) : emit_innermost(counters);
    } else {
      pin_statistics(counters, 0);
      if (lowerer_.has_pinned()) {
        // Reductions that all rows share are computed once: the rows aren't handed out in pieces.
        emit_loops(counters, 0, 0, end_of_loop(counters, 0));
      } else {
        const Index item = builder_.open_range(loops_[0].extent);
        const Index end = end_of_loop(counters, 0);
        emit_loops(counters, 0, item, same(end, loops_[0].extent) ? item + 1 : min(item + 1, end));
      }
    }
    Kernel kernel = builder_.finish(kernel_name(program_, group_), maximum_elements(node_.shape));
    program_.add_call(group_.prepare ? Phase::kPrepare : Phase::kStep, std::move(kernel), lowerer_.slots(),
                      node_.origin);
  }

  void emit(const std::vector<Index>& index, const std::vector<Index>& rows) override {
    const size_t inside = level_of_row() + 1;
    std::vector<Index> counters(loops_.size());
    for (size_t i = 0; i + 1 < inside; i++) counters[i] = index[loops_[i].axes[0]];
    for (const Index& row : rows) {
      counters[inside - 1] = row;
      pin_statistics(counters, inside);
      emit_loops(counters, inside, 0, end_of_loop(counters, inside));
    }
  }

 private:
  size_t level_of_row() const {
    size_t level = 0;
    while (loops_[level].axes[0] != *row_axis_) level++;
    return level;
  }

  /// The loop of a level and all inside it. A loop over a limited axis is cut at the length: what is beyond it is no
  /// more than a number to store.
  void emit_loops(std::vector<Index> counters, size_t level, const Index& begin, const Index& end) {
    if (level + 1 == loops_.size()) return emit_innermost(counters);
    const std::optional<Index> cut = first_end(counters, level);
    const auto part = [&](const Index& from, const Index& to) {
      counters[level] = builder_.open_loop(from, to);
      const size_t guards = open_guards(counters, level);
      pin_statistics(counters, level + 1);
      emit_loops(counters, level + 1, 0, end_of_loop(counters, level + 1));
      for (size_t i = 0; i < guards; i++) builder_.close_if();
      builder_.close_loop();
    };
    if (!cut) return part(begin, end);
    part(begin, min(*cut, end));
    part(max(*cut, begin), end);
  }

  void emit_innermost(std::vector<Index> counters) {
    const size_t level = loops_.size() - 1;
    // Elements whose lanes decide whether they are wanted are stored one by one.
    const bool guarded = has_guards(level);
    const int lanes = guarded ? 1 : lowerer_.vector_lanes(node_.dtype);
    const std::vector<Index> bounds = pieces(counters);
    const Index end = end_of_loop(counters, level);
    const bool whole = same(end, loops_[level].extent);
    for (size_t i = 0; i + 1 < bounds.size(); i++) {
      const bool kept = lowerer_.keeps_until(bounds[i + 1]);
      // As a size that can't be negative: of the difference of two ends that would not be evident.
      const Index seen = whole ? bounds[i + 1] : bounds[i] + max(min(bounds[i + 1], end) - bounds[i], 0);
      emit_vector_loop(builder_, bounds[i], seen, lanes,
                       [&](const Index& first, int width, std::optional<Index> count) {
                         counters.back() = first + lowerer_.enter_vector(width, std::move(count));
                         const size_t guards = open_guards(counters, level);
                         if (kept) lowerer_.read_kept(counters.back());
                         store(counters);
                         lowerer_.read_kept(std::nullopt);
                         for (size_t k = 0; k < guards; k++) builder_.close_if();
                       });
    }
    lowerer_.keep(std::nullopt);
  }

  const AxisDemand& demand_of(size_t level) const { return group_.demand_of(loops_[level].axes[0]); }

  /// The first level at which the counters of all lanes that a level's demand asks for are open.
  size_t level_of_lanes(size_t level) const {
    size_t last = level;
    for (size_t i = level; i < loops_.size(); i++)
      for (const size_t axis : loops_[i].axes)
        if (is_lane(demand_of(level), axis)) last = i;
    return last;
  }

  /// Where a level's loop ends for the lane, which must be open; else at the extent, and guards do the rest.
  Index end_of_loop(const std::vector<Index>& counters, size_t level) {
    if (demand_of(level).empty() || level_of_lanes(level) > level) return loops_[level].extent;
    const size_t axis = loops_[level].axes[0];
    Index end = lowerer_.end_of_demand(demand_of(level), root_index(counters), node_.shape[axis]);
    for (size_t i = 1; i < loops_[level].axes.size(); i++) end *= node_.shape[loops_[level].axes[i]];
    return end;
  }

  /// Loops outside this level whose lanes become known at it.
  bool has_guards(size_t level) const {
    for (size_t i = 0; i < level; i++)
      if (level_of_lanes(i) == level) return true;
    return false;
  }
  size_t open_guards(const std::vector<Index>& counters, size_t level) {
    size_t opened = 0;
    for (size_t i = 0; i < level; i++) {
      if (level_of_lanes(i) != level) continue;
      const size_t axis = loops_[i].axes[0];
      const std::vector<Index> index = root_index(counters);
      const Index end = lowerer_.end_of_demand(demand_of(i), index, node_.shape[axis]);
      opened += open_if_positive(builder_, end - index[axis]);
    }
    return opened;
  }

  /// Where the limited axis that is this level's loop ends early; nothing when there is none.
  std::optional<Index> first_end(std::vector<Index> counters, size_t level) {
    for (size_t i = level; i < counters.size(); i++)
      counters[i] = Index::loop(static_cast<uint32_t>(kFirstStandIn + i), loops_[i].extent);
    const AccessSummary summary = summarise(program_, group_.root, root_index(counters));
    for (const auto& [limit, index] : summary.limits)
      if (const auto end = lowerer_.end_of(limit, index, counters[level])) return end;
    return std::nullopt;
  }

  void choose_loops(const std::vector<size_t>& order) {
    const std::vector<Index> counters = axis_counters(node_.shape);
    summary_ = summarise(program_, group_.root, counters);
    for (size_t axis : order) {
      if (node_.shape[axis].is(1)) continue;
      if (!row_axis_ && !loops_.empty() && runs_on(loops_.back(), axis, counters)) {
        loops_.back().extent *= node_.shape[axis];
        loops_.back().axes.push_back(axis);
      } else {
        loops_.push_back({node_.shape[axis], {axis}});
      }
    }
  }

  /// Does every subscript step through `inner` and then through the loop's axes as through one axis?
  bool runs_on(const LoopAxis& loop, size_t inner, const std::vector<Index>& counters) const {
    if (summary_.has_reduction || !group_.demand_of(inner).empty() || group_.is_lane(inner)) return false;
    const size_t outer = loop.axes.back();
    const auto uses = [&](const Index& e) { return e.depends_on(counters[outer]) || e.depends_on(counters[inner]); };
    for (const Breakpoint& breakpoint : summary_.breakpoints)
      if (uses(breakpoint.position)) return false;
    for (const Index& other : summary_.others)
      if (uses(other)) return false;
    const auto continues = [&](const Index& offset) {
      const std::optional<Index> far = offset.coefficient(counters[outer]), near = offset.coefficient(counters[inner]);
      return far && near && same(*far, *near * node_.shape[inner]);
    };
    for (const BufferAccess& load : summary_.loads)
      if (!continues(load.offset)) return false;
    return continues(flat_offset(counters, target_.strides));
  }

  std::vector<Index> root_index(const std::vector<Index>& counters) const {
    std::vector<Index> index(node_.shape.size(), 0);
    for (size_t i = 0; i < loops_.size(); i++) {
      Index rest = counters[i];
      for (size_t k = loops_[i].axes.size(); k-- > 1;) {
        index[loops_[i].axes[k]] = floor_mod(rest, divisor(node_.shape[loops_[i].axes[k]]));
        rest = floor_div(rest, divisor(node_.shape[loops_[i].axes[k]]));
      }
      index[loops_[i].axes[0]] = rest;
    }
    return index;
  }

  /// Ends of the parts of the innermost loop between which no choice (padding, parts of a concatenation) changes.
  std::vector<Index> pieces(const std::vector<Index>& counters) {
    constexpr size_t kMostPieces = 8;
    const Index& extent = loops_.back().extent;
    std::vector<Index> bounds = {0, extent};
    std::vector<Index> outer = counters;
    const Index stand_in = Index::loop(kFirstStandIn, extent);
    outer.back() = stand_in;
    const AccessSummary summary = summarise(program_, group_.root, root_index(outer));
    for (const Breakpoint& breakpoint : summary.breakpoints) {
      const std::optional<Index> step = breakpoint.position.coefficient(stand_in);
      if (!step || !step->is_constant() || step->constant() <= 0) continue;
      const Index bound = ceil_div(breakpoint.bound - breakpoint.position.substitute(stand_in, 0), *step);
      bool fixed = true;
      bound.for_each_leaf([&](const Index& leaf) { fixed &= leaf.kind() == IndexKind::kVariable; });
      if (fixed) insert_bound(bounds, bound);
      if (bounds.size() > kMostPieces) return {0, extent};
    }
    for (const auto& [limit, index] : summary.limits)
      if (const auto end = lowerer_.end_of(limit, index, stand_in)) insert_bound(bounds, max(min(*end, extent), 0));
    return bounds;
  }

  /// Keeps the bounds in an order that holds for all values of the variables; what can't be ordered is left to selects.
  static void insert_bound(std::vector<Index>& bounds, const Index& bound) {
    for (size_t i = 0; i + 1 < bounds.size(); i++) {
      if (same(bounds[i], bound) || same(bounds[i + 1], bound)) return;
      if (less_equal(bounds[i], bound) == Truth::kAlways && less_equal(bound, bounds[i + 1]) == Truth::kAlways) {
        bounds.insert(bounds.begin() + static_cast<std::ptrdiff_t>(i) + 1, bound);
        return;
      }
    }
  }

  /// Row reductions that need the first `open` counters only.
  void pin_statistics(const std::vector<Index>& counters, size_t open) {
    if (!group_.row_statistics) return;
    std::vector<Index> all = counters;
    for (size_t i = open; i < all.size(); i++)
      all[i] = Index::loop(static_cast<uint32_t>(kFirstStandIn + i), loops_[i].extent);
    if (open + 1 == loops_.size()) lowerer_.keep(value_to_keep(all));
    std::vector<Index> known;
    for (size_t i = 0; i < open; i++) counters[i].for_each_leaf([&](const Index& leaf) { known.push_back(leaf); });
    pin_row_statistics(program_, lowerer_, group_.root, root_index(all), known);
  }

  /// The longest value that both a reduction over a row and the row's elements compute, and that fits into the result.
  std::optional<ValueLowerer::KeptValue> value_to_keep(const std::vector<Index>& counters) const {
    constexpr int kShort = 8;
    const Graph& graph = *program_.module.graph;
    const Index& counter = counters.back();
    const std::vector<Index> place = root_index(counters);
    const std::optional<Index> step = flat_offset(place, target_.strides).coefficient(counter);
    if (register_scalar(target_.dtype) == Scalar::kI32 || !is_float(target_.dtype) || !step || !step->is(1)) return {};
    using Use = std::pair<NodeId, std::vector<Index>>;
    // Everything that is computed for an element, until buffers and reductions.
    const auto uses_under = [&](NodeId node, const std::vector<Index>& index, std::vector<Use>& reductions) {
      std::vector<Use> uses;
      AccessWalk walk(graph);
      walk.visit = [&](NodeId at, const std::vector<Index>& where) {
        if (at != group_.root && program_.buffers.count(at) > 0) return false;
        const bool reduces = info(graph.node(at).op).op_class == OpClass::kReduce;
        (reduces ? reductions : uses).emplace_back(at, where);
        return !reduces;
      };
      walk.walk(node, index);
      return uses;
    };
    std::vector<Use> reductions, below;
    const std::vector<Use> elements = uses_under(group_.root, place, reductions);
    std::optional<ValueLowerer::KeptValue> best;
    for (auto& [reduction, where] : reductions) {
      const NodeId operand = graph.node(reduction).operands[0];
      const Shape& inner = graph.node(operand).shape;
      if (inner.size() != where.size() + 1 || !same(inner.back(), loops_.back().extent)) continue;
      where.push_back(counter);
      for (const Use& use : uses_under(operand, where, below)) {
        if (graph.node(use.first).dtype != target_.dtype || (best && use.first < best->node)) continue;
        if (lowerer_.is_short(use.first, kShort)) continue;
        if (std::find(elements.begin(), elements.end(), use) == elements.end()) continue;
        best = {use.first, use.second, place, counter, target_};
      }
    }
    return best;
  }

  void store(const std::vector<Index>& counters) {
    const std::vector<Index> index = root_index(counters);
    lowerer_.store(target_, index, lowerer_.lower(group_.root, index));
    lowerer_.leave_vector();
  }

  ProgramBuilder& program_;
  const Group& group_;
  const BufferRef& target_;
  const Node& node_;
  const std::optional<size_t> row_axis_;
  KernelBuilder& builder_;
  ValueLowerer& lowerer_;
  AccessSummary summary_;
  std::vector<LoopAxis> loops_;
};

}  // namespace

void lower_map(ProgramBuilder& program, const Group& group, const BufferRef& target, const std::vector<size_t>& order) {
  KernelContext kernel(program);
  MapLowering(program, group, target, order, std::nullopt, kernel).run();
}

std::unique_ptr<RowLowering> rows_of_map(ProgramBuilder& program, const Group& group, const BufferRef& target,
                                         size_t row_axis, KernelContext& kernel) {
  std::vector<size_t> order(target.strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return std::make_unique<MapLowering>(program, group, target, order, row_axis, kernel);
}

}  // namespace tandem
