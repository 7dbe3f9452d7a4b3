#include "core/schedule/program_builder.h"

#include <cmath>
#include <iterator>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {
namespace {

uint64_t constant_hash(const Instruction& constant) {
  if (!is_float(constant.type.scalar)) return static_cast<uint64_t>(constant.integer);
  if (std::isnan(constant.number)) return 1;
  const bool narrow = constant.type.scalar == Scalar::kF32;
  return bit_cast<uint64_t>(narrow ? static_cast<double>(static_cast<float>(constant.number)) : constant.number);
}

uint64_t add_block(uint64_t hash, const Kernel& kernel, BlockId block) {
  for (const ValueId value : kernel.blocks[block]) {
    const Instruction& instruction = kernel.instructions[value];
    hash = hash_mix(hash, static_cast<uint64_t>(instruction.opcode) << 16 |
                              static_cast<uint64_t>(instruction.type.scalar) << 8 | instruction.type.lanes);
    hash = hash_mix(hash, static_cast<uint64_t>(instruction.operands[0]) << 32 | instruction.operands[1]);
    if (instruction.opcode == Opcode::kConstant) hash = hash_mix(hash, constant_hash(instruction));
    if (instruction.opcode == Opcode::kLoad) hash = hash_mix(hash, static_cast<uint64_t>(instruction.index.upper()));
    if (instruction.opcode != Opcode::kLoop && instruction.opcode != Opcode::kIf) continue;
    if (instruction.opcode == Opcode::kLoop) hash = hash_mix(hash, static_cast<uint64_t>(instruction.end.upper()));
    hash = add_block(hash, kernel, instruction.body);
    if (instruction.otherwise != 0) hash = add_block(hash, kernel, instruction.otherwise);
  }
  return hash;
}

/// Equal for kernels with equal texts, and rarely for others.
uint64_t rough_hash(const Kernel& kernel) {
  uint64_t hash = static_cast<uint64_t>(kernel.range.upper());
  for (const BufferParameter& buffer : kernel.buffers)
    hash = hash_mix(hash, static_cast<uint64_t>(buffer.elements.upper()) << 8 | static_cast<uint64_t>(buffer.dtype));
  return add_block(hash, kernel, 0);
}

}  // namespace

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
  call.kernel = kernel_number(std::move(kernel));
  repeat_call(phase, std::move(call), std::move(work));
}

uint32_t ProgramBuilder::share_last_result(uint32_t slot) {
  std::vector<KernelCall>& calls = program.prepare_calls;
  const KernelCall& last = calls.back();
  TANDEM_CHECK(slot + 1 == program.slots.size(), "only the slot added last can go");
  for (size_t i = 0; i + 1 < calls.size(); i++) {
    const KernelCall& known = calls[i];
    if (known.kernel != last.kernel) continue;
    uint32_t result = slot;
    bool equal = true;
    for (size_t k = 0; k < last.slots.size() && equal; k++) {
      if (last.slots[k] == slot)
        result = known.slots[k];
      else
        equal = known.slots[k] == last.slots[k];
    }
    if (!equal || program.slots[result].role != program.slots[slot].role) continue;
    calls.pop_back();
    program.slots.pop_back();
    slot_elements.pop_back();
    return result;
  }
  return slot;
}

void ProgramBuilder::repeat_call(Phase phase, KernelCall call, Work work) {
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

uint32_t ProgramBuilder::kernel_number(Kernel&& kernel) {
  const uint64_t hash = rough_hash(kernel);
  const auto [first, last] = kernel_numbers_.equal_range(hash);
  if (first != last) {
    const std::string identity = text(kernel, false);
    for (auto known = first; known != last; ++known)
      if (text(program.kernels[known->second], false) == identity) return known->second;
  }
  const auto number = static_cast<uint32_t>(program.kernels.size());
  // Names are for people, but they must tell kernels apart: profiles and symbols use them.
  kernel.name = concat("k", number, "_", kernel.name);
  program.kernels.push_back(std::move(kernel));
  kernel_numbers_.emplace(hash, number);
  return number;
}

}  // namespace tandem
