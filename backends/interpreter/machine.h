#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/interpreter/code.h"

namespace tandem {

/// Memory of one buffer of a call.
struct MachineBuffer {
  unsigned char* data = nullptr;
  int64_t bytes = 0;
  unsigned char* written = nullptr;  ///< Per byte: 1 once it has been written; null when all bytes are defined.
};

/// Runs a kernel over [begin, end) of its range; its variables must be set. Returns an empty text, or what the kernel
/// did that no kernel may do. Allocates only in that case.
std::string run_kernel(Code& code, const MachineBuffer* buffers, int64_t begin, int64_t end);

}  // namespace tandem
