#pragma once

#include "core/kernel/kernel.h"

namespace tandem {

/// Removes what has no effect (unused values, variables that are never read, empty loops and branches), numbers values
/// and blocks in the order of printing, and collects the kernel's variables by name. Linear in the kernel's size.
Kernel compact(Kernel kernel);

}  // namespace tandem
