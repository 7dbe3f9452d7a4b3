// Reads the text form of kernels. Values may have any numbers in the text; they are numbered again in its order.
#include <cerrno>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/index/index_text.h"
#include "core/kernel/type_rules.h"

namespace tandem {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool starts_with(const std::string& text, std::string_view start) { return text.compare(0, start.size(), start) == 0; }

/// The first occurrence that isn't inside a backquoted variable name.
size_t find_outside_names(const std::string& text, std::string_view wanted, size_t from = 0) {
  bool inside = false;
  for (size_t i = from; i < text.size(); i++) {
    if (!inside && text.compare(i, wanted.size(), wanted) == 0) return i;
    if (text[i] == '`') inside = !inside;
  }
  return std::string::npos;
}

/// One line, taken apart from left to right.
class Line {
 public:
  Line(std::string text, int number) : text_(std::move(text)), number_(number) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw TensorError(concat("kernel text, line ", number_, " '", text_, "': ", what), ErrorCode::kInvalidFormat);
  }

  bool at_end() {
    skip_space();
    return place_ == text_.size();
  }
  bool accept(std::string_view wanted) {
    skip_space();
    if (text_.compare(place_, wanted.size(), wanted) != 0) return false;
    place_ += wanted.size();
    return true;
  }
  void expect(std::string_view wanted) {
    if (!accept(wanted)) fail(concat("'", wanted, "' expected at character ", place_));
  }
  void expect_end() {
    if (!at_end()) fail(concat("unexpected text at character ", place_));
  }
  /// Letters up to the next space or bracket; a backquoted name whole.
  std::string word() {
    skip_space();
    size_t end = place_;
    if (end < text_.size() && text_[end] == '`') {
      end = text_.find('`', end + 1);
      end = end == std::string::npos ? text_.size() : end + 1;
    } else {
      while (end < text_.size() && std::string_view(" []()\t,").find(text_[end]) == std::string_view::npos) end++;
    }
    return take(end);
  }
  /// Everything up to `end`, which is taken too; an empty `end` means the end of the line.
  std::string until(std::string_view end) {
    const size_t found = end.empty() ? text_.size() : find_outside_names(text_, end, place_);
    if (found == std::string::npos) fail(concat("'", end, "' expected"));
    std::string result = trimmed(take(found));
    place_ += end.size();
    return result;
  }
  /// Everything up to the bracket that closes the one just taken.
  std::string bracketed(char open, char close) {
    int depth = 1;
    size_t end = place_;
    for (bool inside = false; end < text_.size(); end++) {
      if (text_[end] == '`') inside = !inside;
      if (inside) continue;
      if (text_[end] == open) depth++;
      if (text_[end] == close && --depth == 0) break;
    }
    if (end == text_.size()) fail(concat("'", close, "' expected"));
    std::string result = take(end);
    place_++;
    return result;
  }
  int64_t integer() { return parse_integer(word()); }
  int64_t parse_integer(const std::string& digits) const {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(digits.c_str(), &end, 10);
    if (digits.empty() || *end != '\0' || errno != 0) fail(concat("'", digits, "' isn't an integer of 64 bits"));
    return value;
  }
  uint32_t numbered(char letter) {
    const std::string name = word();
    if (name.size() < 2 || name[0] != letter) fail(concat("'", name, "' should be ", letter, " and a number"));
    const int64_t number = parse_integer(name.substr(1));
    if (number < 0 || number > kLargestNumber) fail(concat("the number of '", name, "' is out of range"));
    return static_cast<uint32_t>(number);
  }
  /// Takes ` where ...` off the end of the line and returns it.
  std::string take_bounds() {
    const size_t found = find_outside_names(text_, " where v");
    if (found == std::string::npos) return "";
    std::string bounds = text_.substr(found + 7);
    text_.resize(found);
    return bounds;
  }
  void append(std::string_view more) { text_ += more; }
  int number() const { return number_; }
  const std::string& whole() const { return text_; }

 private:
  static constexpr int64_t kLargestNumber = 1 << 24;

  void skip_space() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t')) place_++;
  }
  std::string take(size_t end) {
    std::string result = text_.substr(place_, end - place_);
    place_ = end;
    return result;
  }

  std::string text_;
  int number_;
  size_t place_ = 0;
};

class Parser {
 public:
  explicit Parser(const std::string& text) {
    size_t begin = 0;
    for (int number = 1; begin < text.size(); number++) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = trimmed(text.substr(begin, end - begin));
      if (!line.empty() && !starts_with(line, "//")) lines_.emplace_back(line, number);
      begin = end + 1;
    }
  }

  Kernel run() {
    header();
    while (peek("flops") || peek("variable") || peek("buffer") || peek("range")) declaration();
    block(0);
    if (next_ != lines_.size()) lines_[next_].fail("text after the kernel's end");
    return std::move(kernel_);
  }

 private:
  bool peek(const char* start) const { return next_ < lines_.size() && starts_with(lines_[next_].whole(), start); }
  Line& take() {
    if (next_ == lines_.size()) throw TensorError("kernel text ends too early", ErrorCode::kInvalidFormat);
    return lines_[next_++];
  }

  void header() {
    Line& line = take();
    line.expect("kernel");
    if (line.accept("\"")) {
      const std::string whole = line.until("");
      const size_t end = whole.rfind('"');
      if (end == std::string::npos || trimmed(whole.substr(end + 1)) != "{") line.fail("'\" {' expected at the end");
      for (size_t i = 0; i < end; i++) kernel_.name += whole[i] == '\\' && i + 1 < end ? whole[++i] : whole[i];
    } else {
      line.expect("{");
      line.expect_end();
    }
    kernel_.range = 1;
    kernel_.loop_count = 1;
  }

  void declaration() {
    Line& line = take();
    const std::string kind = line.word();
    if (kind == "flops") {
      kernel_.flops = line.integer();
    } else if (kind == "variable") {
      variable(line);
    } else if (kind == "buffer") {
      buffer(line);
    } else {
      kernel_.range_loop = line.numbered('i');
      kernel_.loop_count = kernel_.range_loop + 1;
      line.expect("in 0 ..");
      kernel_.range = index(line, line.until(""));
      counters_.insert_or_assign(kernel_.range_loop, Index::loop(kernel_.range_loop, kernel_.range));
    }
    line.expect_end();
  }

  void variable(Line& line) {
    const std::string written = line.word();
    const bool backquoted = written.size() > 1 && written[0] == '`';
    const std::string name = backquoted ? written.substr(1, written.size() - 2) : written;
    line.expect("in");
    const int64_t min = line.integer();
    line.expect("..");
    const int64_t max = line.integer();
    const int64_t multiple = line.accept("multiple") ? line.integer() : 1;
    if (name.empty() || min > max || multiple < 1) line.fail("a variable needs a name, min <= max and multiple >= 1");
    kernel_.variables.push_back(Index::variable(name, min, max, multiple));
    variables_.insert_or_assign(written, kernel_.variables.back());
  }

  void buffer(Line& line) {
    if (line.numbered('b') != kernel_.buffers.size()) line.fail("buffers are numbered from 0, in order");
    const std::string access = line.word();
    BufferParameter parameter;
    if (access == "read")
      parameter.access = Access::kRead;
    else if (access == "write")
      parameter.access = Access::kWrite;
    else if (access == "read_write")
      parameter.access = Access::kReadWrite;
    else if (access == "local")
      parameter.access = Access::kLocal;
    else
      line.fail(concat("access '", access, "' should be read, write, read_write or local"));
    const std::string dtype = line.word();
    if (!dtype_named(dtype)) line.fail(concat("there is no dtype '", dtype, "'"));
    parameter.dtype = *dtype_named(dtype);
    line.expect("[");
    parameter.elements = index(line, line.bracketed('[', ']'));
    parameter.aligned = !line.accept("unaligned");
    kernel_.buffers.push_back(std::move(parameter));
  }

  /// Reads up to the closing brace, which it takes; returns that line.
  Line& block(BlockId number) {
    while (true) {
      Line& line = take();
      if (line.accept("}")) return line;
      const Instruction made = instruction(line);
      line.expect_end();
      const ValueId value = static_cast<ValueId>(kernel_.instructions.size());
      kernel_.instructions.push_back(made);
      kernel_.blocks[number].push_back(value);
      bounds_.clear();
      if (made.opcode == Opcode::kLoop || made.opcode == Opcode::kIf) control(value, made);
    }
  }

  void control(ValueId value, const Instruction& made) {
    const BlockId body = new_block();
    kernel_.instructions[value].body = body;
    if (++depth_ > kDeepest) lines_[next_ - 1].fail("blocks are nested too deeply");
    if (made.opcode == Opcode::kLoop) counters_.insert_or_assign(made.loop, loop_counter(made));
    Line& end = block(body);
    if (made.opcode == Opcode::kIf && end.accept("else {")) {
      const BlockId otherwise = new_block();
      kernel_.instructions[value].otherwise = otherwise;
      block(otherwise).expect_end();
    }
    end.expect_end();
    depth_--;
  }

  BlockId new_block() {
    kernel_.blocks.emplace_back();
    return static_cast<BlockId>(kernel_.blocks.size() - 1);
  }

  Instruction instruction(Line& line) {
    read_bounds(line, line.take_bounds());
    if (line.accept("for ")) return loop(line);
    if (line.accept("if ")) {
      Instruction branch = new_instruction(Opcode::kIf, Type{}, operand(line));
      branch.type = type_of(branch.operands[0]);
      line.expect("{");
      return branch;
    }
    if (line.accept("set ")) {
      const ValueId variable = operand(line);
      return new_instruction(Opcode::kSet, type_of(variable), variable, operand(line));
    }
    if (line.accept("store ")) {
      Instruction store = new_instruction(Opcode::kStore, type(line));
      store.operands[0] = operand(line);
      memory(line, store);
      return store;
    }
    if (line.accept("prefetch ")) {
      Instruction hint = new_instruction(Opcode::kPrefetch, type(line));
      memory(line, hint);
      line.expect("level");
      hint.integer = line.integer();
      return hint;
    }
    return computation(line);
  }

  Instruction loop(Line& line) {
    Instruction loop = new_instruction(Opcode::kLoop, Type{Scalar::kI64, 1});
    loop.loop = line.numbered('i');
    kernel_.loop_count = std::max(kernel_.loop_count, loop.loop + 1);
    line.expect("in ");
    loop.index = index(line, line.until(" .. "));
    std::string end = line.until("{");
    const size_t step = end.rfind(" step ");
    if (step != std::string::npos) {
      loop.step = line.parse_integer(trimmed(end.substr(step + 6)));
      end.resize(step);
    }
    if (loop.step < 1) line.fail("a loop's step must be positive");
    loop.end = index(line, end);
    return loop;
  }

  Instruction computation(Line& line) {
    const uint32_t name = line.numbered('v');
    line.expect("=");
    Instruction made = new_instruction(opcode(line), Type{});
    made.type = type(line);
    switch (made.opcode) {
      case Opcode::kConstant:
        constant(line, line.word(), made);
        break;
      case Opcode::kIndex:
        made.index = index(line, line.until(""));
        break;
      case Opcode::kLoad:
        memory(line, made);
        break;
      default:
        for (int i = 0; i < info(made.opcode).operands; i++) made.operands[i] = operand(line);
    }
    if (made.opcode == Opcode::kExtract || made.opcode == Opcode::kInsert) {
      line.expect("lane");
      made.integer = line.integer();
    }
    if (!values_.emplace(name, static_cast<ValueId>(kernel_.instructions.size())).second)
      line.fail(concat("v", name, " is made twice"));
    return made;
  }

  Opcode opcode(Line& line) {
    const std::string name = line.word();
    for (int i = 0; i < kOpcodeCount; i++) {
      const Opcode found = static_cast<Opcode>(i);
      if (makes_value(found) && name == name_of(found)) return found;
    }
    line.fail(concat("there is no instruction '", name, "' that makes a value"));
  }

  Type type(Line& line) {
    const std::string name = line.word();
    for (int scalar = 0; scalar < 6; scalar++)
      for (int lanes = 1; lanes <= 16; lanes *= 2) {
        const Type found{static_cast<Scalar>(scalar), static_cast<uint8_t>(lanes)};
        if (text(found) == name) return found;
      }
    line.fail(concat("there is no type '", name, "'"));
  }

  void constant(Line& line, const std::string& number, Instruction& made) {
    if (!is_float(made.type.scalar)) {
      made.integer = line.parse_integer(number);
      return;
    }
    char* end = nullptr;
    made.number = made.type.scalar == Scalar::kF32 ? static_cast<double>(std::strtof(number.c_str(), &end))
                                                   : std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0') line.fail(concat("'", number, "' isn't a number"));
  }

  void memory(Line& line, Instruction& made) {
    made.buffer = line.numbered('b');
    line.expect("[");
    made.index = index(line, line.bracketed('[', ']'));
    if (!line.accept("count(")) return;
    made.count = index(line, line.bracketed('(', ')'));
    if (made.opcode != Opcode::kLoad) return;
    line.expect("fill(");
    constant(line, line.bracketed('(', ')'), made);
  }

  ValueId operand(Line& line) {
    const uint32_t name = line.numbered('v');
    const auto found = values_.find(name);
    if (found == values_.end()) line.fail(concat("v", name, " isn't made before"));
    return found->second;
  }
  Type type_of(ValueId value) const { return kernel_.instructions[value].type; }

  void read_bounds(Line& line, const std::string& written) {
    if (written.empty()) return;
    Line bounds(written, line.number());
    do {
      const uint32_t name = bounds.numbered('v');
      bounds.expect("in");
      const int64_t min = bounds.integer();
      bounds.expect("..");
      // The opening brace of a loop stands behind its bounds.
      const int64_t max = bounds.integer();
      const auto found = values_.find(name);
      if (found == values_.end()) line.fail(concat("v", name, " isn't made before"));
      if (min > max) line.fail(concat("the bounds of v", name, " hold nothing"));
      bounds_.insert_or_assign(name, Index::value(found->second, min, max));
    } while (bounds.accept(","));
    if (bounds.accept("{")) line.append(" {");
    bounds.expect_end();
  }

  std::optional<Index> leaf(std::string_view name) const {
    const std::string key(name);
    const auto variable = variables_.find(key);
    if (variable != variables_.end()) return variable->second;
    if (key.size() < 2 || key.find_first_not_of("0123456789", 1) != std::string::npos || key.size() > 9)
      return std::nullopt;
    const auto& leaves = key[0] == 'i' ? counters_ : bounds_;
    const auto found = leaves.find(static_cast<uint32_t>(std::strtoul(key.c_str() + 1, nullptr, 10)));
    if ((key[0] != 'i' && key[0] != 'v') || found == leaves.end()) return std::nullopt;
    return found->second;
  }

  Index index(Line& line, const std::string& expression) {
    auto result = parse_index(expression, [this](std::string_view name) { return leaf(name); });
    if (!result) line.fail(result.error().message);
    return *result;
  }

  static constexpr int kDeepest = 200;

  std::vector<Line> lines_;
  size_t next_ = 0;
  int depth_ = 0;
  Kernel kernel_;
  std::map<std::string, Index> variables_;  // By name as written.
  std::map<uint32_t, Index> counters_;
  std::map<uint32_t, Index> bounds_;    // Values that the present instruction's expressions use, by written number.
  std::map<uint32_t, ValueId> values_;  // By written number.
};

}  // namespace

Kernel parse_kernel(const std::string& text) {
  try {
    return Parser(text).run();
  } catch (const InternalError& error) {
    // Index expressions refuse what no engine code makes, such as a variable whose bounds hold no multiple.
    throw TensorError(concat("kernel text: ", error.what()), ErrorCode::kInvalidFormat);
  }
}

}  // namespace tandem
