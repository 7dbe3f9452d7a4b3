#pragma once

#include <string>
#include <vector>

#include "core/kernel/capabilities.h"
#include "core/kernel/kernel.h"

namespace tandem {

/// One translation unit of C and the functions in it.
struct CUnit {
  std::string source;
  std::vector<std::string> symbols;  ///< One per kernel, in order; equal kernels share one.
};

/// Prints kernels as one unit of C, instruction by instruction: values are `v12`, registers `r3`, counters `i0`,
/// buffers `b1`, variables `n0`. Every kernel is
///
///     void SYMBOL(void* const* buffers, const long* variables, long begin, long end)
///
/// The text must be compiled with wrapping integers, without contraction and without strict aliasing
/// (compile_options.h); then each operation has the meaning of instructions.def and no external symbol is needed.
/// Throws InternalError when a kernel uses what the capabilities don't have.
CUnit print_c(const std::vector<const Kernel*>& kernels, const Capabilities& capabilities);

}  // namespace tandem
