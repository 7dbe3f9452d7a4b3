#include "core/schedule/widen.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/graph/movement_index.h"
#include "core/schedule/dot.h"
#include "core/schedule/loops.h"

namespace tandem {
namespace {

/// Copies what a step writes of a buffer of bf16, in the order in which it lies.
class Copy {
 public:
  /// `group`: the one that writes the buffer; null: an input.
  Copy(ProgramBuilder& program, NodeId node, const Group* group)
      : program_(program),
        group_(group),
        source_(program.buffers.at(node)),
        graph_(*program.module.graph),
        root_(node),
        shape_(graph_.node(group && group->anchor != kNoNode ? group->anchor : node).shape),
        kernel_(program),
        index_(shape_.size(), 0) {
    order_axes();
  }

  BufferRef run(const std::string& origin) {
    target_ = source_;
    target_.dtype = DType::kF32;
    target_.slot = program_.add_slot(SlotRole::kIntermediate, DType::kF32, program_.slot_elements[source_.slot],
                                     concat("widened ", program_.program.slots[source_.slot].name));
    size_t opened = 0, guards = 0;
    std::string name = "widen";
    for (const size_t axis : order_) name += concat("_", shape_[axis].upper());
    for (size_t i = 0; i < order_.size(); i++) {
      const size_t axis = order_[i];
      if (i == 0 && order_.size() > 1) {
        index_[axis] = builder_.open_range(shape_[axis]);
        if (ends_early(axis)) guards += open_if_positive(builder_, end_of(axis) - index_[axis]);
      } else if (i + 1 < order_.size() || !runs_) {
        index_[axis] = builder_.open_loop(0, end_of(axis));
        opened++;
      }
    }
    if (runs_) {
      emit_vector_loop(builder_, 0, end_of(*runs_), lowerer_.vector_lanes(DType::kF32),
                       [&](const Index& first, int lanes, std::optional<Index> count) {
                         index_[*runs_] = first + lowerer_.enter_vector(lanes, std::move(count));
                         copy_elements();
                         lowerer_.leave_vector();
                       });
    } else {
      copy_elements();
    }
    while (opened-- > 0) builder_.close_loop();
    while (guards-- > 0) builder_.close_if();
    const int64_t bytes = static_cast<int64_t>(size_of(source_.dtype) + size_of(target_.dtype));
    program_.add_call(Phase::kStep, builder_.finish(std::move(name)), lowerer_.slots(), origin,
                      {0, element_count(shape_) * bytes});
    return target_;
  }

 private:
  std::vector<Index> place(const std::vector<Index>& index) const {
    if (group_ == nullptr || group_->anchor == kNoNode) return index;
    return *root_index_of_anchor(program_.module, root_, group_->anchor, index);
  }

  /// Lanes first: their counters say where other axes end. Then from the longest step to the shortest, in vectors when
  /// that is 1.
  void order_axes() {
    const std::vector<Index> counters = axis_counters(shape_);
    const Index offset = flat_offset(place(counters), source_.strides);
    std::vector<int64_t> steps;
    for (size_t axis = 0; axis < shape_.size(); axis++) {
      const std::optional<Index> step = offset.coefficient(counters[axis]);
      steps.push_back(step ? step->upper() : INT64_MAX);
      if (!shape_[axis].is(1)) order_.push_back(axis);
    }
    const auto is_lane = [&](size_t axis) { return group_ != nullptr && group_->is_lane(axis); };
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      return is_lane(a) != is_lane(b) ? is_lane(a) : steps[a] != steps[b] ? steps[a] > steps[b] : a < b;
    });
    if (!order_.empty() && steps[order_.back()] == 1 && !is_lane(order_.back())) runs_ = order_.back();
  }

  bool ends_early(size_t axis) const { return group_ != nullptr && !group_->demand_of(axis).empty(); }
  Index end_of(size_t axis) {
    return ends_early(axis) ? lowerer_.end_of_demand(group_->demand_of(axis), index_, shape_[axis]) : shape_[axis];
  }

  void copy_elements() {
    const std::vector<Index> at = place(index_);
    lowerer_.store(target_, at, lowerer_.load(source_, at));
  }

  ProgramBuilder& program_;
  const Group* group_;
  const BufferRef source_;
  const Graph& graph_;
  const NodeId root_;
  const Shape& shape_;  ///< Of the loops that write the buffer.
  KernelContext kernel_;
  KernelBuilder& builder_ = kernel_.builder;
  ValueLowerer& lowerer_ = kernel_.lowerer;
  BufferRef target_;
  std::vector<Index> index_;
  std::vector<size_t> order_;
  std::optional<size_t> runs_;  ///< The axis along which elements follow each other.
};

bool is_constant(const ProgramBuilder& program, NodeId node) {
  const SlotRole role = program.program.slots[program.buffers.at(node).slot].role;
  return role == SlotRole::kConstant || role == SlotRole::kPacked;
}

/// The bf16 buffers that a step writes and a contraction reads as f32, by operand.
std::array<std::optional<NodeId>, 2> written_buffers(const ProgramBuilder& program, const Group& group) {
  const Node& anchor = program.module.graph->node(group.anchor);
  std::array<std::optional<NodeId>, 2> buffers;
  for (size_t i = 0; i < 2 && anchor.dtype == DType::kF32; i++) {
    buffers[i] = bfloat16_buffer(program, anchor.operands[i]);
    if (buffers[i] && is_constant(program, *buffers[i])) buffers[i].reset();
  }
  return buffers;
}

}  // namespace

std::optional<NodeId> bfloat16_buffer(const ProgramBuilder& program, NodeId operand) {
  const Graph& graph = *program.module.graph;
  while (program.buffers.count(operand) == 0) {
    if (!is_rearrangement(graph.node(operand).op) && !shows_bfloat16(graph, operand)) return std::nullopt;
    operand = graph.node(operand).operands[0];
  }
  if (program.buffers.at(operand).dtype != DType::kBF16) return std::nullopt;
  return operand;
}

bool is_repacked(const ContractOperand& operand, const ContractAxes& axes) {
  return axes.vector_axis && operand.depends[*axes.vector_axis] && operand.step[*axes.vector_axis] != 1;
}

bool reads_bfloat16(const ProgramBuilder& program, const Group& group) {
  const auto [first, second] = written_buffers(program, group);
  return first || second;
}

void widen_operands(ProgramBuilder& program, const std::vector<Group>& groups, const Group& group,
                    const BufferRef& target) {
  const std::array<std::optional<NodeId>, 2> buffers = written_buffers(program, group);
  const ContractAxes axes = choose_contract_axes(program, group, &target);
  if (operand_in_pairs(program, group, axes)) return;
  for (size_t i = 0; i < 2; i++) {
    if (!buffers[i] || is_repacked(axes.operands[i], axes) || program.widened.count(*buffers[i]) > 0) continue;
    const auto writer =
        std::find_if(groups.begin(), groups.end(), [&](const Group& other) { return other.root == *buffers[i]; });
    Copy copy(program, *buffers[i], writer == groups.end() ? nullptr : &*writer);
    program.widened.emplace(*buffers[i], copy.run(program.module.graph->node(group.anchor).origin));
  }
}

}  // namespace tandem
