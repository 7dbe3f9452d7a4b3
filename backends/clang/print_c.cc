#include "backends/clang/print_c.h"

#include <unordered_set>

#include "backends/clang/c_prelude.h"
#include "backends/clang/print_c_expression.h"
#include "backends/clang/print_c_index.h"
#include "backends/clang/sha256.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

namespace {

// Names come from models: nothing in them may end a comment or a line.
std::string comment_text(const std::string& text) {
  std::string out;
  for (char c : text) {
    bool plain = c >= ' ' && c <= '~' && c != '\\' && c != '?';
    if (c == '/' && !out.empty() && out.back() == '*') plain = false;
    if (c == '*' && !out.empty() && out.back() == '/') plain = false;
    out += plain ? c : '_';
  }
  return out;
}

std::string symbol_part(const std::string& text) {
  std::string out;
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain ? c : '_';
    if (out.size() == 40) break;
  }
  return out;
}

const char* name_of_access(Access access) {
  constexpr const char* names[] = {"read", "written", "read and written", "local"};
  return names[static_cast<int>(access)];
}

/// Prints one kernel: a body that takes each pointer as a restrict parameter (clang heeds `restrict` nowhere else) and
/// the function that unpacks the arguments.
class KernelPrinter {
 public:
  KernelPrinter(CPrelude& prelude, const Kernel& kernel, const Capabilities& capabilities)
      : prelude_(prelude),
        kernel_(kernel),
        capabilities_(capabilities),
        registers_(find_registers_in_place(kernel)),
        expressions_(prelude, kernel, registers_),
        indices_(prelude, kernel) {}

  /// The kernel's functions, and its symbol: name and hash of the text, so that equal symbols mean equal code.
  std::string print(std::string& symbol);

 private:
  void line(const std::string& text) {
    for (const std::string& declaration : indices_.take_declarations()) append(declaration);
    append(text);
  }
  void append(const std::string& text) { out_.append(2 * depth_, ' ').append(text).append("\n"); }
  void block(BlockId id) {
    depth_++;
    indices_.open_block();
    for (ValueId id_of_value : kernel_.blocks[id]) statement(id_of_value);
    indices_.close_block();
    depth_--;
  }
  void statement(ValueId id);
  void body();
  void store(const Instruction& instruction);
  void loop(const Instruction& instruction);
  std::string load(const Instruction& instruction);
  std::string address(const Instruction& instruction) {
    return concat("b", instruction.buffer, " + ", indices_.print(instruction.index, true));
  }
  std::string subscript(const Instruction& instruction) {
    return concat("b", instruction.buffer, "[", indices_.print(instruction.index), "]");
  }
  std::string first_lanes(const Instruction& instruction, DType dtype) {
    return concat(prelude_.first_lanes(static_cast<int>(size_of(dtype)), instruction.type.lanes), "(",
                  indices_.print(*instruction.count), ")");
  }
  void check(const Instruction& instruction) const;

  CPrelude& prelude_;
  const Kernel& kernel_;
  const Capabilities& capabilities_;
  const RegistersInPlace registers_;
  CExpressionPrinter expressions_;
  CIndexPrinter indices_;
  std::string out_;
  size_t depth_ = 0;
};

// Without the instruction, clang would call a library function that isn't there.
void KernelPrinter::check(const Instruction& instruction) const {
  const bool half = instruction.opcode == Opcode::kHalfToFloat || instruction.opcode == Opcode::kFloatToHalf;
  const bool dot = instruction.opcode == Opcode::kDotBFloat16;
  if ((instruction.opcode == Opcode::kFma && !capabilities_.fma) || (half && !capabilities_.half_conversion) ||
      (dot && !capabilities_.bfloat16_dot))
    throw InternalError(concat("kernel \"", kernel_.name, "\" uses ", name_of(instruction.opcode), ", which ",
                               capabilities_.isa, " does not have"));
}

std::string KernelPrinter::load(const Instruction& instruction) {
  const DType dtype = kernel_.buffers[instruction.buffer].dtype;
  const Type type = instruction.type;
  if (type.lanes == 1) {
    if (!instruction.count) return subscript(instruction);
    return concat(indices_.print(*instruction.count), " > 0 ? ", subscript(instruction), " : ",
                  expressions_.constant(type, instruction.number, instruction.integer));
  }
  const std::string memory = prelude_.memory_vector(dtype, type.lanes);
  const bool same = prelude_.element_vector(dtype, type.lanes) == prelude_.type(type);
  std::string raw;
  if (!instruction.count) {
    raw = concat("*(const ", memory, "*)(", address(instruction), ")");
    return same ? raw : concat("__builtin_convertvector(", raw, ", ", prelude_.type(type), ")");
  }
  // Elements narrower than the register can't hold every fill: those lanes are set after widening.
  const std::string fill = expressions_.constant(type, instruction.number, instruction.integer);
  raw = concat("__builtin_masked_load(", first_lanes(instruction, dtype), ", ", address(instruction), ", ",
               same ? fill : concat("(", prelude_.element_vector(dtype, type.lanes), ")(0)"), ")");
  if (same) return raw;
  raw = concat("__builtin_convertvector(", raw, ", ", prelude_.type(type), ")");
  if (instruction.integer == 0) return raw;
  return concat(prelude_.lane_numbers(type), " < (", prelude_.type(type), ")(", prelude_.type({type.scalar, 1}), ")(",
                indices_.print(*instruction.count), ") ? ", raw, " : ", fill);
}

void KernelPrinter::store(const Instruction& instruction) {
  const DType dtype = kernel_.buffers[instruction.buffer].dtype;
  const Type type = kernel_.instructions[instruction.operands[0]].type;
  std::string value = expressions_.value(instruction.operands[0]);
  if (type.lanes == 1) {
    const std::string guard = instruction.count ? concat("if (", indices_.print(*instruction.count), " > 0) ") : "";
    line(concat(guard, subscript(instruction), " = (", CPrelude::element(dtype), ")", value, ";"));
    return;
  }
  const std::string vector = prelude_.element_vector(dtype, type.lanes);
  if (vector != prelude_.type(type)) value = concat("__builtin_convertvector(", value, ", ", vector, ")");
  if (instruction.count)
    line(concat("__builtin_masked_store(", first_lanes(instruction, dtype), ", ", value, ", ", address(instruction),
                ");"));
  else
    line(concat("*(", prelude_.memory_vector(dtype, type.lanes), "*)(", address(instruction), ") = ", value, ";"));
}

void KernelPrinter::loop(const Instruction& instruction) {
  const std::string i = concat("i", instruction.loop);
  const std::string step =
      instruction.step == 1 ? concat(i, "++") : concat(i, " += ", integer_literal(instruction.step));
  line(concat("for (long ", i, " = ", indices_.print(instruction.index), "; ", i, " < ",
              indices_.print(instruction.end, true), "; ", step, ") {"));
  block(instruction.body);
  line("}");
}

void KernelPrinter::statement(ValueId id) {
  const Instruction& instruction = kernel_.instructions[id];
  check(instruction);
  const auto declare = [&](const std::string& expression) {
    if (registers_.targets[id] != kNoValue) return line(concat("r", registers_.targets[id], " = ", expression, ";"));
    line(concat("const ", prelude_.type(instruction.type), " v", id, " = ", expression, ";"));
  };
  switch (instruction.opcode) {
    case Opcode::kIndex:
      return declare(concat("(", prelude_.type(instruction.type), ")", indices_.print(instruction.index, true)));
    case Opcode::kLoad:
      return declare(load(instruction));
    case Opcode::kStore:
      return store(instruction);
    case Opcode::kPrefetch:
      // To be read; 3 stands for the first level of the caches, 2 for the second.
      return line(concat("__builtin_prefetch(", address(instruction), ", 0, ", 4 - instruction.integer, ");"));
    case Opcode::kVariable:
      return line(
          concat(prelude_.type(instruction.type), " r", id, " = ", expressions_.value(instruction.operands[0]), ";"));
    case Opcode::kGet:
      if (registers_.reads[id]) return;
      return declare(concat("r", instruction.operands[0]));
    case Opcode::kSet:
      if (registers_.targets[instruction.operands[1]] != kNoValue) return;
      return line(concat("r", instruction.operands[0], " = ", expressions_.value(instruction.operands[1]), ";"));
    case Opcode::kLoop:
      return loop(instruction);
    case Opcode::kIf:
      line(concat("if (", expressions_.value(instruction.operands[0]), ") {"));
      block(instruction.body);
      if (instruction.otherwise != 0) {
        line("} else {");
        block(instruction.otherwise);
      }
      return line("}");
    case Opcode::kInsert:
      if (inserts_by_statements(instruction)) {
        line(
            concat(prelude_.type(instruction.type), " v", id, " = ", expressions_.value(instruction.operands[0]), ";"));
        return line(
            concat("v", id, "[", instruction.integer, "] = ", expressions_.value(instruction.operands[1]), ";"));
      }
      return declare(expressions_.print(instruction));
    default:
      return declare(expressions_.print(instruction));
  }
}

void KernelPrinter::body() {
  depth_ = 1;
  for (size_t i = 0; i < kernel_.buffers.size(); i++)
    if (kernel_.buffers[i].access == Access::kLocal)
      line(concat("__attribute__((aligned(64))) ", CPrelude::element(kernel_.buffers[i].dtype), " b", i, "[",
                  kernel_.buffers[i].elements.constant(), "];"));
  if (kernel_.range.is(1)) {
    line(concat("{ const long i", kernel_.range_loop, " = 0;"));
  } else {
    const std::string i = concat("i", kernel_.range_loop);
    line(concat("for (long ", i, " = begin; ", i, " < end; ", i, "++) {"));
  }
  block(0);
  line("}");
}

std::string KernelPrinter::print(std::string& symbol) {
  body();
  std::string parameters, arguments;
  for (size_t i = 0; i < kernel_.buffers.size(); i++) {
    const BufferParameter& buffer = kernel_.buffers[i];
    if (buffer.access == Access::kLocal) continue;
    parameters += concat(buffer.access == Access::kRead ? "const " : "", CPrelude::element(buffer.dtype), "* restrict ",
                         buffer.aligned ? "__attribute__((align_value(64))) b" : "b", i, ", ");
    arguments += concat("buffers[", i, "], ");
  }
  for (size_t i = 0; i < kernel_.variables.size(); i++) {
    parameters += concat("long n", i, ", ");
    arguments += concat("variables[", i, "], ");
  }
  Sha256 hash;
  hash.field(parameters);
  hash.field(out_);
  symbol = concat("tandem_", symbol_part(kernel_.name), "_", hash.finish_text().substr(0, 16));

  std::string text = concat("\n// ", comment_text(kernel_.name), ", range ", comment_text(kernel_.range.text()), "\n");
  for (size_t i = 0; i < kernel_.buffers.size(); i++) {
    const BufferParameter& buffer = kernel_.buffers[i];
    text += concat("//   b", i, ": ", name_of(buffer.dtype), ", ", name_of_access(buffer.access), ", ",
                   comment_text(buffer.elements.text()), " elements\n");
  }
  for (size_t i = 0; i < kernel_.variables.size(); i++)
    text += concat("//   n", i, ": ", comment_text(kernel_.variables[i].text()), "\n");
  // A call of its own: that buffers don't overlap is known of parameters only, and carrying it over when the body is
  // inlined takes the compiler longer than anything else.
  const bool dot = uses(kernel_, Opcode::kDotBFloat16);
  text += concat("static __attribute__((noinline", dot ? concat(", ", CPrelude::kDotTarget) : "", ")) void ", symbol,
                 "_body(", parameters, "long begin, long end) {\n", out_, "}\n");
  text += concat("void ", symbol, "(void* const* buffers, const long* variables, long begin, long end) {\n  ", symbol,
                 "_body(", arguments, "begin, end);\n}\n");
  return text;
}

}  // namespace

CUnit print_c(const std::vector<const Kernel*>& kernels, const Capabilities& capabilities) {
  CUnit unit;
  CPrelude prelude;
  std::string functions;
  std::unordered_set<std::string> printed;
  for (const Kernel* kernel : kernels) {
    std::string symbol;
    std::string text = KernelPrinter(prelude, *kernel, capabilities).print(symbol);
    if (printed.insert(symbol).second) functions += text;
    unit.symbols.push_back(std::move(symbol));
  }
  unit.source = prelude.text() + functions;
  return unit;
}

}  // namespace tandem
