#pragma once

#include <vector>

#include "core/kernel/kernel.h"

namespace tandem {

/// What of a kernel is printed without a variable of its own: `r3 = v1 * v2 + r3` in place of three lines. The compiler
/// takes about as long over a variable as over what is computed.
struct RegistersInPlace {
  std::vector<bool> reads;  ///< By value: a get whose one use reads the register itself.
  /// By value: the register that takes it at once, because the set comes next and is the one use; else none.
  std::vector<ValueId> targets;
};

/// Is it printed as statements instead of an expression? A helper function would be inlined once for every lane.
bool inserts_by_statements(const Instruction& instruction);

/// Looks through the blocks of a kernel.
RegistersInPlace find_registers_in_place(const Kernel& kernel);

}  // namespace tandem
