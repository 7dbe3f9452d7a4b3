#pragma once

#include <string>

#include "backends/clang/c_prelude.h"
#include "backends/clang/print_c_registers.h"
#include "core/kernel/kernel.h"

namespace tandem {

/// Prints what one pure, memory-free instruction computes as a C expression over its operands `v<number>`, or
/// `r<number>` where a register is read in place. Together with the functions that it asks the prelude for, each
/// expression has exactly the meaning of instructions.def: no operation traps, and none has undefined behaviour for any
/// input.
class CExpressionPrinter {
 public:
  CExpressionPrinter(CPrelude& prelude, const Kernel& kernel, const RegistersInPlace& registers)
      : prelude_(prelude), kernel_(kernel), registers_(registers) {}

  std::string print(const Instruction& instruction);

  /// The name of an operand.
  std::string value(ValueId id) const;

  /// A literal of a register type; `number` counts for floats, `integer` for the others.
  std::string constant(Type type, double number, int64_t integer);

 private:
  Type type_of(ValueId id) const { return kernel_.instructions[id].type; }
  /// Set when the operand is a constant integer.
  const Instruction* constant_operand(ValueId id) const;

  std::string arithmetic(const Instruction& instruction, const char* op);
  std::string lanes(const Instruction& instruction);
  std::string divide(const Instruction& instruction);
  std::string least(const Instruction& instruction);
  std::string shift(const Instruction& instruction);
  std::string compare(const Instruction& instruction);
  std::string mask_bits(const Instruction& instruction);
  std::string convert(const Instruction& instruction);
  std::string to_integer(const Instruction& instruction);
  std::string half(const Instruction& instruction);
  std::string dot_bfloat16(const Instruction& instruction);
  std::string unary_builtin(const Instruction& instruction, const char* name);
  /// "td_<verb>_f32x16".
  std::string function_name(const char* verb, Type type) const;
  std::string vector_cast(Type to, const std::string& expression);

  CPrelude& prelude_;
  const Kernel& kernel_;
  const RegistersInPlace& registers_;
};

}  // namespace tandem
