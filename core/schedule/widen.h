#pragma once

#include <optional>

#include "core/schedule/contract_axes.h"
#include "core/schedule/program_builder.h"

namespace tandem {

/// The node whose buffer of bf16 an operand of a contraction shows as f32; nothing when there is none.
std::optional<NodeId> bfloat16_buffer(const ProgramBuilder& program, NodeId operand);

/// Must a contraction's operand be repacked so that a tile reads vectors of it?
bool is_repacked(const ContractOperand& operand, const ContractAxes& axes);

/// Does a contraction read bf16 buffers that a step writes, as f32?
bool reads_bfloat16(const ProgramBuilder& program, const Group& group);

/// Makes f32 copies of the bf16 buffers that a contraction is about to read as they lie, unless it multiplies bf16: a
/// tile reads each element many times, and widening it every time takes longer than one pass over all of them. Later
/// contractions find the copy. `target`: where the contraction's results go; `groups`: all there are.
void widen_operands(ProgramBuilder& program, const std::vector<Group>& groups, const Group& group,
                    const BufferRef& target);

}  // namespace tandem
