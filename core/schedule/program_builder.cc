#include "core/schedule/program_builder.h"

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

uint32_t ProgramBuilder::add_slot(SlotRole role, DType dtype, int64_t elements, std::string name) {
  Slot slot;
  slot.role = role;
  slot.dtype = dtype;
  slot.bytes = std::max<int64_t>(elements, 1) * static_cast<int64_t>(size_of(dtype));
  slot.name = std::move(name);
  if (options.capabilities.wasm && slot.bytes >= (int64_t{1} << 31))
    throw TensorError(
        concat("the buffer of ", slot.name, " needs ", slot.bytes,
               " bytes; a WebAssembly plan addresses at most 2147483647 bytes in one buffer: lower the bounds of its "
               "variables or split the tensor"),
        ErrorCode::kMemoryLimit);
  program.slots.push_back(std::move(slot));
  slot_elements.push_back(std::max<int64_t>(elements, 1));
  return static_cast<uint32_t>(program.slots.size() - 1);
}

void ProgramBuilder::add_call(Phase phase, Kernel kernel, std::vector<uint32_t> slots, std::string origin) {
  KernelCall call;
  call.slots = std::move(slots);
  call.variables = kernel.variables;
  call.range = kernel.range;
  call.origin = std::move(origin);
  const auto [found, is_new] =
      kernel_numbers_.emplace(text(kernel, false), static_cast<uint32_t>(program.kernels.size()));
  call.kernel = found->second;
  if (is_new) {
    // Names are for people, but they must tell kernels apart: profiles and symbols use them.
    kernel.name = concat("k", program.kernels.size(), "_", kernel.name);
    program.kernels.push_back(std::move(kernel));
  }
  (phase == Phase::kPrepare ? program.prepare_calls : program.step_calls).push_back(std::move(call));
}

}  // namespace tandem
