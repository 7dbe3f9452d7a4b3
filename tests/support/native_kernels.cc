#include "tests/support/native_kernels.h"

#include <stdexcept>

namespace tandem::test {

std::vector<Capabilities> native_instruction_sets() {
  std::vector<Capabilities> result;
  for (const char* isa : {"avx512", "avx2", "sse+fma", "sse"}) {
    Capabilities capabilities = *capabilities_named(isa);
    if (host_supports(capabilities)) result.push_back(capabilities);
  }
  return result;
}

std::unique_ptr<ClangBackend> uncached_backend() {
  ClangBackendOptions options = ClangBackendOptions::from_environment();
  options.cache_folder.clear();
  return make_clang_backend(options);
}

PrepareConfig uncached_config() {
  static const std::shared_ptr<Backend> backend = uncached_backend();
  PrepareConfig config;
  config.backend = backend;
  return config;
}

Program program_of(const Kernel& kernel) {
  Program program;
  program.kernels = {kernel};
  program.variables = kernel.variables;
  KernelCall call;
  call.variables = kernel.variables;
  call.range = kernel.range;
  for (uint32_t i = 0; i < kernel.buffers.size(); i++) {
    program.slots.push_back({});
    call.slots.push_back(i);
  }
  program.step_calls = {call};
  return program;
}

void run_native(const Kernel& kernel, const Capabilities& capabilities, std::vector<std::vector<uint8_t>>& buffers,
                const std::vector<int64_t>& variables, Numerics numerics) {
  std::unique_ptr<ClangBackend> backend = uncached_backend();
  CompileStatistics statistics;
  auto executable = backend->compile(program_of(kernel), capabilities, numerics, statistics);
  if (!executable) throw std::runtime_error(executable.error().text());
  std::vector<void*> slots;
  for (const auto& buffer : buffers) {
    slots.push_back(backend->allocate(buffer.size()));
    if (!buffer.empty()) std::memcpy(slots.back(), buffer.data(), buffer.size());
  }
  (*executable)->run(Phase::kStep, slots.data(), variables.data(), 0, 1);
  for (size_t i = 0; i < buffers.size(); i++) {
    if (!buffers[i].empty()) std::memcpy(buffers[i].data(), slots[i], buffers[i].size());
    backend->release(slots[i], buffers[i].size());
  }
}

}  // namespace tandem::test
