#pragma once

#include <optional>

#include "core/schedule/contract_axes.h"
#include "core/schedule/schedule.h"

namespace tandem {

/// Does the plan use the machine's bf16 dot products, where contractions allow it? Never in reproducible numerics: the
/// order of their sums is not that of the op table.
bool has_bfloat16_dots(const ScheduleOptions& options);

/// The operand of a bf16 dot product whose pairs of neighbours along the reduced axis lie in memory as the instruction
/// takes them; the other is a constant along the vector axis, to be packed so. Nothing when the contraction's kernel
/// is no such product.
std::optional<int> operand_in_pairs(const ProgramBuilder& program, const Group& group, const ContractAxes& axes);

}  // namespace tandem
