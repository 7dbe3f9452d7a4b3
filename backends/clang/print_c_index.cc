#include "backends/clang/print_c_index.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/index/open_division.h"

namespace tandem {

std::string integer_literal(int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807L - 1)";
  if (value < INT32_MIN + int64_t{1} || value > INT32_MAX) return concat(value, "L");
  return concat(value);
}

namespace {

/// May this become a variable?
bool may_have_name(const Index& index) {
  switch (index.kind()) {
    case IndexKind::kFloorDiv:
    case IndexKind::kMod:
    case IndexKind::kMin:
    case IndexKind::kMax:
      return true;
    default:
      return false;
  }
}

}  // namespace

CIndexPrinter::CIndexPrinter(CPrelude& prelude, const Kernel& kernel)
    : prelude_(prelude), variables_(kernel.variables) {
  for (const Instruction& instruction : kernel.instructions)
    for_each_index(instruction, [&](const Index& index) { count(index); });
}

void CIndexPrinter::count(const Index& index) {
  if (may_have_name(index) && uses_[index]++ > 0) return;  // What is below it is printed once.
  if (index.kind() == IndexKind::kSum)
    for (const Index::Term& term : index.terms()) count(term.factor);
  else if (index.kind() == IndexKind::kProduct || may_have_name(index))
    for (const Index& operand : index.operands()) count(operand);
}

void CIndexPrinter::close_block() {
  for (const Index& index : blocks_.back()) names_.erase(index);
  blocks_.pop_back();
}

std::vector<std::string> CIndexPrinter::take_declarations() { return std::exchange(declarations_, {}); }

std::string CIndexPrinter::leaf(const Index& index) {
  if (index.kind() == IndexKind::kLoop) return concat("i", index.id());
  if (index.kind() == IndexKind::kValue) return concat("(long)v", index.id());
  for (size_t i = 0; i < variables_.size(); i++)
    if (variables_[i].kind() == IndexKind::kVariable && variables_[i].name() == index.name()) return concat("n", i);
  throw InternalError(
      concat("variable \"", index.name(), "\" is used by a kernel but is not in its list of variables"));
}

std::string CIndexPrinter::sum(const Index& index) {
  std::string out;
  for (const Index::Term& term : index.terms()) {
    bool negative = term.coefficient < 0 && !out.empty();
    if (!out.empty()) out += negative ? " - " : " + ";
    int64_t coefficient = negative ? -term.coefficient : term.coefficient;
    if (coefficient != 1) out += integer_literal(coefficient) + " * ";
    out += print(term.factor, true);
  }
  int64_t offset = index.offset();
  if (offset > 0) out += " + " + integer_literal(offset);
  if (offset < 0) out += offset == INT64_MIN ? " + " + integer_literal(offset) : " - " + integer_literal(-offset);
  return out;
}

std::string CIndexPrinter::division(const Index& index) {
  const bool mod = index.kind() == IndexKind::kMod;
  const Index& a = index.operands()[0];
  const Index& b = index.operands()[1];
  if (a.lower() >= 0) {
    const bool is_short = a.upper() <= UINT32_MAX && b.upper() <= UINT32_MAX;
    const char* type = is_short ? "(unsigned)" : "(unsigned long)";
    return concat("(long)(", type, "(", print(a), ") ", mod ? "%" : "/", " ", type, "(", print(b), "))");
  }
  const std::string name = mod ? "td_floor_mod" : "td_floor_div";
  prelude_.function(name, mod ? "long td_floor_mod(long a, long b) { long r = a % b; return r < 0 ? r + b : r; }"
                              : "long td_floor_div(long a, long b) { return a / b - (a % b < 0); }");
  return concat(name, "(", print(a), ", ", print(b), ")");
}

std::string CIndexPrinter::extremum(const Index& index) {
  // Both operands of the builtin have one type.
  const auto wide = [&](const Index& operand) {
    return operand.is_constant() ? concat(operand.constant(), "L") : print(operand);
  };
  std::string out = wide(index.operands()[0]);
  for (size_t i = 1; i < index.operands().size(); i++)
    out = concat("__builtin_elementwise_", index.kind() == IndexKind::kMin ? "min(" : "max(", out, ", ",
                 wide(index.operands()[i]), ")");
  return out;
}

std::string CIndexPrinter::operation(const Index& index) {
  const auto known = names_.find(index);
  if (known != names_.end()) return known->second;
  const bool divides = index.kind() == IndexKind::kFloorDiv || index.kind() == IndexKind::kMod;
  std::string text = divides ? division(index) : extremum(index);
  const auto uses = uses_.find(index);
  if (uses == uses_.end() || uses->second < 2 || has_open_division(index)) return text;
  const std::string name = concat("x", next_++);
  declarations_.push_back(concat("const long ", name, " = ", text, ";"));
  names_.emplace(index, name);
  blocks_.back().push_back(index);
  return name;
}

std::string CIndexPrinter::print(const Index& index, bool inside) {
  switch (index.kind()) {
    case IndexKind::kConstant:
      return index.constant() < 0 && inside ? "(" + integer_literal(index.constant()) + ")"
                                            : integer_literal(index.constant());
    case IndexKind::kVariable:
    case IndexKind::kLoop:
    case IndexKind::kValue:
      return leaf(index);
    case IndexKind::kLane:
      throw InternalError("a lane number is left in a lowered kernel");
    case IndexKind::kSum:
      return inside ? "(" + sum(index) + ")" : sum(index);
    case IndexKind::kProduct: {
      std::string out;
      for (const Index& factor : index.operands()) out += (out.empty() ? "" : " * ") + print(factor, true);
      return out;
    }
    case IndexKind::kFloorDiv:
    case IndexKind::kMod:
    case IndexKind::kMin:
    case IndexKind::kMax:
      return operation(index);
  }
  throw InternalError("unknown kind of index expression");
}

}  // namespace tandem
