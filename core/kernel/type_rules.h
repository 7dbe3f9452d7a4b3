#pragma once

#include <string_view>

#include "core/kernel/kernel.h"

namespace tandem {

/// Number of rows of the instruction table.
inline constexpr int kOpcodeCount = 0
#define TANDEM_INSTRUCTION(...) +1
#include "core/kernel/instructions.def"
    ;

/// "i32", "f64", "mask32".
std::string_view name_of(Scalar scalar);

constexpr bool is_integer(Scalar scalar) { return scalar == Scalar::kI32 || scalar == Scalar::kI64; }
/// The mask that comparing values of this type gives.
constexpr Scalar mask_of(Scalar scalar) { return size_of(scalar) == 8 ? Scalar::kMask64 : Scalar::kMask32; }
constexpr bool lanes_allowed(int lanes) { return lanes > 0 && lanes <= 16 && (lanes & (lanes - 1)) == 0; }

/// Has an instruction of this opcode a buffer, and an index into it?
constexpr bool touches_memory(Opcode opcode) {
  return opcode == Opcode::kLoad || opcode == Opcode::kStore || opcode == Opcode::kPrefetch;
}

/// An instruction with these operands; the other fields are as if it had none.
Instruction new_instruction(Opcode opcode, Type type, ValueId a = kNoValue, ValueId b = kNoValue, ValueId c = kNoValue);

/// The counter of a loop instruction as a leaf of index expressions.
Index loop_counter(const Instruction& loop);

/// What is wrong with an instruction's type and those of its operands (as many as the opcode has), as the end of a
/// sentence; null when they keep the rules of instructions.def. Memory instructions are checked against `buffers`.
const char* type_mistake(const Instruction& instruction, const Type* operands,
                         const std::vector<BufferParameter>& buffers);

}  // namespace tandem
