#include "tests/support/kernel_runner.h"

#include <cstring>

namespace tandem {

std::string run_kernel_on(Backend& backend, const Kernel& kernel, const std::vector<KernelBuffer>& buffers,
                          const std::vector<int64_t>& variables, Numerics numerics) {
  Program program;
  program.kernels.push_back(kernel);
  program.variables = kernel.variables;
  KernelCall call;
  call.variables = kernel.variables;
  call.range = kernel.range;
  call.origin = "test";
  std::vector<void*> memory;
  for (const KernelBuffer& buffer : buffers) {
    call.slots.push_back(static_cast<uint32_t>(program.slots.size()));
    const DType dtype = kernel.buffers[memory.size()].dtype;
    program.slots.push_back(Slot{buffer.role, dtype, static_cast<int64_t>(buffer.bytes), "test buffer"});
    memory.push_back(backend.allocate(buffer.bytes));
    if (buffer.bytes != 0) std::memcpy(memory.back(), buffer.data, buffer.bytes);
  }
  program.step_calls.push_back(call);
  CompileStatistics statistics;
  std::string failure;
  {
    const auto executable = backend.compile(program, backend.capabilities(), numerics, statistics);
    if (!executable)
      failure = executable.error().text();
    else if (!(*executable)->run(Phase::kStep, memory.data(), variables.data(), 0, 1))
      failure = (*executable)->failure();
  }
  for (size_t i = 0; i < buffers.size(); i++) {
    if (buffers[i].bytes != 0) std::memcpy(buffers[i].data, memory[i], buffers[i].bytes);
    backend.release(memory[i], buffers[i].bytes);
  }
  return failure;
}

}  // namespace tandem
