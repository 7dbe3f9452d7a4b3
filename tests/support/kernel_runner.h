#pragma once

#include <string>
#include <vector>

#include "core/backend/backend.h"

namespace tandem {

/// Memory for one buffer of a kernel under test: copied in before the run and back after it.
struct KernelBuffer {
  SlotRole role = SlotRole::kInput;
  void* data = nullptr;
  size_t bytes = 0;
};

template <typename T>
KernelBuffer input_of(std::vector<T>& data) {
  return {SlotRole::kInput, data.data(), data.size() * sizeof(T)};
}
/// A buffer that the kernel fills: nothing of it is defined before the run.
template <typename T>
KernelBuffer output_of(std::vector<T>& data) {
  return {SlotRole::kOutput, data.data(), data.size() * sizeof(T)};
}

/// Runs one kernel once, over its whole range, with the given values of its variables. Returns an empty text, or why it
/// failed to compile or to run.
std::string run_kernel_on(Backend& backend, const Kernel& kernel, const std::vector<KernelBuffer>& buffers,
                          const std::vector<int64_t>& variables = {}, Numerics numerics = Numerics::kReproducible);

}  // namespace tandem
