#include "core/kernel/type_rules.h"

#include "core/kernel/builder.h"
#include "core/kernel/evaluate.h"

namespace tandem {
namespace {

const char* memory_mistake(const Instruction& instruction, Type value, const std::vector<BufferParameter>& buffers) {
  if (instruction.buffer >= buffers.size()) return "names a buffer that the kernel doesn't have";
  const BufferParameter& buffer = buffers[instruction.buffer];
  if (value.scalar != register_scalar(buffer.dtype))
    return "has another type than the buffer's elements have in registers";
  if (instruction.opcode == Opcode::kStore && buffer.access == Access::kRead) return "writes to a read-only buffer";
  if (instruction.opcode != Opcode::kStore && buffer.access == Access::kWrite) return "reads from a write-only buffer";
  return nullptr;
}

const char* lane_mistake(const Instruction& instruction, const Type* operands) {
  const Type type = instruction.type, a = operands[0];
  if (a.scalar != type.scalar) return "changes the type of its lanes";
  switch (instruction.opcode) {
    case Opcode::kSplat:
      return a.lanes == 1 ? nullptr : "needs a one-lane operand";
    case Opcode::kExtract:
      if (type.lanes != 1) return "must give one lane";
      return instruction.integer >= 0 && instruction.integer < a.lanes ? nullptr : "names a lane that isn't there";
    case Opcode::kInsert:
      if (a != type) return "must keep the type of its first operand";
      if (operands[1] != Type{type.scalar, 1}) return "needs a one-lane second operand of the same type";
      return instruction.integer >= 0 && instruction.integer < type.lanes ? nullptr : "names a lane that isn't there";
    default:
      return a.lanes == 2 * type.lanes ? nullptr : "must give half of the lanes";
  }
}

const char* computation_mistake(const Instruction& instruction, const Type* operands) {
  const Type type = instruction.type;
  const Opcode opcode = instruction.opcode;
  const int count = info(opcode).operands;
  for (int i = 0; i < count; i++)
    if (operands[i].lanes != type.lanes) return "has operands or a result with different numbers of lanes";
  if (opcode == Opcode::kSelect) {
    if (operands[1] != type || operands[2] != type) return "must choose between two values of its own type";
    return operands[0].scalar == mask_of(type.scalar) ? nullptr : "needs a mask as wide as its values";
  }
  if (opcode == Opcode::kDotBFloat16) {
    const bool pairs = operands[0].scalar == Scalar::kI32 && operands[1].scalar == Scalar::kI32;
    if (!pairs) return "needs pairs of bf16 in i32";
    return operands[2] == type && type.scalar == Scalar::kF32 ? nullptr : "adds to f32";
  }
  const Scalar scalar = operands[0].scalar;
  for (int i = 1; i < count; i++)
    if (operands[i].scalar != scalar) return "has operands of different types";
  if (lane_function(opcode, scalar, type.scalar) == nullptr) return "doesn't take operands or a result of this type";
  if (opcode >= Opcode::kEqual && opcode <= Opcode::kLessEqualU)
    return type.scalar == mask_of(scalar) ? nullptr : "must give a mask as wide as its operands";
  const bool converts =
      opcode == Opcode::kConvertMask || (opcode >= Opcode::kToFloat && opcode <= Opcode::kFloatToHalf);
  return converts || scalar == type.scalar ? nullptr : "must have the type of its operands";
}

}  // namespace

Instruction new_instruction(Opcode opcode, Type type, ValueId a, ValueId b, ValueId c) {
  Instruction instruction{opcode, type};
  instruction.operands[0] = a;
  instruction.operands[1] = b;
  instruction.operands[2] = c;
  return instruction;
}

Index loop_counter(const Instruction& loop) {
  if (loop.index.is(0)) return Index::loop(loop.loop, loop.end, loop.step);
  return Index::loop_between(loop.loop, loop.index, loop.end, loop.step);
}

const char* type_mistake(const Instruction& instruction, const Type* operands,
                         const std::vector<BufferParameter>& buffers) {
  const Type type = instruction.type;
  if (!lanes_allowed(type.lanes)) return "has a number of lanes other than 1, 2, 4, 8 or 16";
  switch (instruction.opcode) {
    case Opcode::kConstant:
      if (is_mask(type.scalar) && instruction.integer != 0 && instruction.integer != 1) return "must be 0 or 1";
      return nullptr;
    case Opcode::kIndex:
      return is_integer(type.scalar) && type.lanes == 1 ? nullptr : "must be one lane of i32 or i64";
    case Opcode::kLanes:
      return is_integer(type.scalar) ? nullptr : "must be i32 or i64";
    case Opcode::kPrefetch:
      if (type.lanes != 1) return "names one element";
      if (instruction.integer != 1 && instruction.integer != 2) return "names a cache of level 1 or 2";
      return memory_mistake(instruction, type, buffers);
    case Opcode::kLoad:
      return memory_mistake(instruction, type, buffers);
    case Opcode::kStore:
      if (operands[0] != type) return "must have the type of its operand";
      return memory_mistake(instruction, type, buffers);
    case Opcode::kSplat:
    case Opcode::kExtract:
    case Opcode::kInsert:
    case Opcode::kLow:
    case Opcode::kHigh:
      return lane_mistake(instruction, operands);
    case Opcode::kVariable:
    case Opcode::kGet:
      return operands[0] == type ? nullptr : "must have the type of its operand";
    case Opcode::kSet:
      return operands[0] == type && operands[1] == type ? nullptr : "must have the type of the variable and the value";
    case Opcode::kLoop:
      return instruction.step > 0 ? nullptr : "needs a positive step";
    case Opcode::kIf:
      return operands[0].lanes == 1 && is_mask(operands[0].scalar) ? nullptr : "needs a one-lane mask";
    default:
      return computation_mistake(instruction, operands);
  }
}

}  // namespace tandem
