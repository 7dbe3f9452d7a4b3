#include "core/schedule/program_builder.h"

#include <iterator>

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

void ProgramBuilder::add_call(Phase phase, Kernel kernel, std::vector<uint32_t> slots, std::string origin, Work work) {
  // What only prepare calls read stays where the model keeps it: weight files have no 64-byte boundaries.
  for (size_t i = 0; i < slots.size() && phase == Phase::kPrepare; i++)
    if (program.slots[slots[i]].role == SlotRole::kConstant) kernel.buffers[i].aligned = false;
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
  if (phase == Phase::kStep) step_work.push_back(std::move(work));
}

void ProgramBuilder::describe_last_call(Phase phase, std::string origin, Work work) {
  (phase == Phase::kPrepare ? program.prepare_calls : program.step_calls).back().origin = std::move(origin);
  if (phase == Phase::kStep) step_work.back() = std::move(work);
}

void ProgramBuilder::drop_unread() {
  std::vector<bool> read(program.slots.size(), false);
  for (const KernelCall& call : program.step_calls)
    for (const uint32_t slot : call.slots) read[slot] = true;
  const auto wanted = [&](const KernelCall& call) {
    const Kernel& kernel = program.kernels[call.kernel];
    for (size_t i = 0; i < call.slots.size(); i++)
      if (kernel.buffers[i].access != Access::kRead && read[call.slots[i]]) return true;
    return false;
  };
  // What reads comes after what writes.
  std::vector<KernelCall> kept;
  for (size_t i = program.prepare_calls.size(); i-- > 0;) {
    KernelCall& call = program.prepare_calls[i];
    if (!wanted(call)) continue;
    for (const uint32_t slot : call.slots) read[slot] = true;
    kept.push_back(std::move(call));
  }
  program.prepare_calls.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));

  std::vector<bool> called(program.kernels.size(), false);
  for (const auto* calls : {&program.prepare_calls, &program.step_calls})
    for (const KernelCall& call : *calls) called[call.kernel] = true;
  std::vector<uint32_t> numbers(program.kernels.size(), 0);
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < program.kernels.size(); i++) {
    numbers[i] = static_cast<uint32_t>(kernels.size());
    if (called[i]) kernels.push_back(std::move(program.kernels[i]));
  }
  program.kernels = std::move(kernels);
  for (auto* calls : {&program.prepare_calls, &program.step_calls})
    for (KernelCall& call : *calls) call.kernel = numbers[call.kernel];
}

}  // namespace tandem
