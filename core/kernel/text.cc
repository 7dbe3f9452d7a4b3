#include "core/base/text.h"

#include "core/kernel/type_rules.h"

namespace tandem {
namespace {

std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (char letter : name) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter == '\n' ? ' ' : letter;
  }
  return out + "\"";
}

std::string_view name_of(Access access) {
  constexpr std::string_view names[] = {"read", "write", "read_write", "local"};
  return names[static_cast<int>(access)];
}

std::string constant_text(const Instruction& instruction) {
  if (instruction.type.scalar == Scalar::kF32) return number_text(static_cast<float>(instruction.number));
  if (instruction.type.scalar == Scalar::kF64) return number_text(instruction.number);
  return std::to_string(instruction.integer);
}

/// The bounds of the values that the index expressions of an instruction use: they are known only where they are used.
std::string value_bounds(const Instruction& instruction) {
  std::string out;
  std::vector<ValueId> seen;
  for_each_index(instruction, [&](const Index& index) {
    index.for_each_leaf([&](const Index& leaf) {
      if (leaf.kind() != IndexKind::kValue) return;
      for (ValueId other : seen)
        if (other == leaf.id()) return;
      seen.push_back(leaf.id());
      out += concat(out.empty() ? " where v" : ", v", leaf.id(), " in ", leaf.lower(), " .. ", leaf.upper());
    });
  });
  return out;
}

std::string memory_text(const Instruction& instruction) {
  std::string out = concat("b", instruction.buffer, "[", instruction.index.text(), "]");
  if (!instruction.count) return out;
  out += concat(" count(", instruction.count->text(), ")");
  if (instruction.opcode == Opcode::kLoad) out += concat(" fill(", constant_text(instruction), ")");
  return out;
}

std::string head(ValueId value, const Instruction& instruction) {
  return concat("v", value, " = ", name_of(instruction.opcode), " ", text(instruction.type));
}

std::string plain_text(ValueId value, const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kConstant:
      return concat(head(value, instruction), " ", constant_text(instruction));
    case Opcode::kIndex:
      return concat(head(value, instruction), " ", instruction.index.text());
    case Opcode::kLoad:
      return concat(head(value, instruction), " ", memory_text(instruction));
    case Opcode::kStore:
      return concat("store ", text(instruction.type), " v", instruction.operands[0], " ", memory_text(instruction));
    case Opcode::kPrefetch:
      return concat("prefetch ", text(instruction.type), " ", memory_text(instruction), " level ", instruction.integer);
    case Opcode::kSet:
      return concat("set v", instruction.operands[0], " v", instruction.operands[1]);
    case Opcode::kIf:
      return concat("if v", instruction.operands[0], " {");
    case Opcode::kLoop: {
      const std::string step = instruction.step == 1 ? "" : concat(" step ", instruction.step);
      return concat("for i", instruction.loop, " in ", instruction.index.text(), " .. ", instruction.end.text(), step);
    }
    default:
      break;
  }
  std::string out = head(value, instruction);
  for (int i = 0; i < info(instruction.opcode).operands; i++) out += concat(" v", instruction.operands[i]);
  const bool has_lane = instruction.opcode == Opcode::kExtract || instruction.opcode == Opcode::kInsert;
  if (has_lane) out += concat(" lane ", instruction.integer);
  return out;
}

void print_block(std::string& out, const Kernel& kernel, BlockId block, int depth) {
  const std::string indent(static_cast<size_t>(2 * depth), ' ');
  for (ValueId value : kernel.blocks[block]) {
    const Instruction& instruction = kernel.instructions[value];
    out += indent;
    out += text(kernel, value);
    out += '\n';
    if (instruction.opcode != Opcode::kLoop && instruction.opcode != Opcode::kIf) continue;
    print_block(out, kernel, instruction.body, depth + 1);
    if (instruction.otherwise != 0) {
      out += indent + "} else {\n";
      print_block(out, kernel, instruction.otherwise, depth + 1);
    }
    out += indent + "}\n";
  }
}

}  // namespace

std::string text(const Kernel& kernel, ValueId instruction) {
  const Instruction& shown = kernel.instructions[instruction];
  std::string out = plain_text(instruction, shown) + value_bounds(shown);
  return shown.opcode == Opcode::kLoop ? out + " {" : out;
}

std::string text(const Kernel& kernel, bool with_name) {
  std::string out = with_name ? concat("kernel ", quoted(kernel.name), " {\n") : std::string("kernel {\n");
  if (with_name && kernel.flops != 0) out += concat("  flops ", kernel.flops, "\n");
  for (const Index& variable : kernel.variables) {
    out += concat("  variable ", variable.text(), " in ", variable.lower(), " .. ", variable.upper());
    if (variable.multiple() != 1) out += concat(" multiple ", variable.multiple());
    out += '\n';
  }
  for (size_t i = 0; i < kernel.buffers.size(); i++) {
    const BufferParameter& buffer = kernel.buffers[i];
    out += concat("  buffer b", i, " ", name_of(buffer.access), " ", name_of(buffer.dtype), "[", buffer.elements.text(),
                  buffer.aligned ? "]\n" : "] unaligned\n");
  }
  out += concat("  range i", kernel.range_loop, " in 0 .. ", kernel.range.text(), "\n");
  print_block(out, kernel, 0, 1);
  return out + "}\n";
}

}  // namespace tandem
