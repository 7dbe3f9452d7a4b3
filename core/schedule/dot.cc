#include "core/schedule/dot.h"

#include "core/graph/movement_index.h"
#include "core/schedule/loops.h"
#include "core/schedule/storage.h"
#include "core/schedule/widen.h"

namespace tandem {
namespace {

/// Do the neighbours along the last axis of the space lie side by side as bf16, beginning at even places?
bool lies_in_pairs(const ProgramBuilder& program, NodeId operand, const Shape& space) {
  const std::optional<NodeId> base = bfloat16_buffer(program, operand);
  if (!base) return false;
  const std::vector<Index> counters = axis_counters(space);
  std::vector<BufferAccess> loads = summarise(program, operand, counters).loads;
  if (operand == *base) loads = {{operand, flat_offset(counters, program.buffers.at(operand).strides)}};
  if (loads.size() != 1 || loads[0].node != *base) return false;
  const Index& offset = loads[0].offset;
  const std::optional<Index> step = offset.coefficient(counters.back());
  return step && step->is(1) && floor_mod(offset - counters.back(), 2).is(0);
}

}  // namespace

bool has_bfloat16_dots(const ScheduleOptions& options) {
  return options.bfloat16_dot && options.capabilities.bfloat16_dot && options.numerics == Numerics::kFast;
}

std::optional<int> operand_in_pairs(const ProgramBuilder& program, const Group& group, const ContractAxes& axes) {
  const Graph& graph = *program.module.graph;
  const Node& anchor = graph.node(group.anchor);
  if (!has_bfloat16_dots(program.options) || !axes.vector_axis || anchor.dtype != DType::kF32) return std::nullopt;
  const Shape& space = graph.node(anchor.operands[0]).shape;
  const size_t rank = anchor.shape.size();
  const bool halves = space.size() == rank + 1 && space[rank].is_constant() && space[rank].constant() % 2 == 0;
  if (!halves || !group.demand_of(rank).empty()) return std::nullopt;
  for (int i = 0; i < 2; i++) {
    const ContractOperand& rows = axes.operands[i];
    const ContractOperand& columns = axes.operands[1 - i];
    if (!columns.constant || storage_dtype(graph, columns.node) != DType::kBF16) continue;
    if (!columns.depends[*axes.vector_axis] || rows.depends[*axes.vector_axis]) continue;
    if (lies_in_pairs(program, anchor.operands[static_cast<size_t>(i)], space)) return i;
  }
  return std::nullopt;
}

}  // namespace tandem
