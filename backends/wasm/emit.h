#pragma once

#include <cstdint>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/error.h"

namespace tandem {

struct EmitOptions {
  bool names = false;  ///< Write the kernels' names into the module, for disassembly and debuggers.
};

/// Writes a program as one WebAssembly module. It imports the memory `env.memory` and exports two functions
/// `prepare(slots, variables, first, last)` and `step(...)`, all i32: the addresses of an array of u32 slot addresses
/// and of an array of i32 variable values, and the half-open range of calls to run.
///
/// The bytes depend on the program and the capabilities alone, not on the machine that emits. Needs only
/// `capabilities.fma` (relaxed SIMD or not). kUnsupported names what WebAssembly can't hold: an index beyond 32 bits, a
/// buffer beyond 4 GiB, an f16 conversion, a function beyond the limits of engines.
Result<std::vector<uint8_t>> emit_module(const Program& program, const Capabilities& capabilities,
                                         const EmitOptions& options = {});

}  // namespace tandem
