#include "core/schedule/dot.h"

#include "core/graph/movement_index.h"
#include "core/schedule/loops.h"

namespace tandem {
namespace {

/// The bf16 expression that an operand shows as f32, or nothing.
std::optional<NodeId> widened_bfloat16(const Graph& graph, NodeId operand) {
  const Node& cast = graph.node(below_rearrangements(graph, operand));
  if (cast.op != Op::kCast || cast.dtype != DType::kF32) return std::nullopt;
  if (graph.node(cast.operands[0]).dtype != DType::kBF16) return std::nullopt;
  return cast.operands[0];
}

/// Do the neighbours along the last axis of the space lie side by side, beginning at even places?
bool lies_in_pairs(const ProgramBuilder& program, NodeId operand, const Shape& space) {
  const Graph& graph = *program.module.graph;
  const std::optional<NodeId> widened = widened_bfloat16(graph, operand);
  if (!widened) return false;
  const NodeId base = below_rearrangements(graph, *widened);
  if (program.buffers.count(base) == 0) return false;
  const std::vector<Index> counters = axis_counters(space);
  const AccessSummary summary = summarise(program, operand, counters);
  if (summary.loads.size() != 1 || summary.loads[0].node != base) return false;
  const Index& offset = summary.loads[0].offset;
  const std::optional<Index> step = offset.coefficient(counters.back());
  return step && step->is(1) && floor_mod(offset - counters.back(), 2).is(0);
}

}  // namespace

bool has_bfloat16_dots(const ScheduleOptions& options) {
  return options.bfloat16_dot && options.capabilities.bfloat16_dot && options.numerics == Numerics::kFast;
}

bool multiplies_bfloat16(const Graph& graph, const Node& contraction) {
  return widened_bfloat16(graph, contraction.operands[0]) && widened_bfloat16(graph, contraction.operands[1]);
}

std::optional<int> operand_in_pairs(const ProgramBuilder& program, const Group& group, const ContractAxes& axes) {
  const Graph& graph = *program.module.graph;
  const Node& anchor = graph.node(group.anchor);
  if (!has_bfloat16_dots(program.options) || !axes.vector_axis || !multiplies_bfloat16(graph, anchor))
    return std::nullopt;
  const Shape& space = graph.node(anchor.operands[0]).shape;
  const size_t rank = anchor.shape.size();
  const bool halves = space.size() == rank + 1 && space[rank].is_constant() && space[rank].constant() % 2 == 0;
  if (!halves || !group.demand_of(rank).empty()) return std::nullopt;
  for (int i = 0; i < 2; i++) {
    const ContractOperand& rows = axes.operands[i];
    const ContractOperand& columns = axes.operands[1 - i];
    if (!columns.constant || !columns.depends[*axes.vector_axis] || rows.depends[*axes.vector_axis]) continue;
    if (lies_in_pairs(program, anchor.operands[static_cast<size_t>(i)], space)) return i;
  }
  return std::nullopt;
}

}  // namespace tandem
