#include "core/base/error.h"
#include "core/base/text.h"
#include "core/kernel/type_rules.h"

namespace tandem {

void verify(const Kernel& kernel) {
  for (const Instruction& instruction : kernel.instructions) {
    Type operands[3];
    for (int i = 0; i < info(instruction.opcode).operands; i++) {
      TANDEM_CHECK(instruction.operands[i] < kernel.instructions.size(), name_of(instruction.opcode));
      operands[i] = kernel.instructions[instruction.operands[i]].type;
    }
    const char* mistake = type_mistake(instruction, operands, kernel.buffers);
    if (mistake != nullptr) throw InternalError(concat(kernel.name, ": ", name_of(instruction.opcode), " ", mistake));
  }
}

}  // namespace tandem
