#include <algorithm>
#include <iterator>

#include "core/base/text.h"
#include "core/kernel/kernel.h"
#include "core/kernel/type_rules.h"

namespace tandem {

const OpcodeInfo& info(Opcode opcode) {
  static constexpr OpcodeInfo table[] = {
#define TANDEM_INSTRUCTION(identifier, text, operands, pure, meaning) {text, operands, pure, meaning},
#include "core/kernel/instructions.def"
  };
  static_assert(std::size(table) == static_cast<size_t>(kOpcodeCount));
  return table[static_cast<int>(opcode)];
}

bool uses(const Kernel& kernel, Opcode opcode) {
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [opcode](const Instruction& instruction) { return instruction.opcode == opcode; });
}

bool makes_value(Opcode opcode) {
  switch (opcode) {
    case Opcode::kPrefetch:
    case Opcode::kStore:
    case Opcode::kSet:
    case Opcode::kLoop:
    case Opcode::kIf:
      return false;
    default:
      return true;
  }
}

std::string_view name_of(Scalar scalar) {
  constexpr std::string_view names[] = {"i32", "i64", "f32", "f64", "mask32", "mask64"};
  return names[static_cast<int>(scalar)];
}

std::string text(Type type) {
  if (type.lanes == 1) return std::string(name_of(type.scalar));
  return concat(name_of(type.scalar), "x", static_cast<int>(type.lanes));
}

}  // namespace tandem
