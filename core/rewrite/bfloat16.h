#pragma once

#include "core/graph/graph.h"

namespace tandem {

/// The module with the other operand of each long contraction with a bf16 constant rounded to bf16, to nearest even, as
/// machines that multiply bf16 want it. Not a rule: results change, by the rounding. The sum stays f32.
GraphModule round_operands_to_bfloat16(const GraphModule& module);

}  // namespace tandem
