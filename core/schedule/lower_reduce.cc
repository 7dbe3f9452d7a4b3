// Kernels of one reduction and the elementwise ops that follow it.

#include "core/base/text.h"
#include "core/schedule/loops.h"

namespace tandem {
namespace {

class ReduceLowering {
 public:
  ReduceLowering(ProgramBuilder& program, const Group& group, const BufferRef& target, const std::vector<size_t>& order)
      : program_(program),
        group_(group),
        target_(target),
        graph_(*program.module.graph),
        anchor_(graph_.node(group.anchor)),
        kernel_(program) {
    choose_loops(order);
  }

  void run() {
    std::vector<Index> index(anchor_.shape.size(), 0);
    std::vector<Index> open;
    size_t opened = 0;
    std::vector<size_t> guards;
    for (size_t i = 0; i < outer_.size(); i++) {
      pin_statistics(index, open);
      const Index& extent = anchor_.shape[outer_[i]];
      // Whoever runs the range in pieces would repeat what stands before it: then the first loop is a plain one.
      const bool is_range = i == 0 && !lowerer_.has_pinned();
      index[outer_[i]] = is_range ? builder_.open_range(extent) : builder_.open_loop(0, end_of_loop(index, i));
      open.push_back(index[outer_[i]]);
      opened += !is_range;
      guards.push_back(open_guards(index, i, is_range));
    }
    pin_statistics(index, open);
    if (!vector_axis_) {
      finish_element(index);
    } else {
      const int lanes = lowerer_.vector_lanes(anchor_.dtype);
      const AxisDemand& demand = group_.demand_of(*vector_axis_);
      emit_vector_loop(builder_, 0, lowerer_.end_of_demand(demand, index, anchor_.shape[*vector_axis_]), lanes,
                       [&](const Index& first, int width, std::optional<Index> count) {
                         index[*vector_axis_] = first + lowerer_.enter_vector(width, std::move(count));
                         finish_element(index);
                         lowerer_.leave_vector();
                       });
    }
    for (size_t i = guards.size(); i-- > 0;) {
      while (guards[i]-- > 0) builder_.close_if();
      if (i > 0 || opened == outer_.size()) builder_.close_loop();
    }
    const Shape& inner = graph_.node(anchor_.operands[0]).shape;
    Kernel kernel = builder_.finish(kernel_name(program_, group_), maximum_elements(inner));
    program_.add_call(group_.prepare ? Phase::kPrepare : Phase::kStep, std::move(kernel), lowerer_.slots(),
                      graph_.node(group_.root).origin);
  }

 private:
  /// The place in the order of loops at which the counters of all lanes that the demand of one of them asks for are
  /// open.
  size_t place_of_lanes(size_t place) const {
    size_t last = place;
    for (size_t i = place; i < outer_.size(); i++)
      if (is_lane(group_.demand_of(outer_[place]), outer_[i])) last = i;
    return last;
  }
  Index end_of_loop(const std::vector<Index>& index, size_t place) {
    const Index& extent = anchor_.shape[outer_[place]];
    return place_of_lanes(place) > place ? extent
                                         : lowerer_.end_of_demand(group_.demand_of(outer_[place]), index, extent);
  }
  /// Branches for the axes that end early and whose lanes are known only now.
  size_t open_guards(const std::vector<Index>& index, size_t place, bool is_range) {
    size_t opened = 0;
    for (size_t i = 0; i <= place; i++) {
      const AxisDemand& demand = group_.demand_of(outer_[i]);
      if (demand.empty() || place_of_lanes(i) != place || (i == place && !is_range)) continue;
      const Index end = lowerer_.end_of_demand(demand, index, anchor_.shape[outer_[i]]);
      opened += open_if_positive(builder_, end - index[outer_[i]]);
    }
    return opened;
  }

  /// Lanes along the innermost reduced axis when that is how memory runs, else along an output axis.
  void choose_loops(const std::vector<size_t>& root_order) {
    const Shape& inner = graph_.node(anchor_.operands[0]).shape;
    const std::vector<Index> counters = axis_counters(inner);
    const AccessSummary summary = summarise(program_, anchor_.operands[0], counters);
    const auto consecutive = [&](size_t axis) {
      int found = 0;
      for (const BufferAccess& load : summary_or_own(summary, counters)) {
        const std::optional<Index> step = load.offset.coefficient(counters[axis]);
        found += step && step->is(1) ? 1 : 0;
      }
      return found;
    };
    const size_t last = inner.size() - 1;
    if (consecutive(last) == 0 || inner[last].upper() < 4) {
      int best = 0;
      for (size_t axis = 0; axis < anchor_.shape.size(); axis++) {
        if (anchor_.shape[axis].upper() < 2 || group_.row_statistics || group_.is_lane(axis)) continue;
        const int score = consecutive(axis);
        if (score > best || (score == best && score > 0)) {
          best = score;
          vector_axis_ = axis;
        }
      }
    }
    for (size_t axis : anchor_order(root_order))
      if (!(vector_axis_ && *vector_axis_ == axis) && !anchor_.shape[axis].is(1)) outer_.push_back(axis);
  }

  /// When the operand has a buffer itself, that is the only load.
  std::vector<BufferAccess> summary_or_own(const AccessSummary& summary, const std::vector<Index>& counters) const {
    const auto own = program_.buffers.find(anchor_.operands[0]);
    if (own == program_.buffers.end()) return summary.loads;
    return {{anchor_.operands[0], flat_offset(counters, own->second.strides)}};
  }

  /// The anchor's axes in the order in which the root lies in memory.
  std::vector<size_t> anchor_order(const std::vector<size_t>& root_order) const {
    const std::vector<Index> counters = axis_counters(anchor_.shape);
    const auto root_index = root_index_of_anchor(program_.module, group_.root, group_.anchor, counters);
    std::vector<size_t> order;
    std::vector<bool> taken(counters.size(), false);
    for (size_t root_axis : root_order)
      for (size_t axis = 0; axis < counters.size(); axis++)
        if (!taken[axis] && (*root_index)[root_axis].depends_on(counters[axis])) {
          taken[axis] = true;
          order.push_back(axis);
        }
    for (size_t axis = 0; axis < counters.size(); axis++)
      if (!taken[axis]) order.push_back(axis);
    return order;
  }

  /// Reductions below the anchor that need only the counters that are open.
  void pin_statistics(std::vector<Index> index, const std::vector<Index>& open) {
    if (!group_.row_statistics) return;
    const Shape& inner = graph_.node(anchor_.operands[0]).shape;
    for (size_t i = open.size(); i < outer_.size(); i++)
      index[outer_[i]] = Index::loop(static_cast<uint32_t>((1u << 24) + i), anchor_.shape[outer_[i]]);
    for (size_t axis = index.size(); axis < inner.size(); axis++)
      index.push_back(Index::loop(static_cast<uint32_t>((1u << 25) + axis), inner[axis]));
    pin_row_statistics(program_, lowerer_, anchor_.operands[0], index, open);
  }

  void finish_element(const std::vector<Index>& index) {
    const ValueId value = lowerer_.reduce(group_.anchor, index);
    lowerer_.set_anchor(group_.anchor, value);
    const std::vector<Index> root_index = *root_index_of_anchor(program_.module, group_.root, group_.anchor, index);
    lowerer_.store(target_, root_index, lowerer_.lower(group_.root, root_index));
    lowerer_.set_anchor(kNoNode, kNoValue);
  }

  ProgramBuilder& program_;
  const Group& group_;
  const BufferRef& target_;
  const Graph& graph_;
  const Node& anchor_;
  KernelContext kernel_;
  KernelBuilder& builder_ = kernel_.builder;
  ValueLowerer& lowerer_ = kernel_.lowerer;
  std::optional<size_t> vector_axis_;
  std::vector<size_t> outer_;
};

}  // namespace

void lower_reduce(ProgramBuilder& program, const Group& group, const BufferRef& target,
                  const std::vector<size_t>& order) {
  ReduceLowering(program, group, target, order).run();
}

}  // namespace tandem
