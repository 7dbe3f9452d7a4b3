#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/clang/clang_backend.h"
#include "core/backend/backend.h"
#include "core/jit/prepare_config.h"

namespace tandem::test {

/// The native instruction sets that this machine can run, best first; never empty.
std::vector<Capabilities> native_instruction_sets();

/// A native backend that neither reads nor writes the user's cache.
std::unique_ptr<ClangBackend> uncached_backend();
/// The same for wrappers; all of a program share one.
PrepareConfig uncached_config();

/// A program that calls one kernel once: slot i is buffer i, `variables` are the kernel's own.
Program program_of(const Kernel& kernel);

/// Compiles and runs one kernel; `buffers[i]` is buffer i, copied to aligned memory and back. Throws what goes wrong.
void run_native(const Kernel& kernel, const Capabilities& capabilities, std::vector<std::vector<uint8_t>>& buffers,
                const std::vector<int64_t>& variables = {}, Numerics numerics = Numerics::kReproducible);

template <typename T>
std::vector<uint8_t> to_bytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> from_bytes(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace tandem::test
