#include "backends/clang/print_c_registers.h"

#include <algorithm>

namespace tandem {
namespace {

std::vector<uint32_t> count_uses(const Kernel& kernel) {
  std::vector<uint32_t> uses(kernel.instructions.size(), 0);
  const auto note = [&](const Index& leaf) {
    if (leaf.kind() == IndexKind::kValue) uses[leaf.id()] += 2;  // A subscript prints names only.
  };
  for (const Instruction& instruction : kernel.instructions) {
    for (int i = 0; i < info(instruction.opcode).operands; i++) uses[instruction.operands[i]]++;
    for_each_index(instruction, [&](const Index& index) { index.for_each_leaf(note); });
  }
  return uses;
}

bool is_expression(const Instruction& instruction) {
  return makes_value(instruction.opcode) && instruction.opcode != Opcode::kVariable &&
         !inserts_by_statements(instruction);
}

}  // namespace

bool inserts_by_statements(const Instruction& instruction) {
  return instruction.opcode == Opcode::kInsert && instruction.type.lanes > 1 && !is_mask(instruction.type.scalar);
}

RegistersInPlace find_registers_in_place(const Kernel& kernel) {
  const std::vector<uint32_t> uses = count_uses(kernel);
  RegistersInPlace found;
  found.reads.assign(kernel.instructions.size(), false);
  found.targets.assign(kernel.instructions.size(), kNoValue);
  for (const std::vector<ValueId>& block : kernel.blocks) {
    std::vector<ValueId> unchanged;  // Gets whose registers still hold what they read.
    for (size_t i = 0; i < block.size(); i++) {
      const Instruction& instruction = kernel.instructions[block[i]];
      if (instruction.opcode == Opcode::kGet) {
        if (uses[block[i]] == 1) unchanged.push_back(block[i]);
        continue;
      }
      for (int k = 0; k < info(instruction.opcode).operands; k++) {
        const auto get = std::find(unchanged.begin(), unchanged.end(), instruction.operands[k]);
        if (get != unchanged.end()) found.reads[*get] = true;
      }
      if (instruction.opcode == Opcode::kLoop || instruction.opcode == Opcode::kIf) unchanged.clear();
      if (instruction.opcode != Opcode::kSet) continue;
      const auto reads_it = [&](ValueId get) {
        return kernel.instructions[get].operands[0] == instruction.operands[0];
      };
      unchanged.erase(std::remove_if(unchanged.begin(), unchanged.end(), reads_it), unchanged.end());
      const ValueId value = instruction.operands[1];
      if (i > 0 && block[i - 1] == value && uses[value] == 1 && is_expression(kernel.instructions[value]))
        found.targets[value] = instruction.operands[0];
    }
  }
  return found;
}

}  // namespace tandem
