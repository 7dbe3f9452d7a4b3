#include "backends/clang/print_c_index.h"

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

std::string integer_literal(int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807L - 1)";
  if (value < INT32_MIN + int64_t{1} || value > INT32_MAX) return concat(value, "L");
  return concat(value);
}

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
  bool mod = index.kind() == IndexKind::kMod;
  const Index& a = index.operands()[0];
  const Index& b = index.operands()[1];
  std::string name;
  if (a.lower() >= 0 && a.upper() <= UINT32_MAX && b.upper() <= UINT32_MAX) {
    name = mod ? "td_mod32" : "td_div32";
    prelude_.function(
        name, concat("long ", name, "(long a, long b) { return (unsigned)a ", mod ? "%" : "/", " (unsigned)b; }"));
  } else if (a.lower() >= 0) {
    name = mod ? "td_mod" : "td_div";
    prelude_.function(name, concat("long ", name, "(long a, long b) { return (unsigned long)a ", mod ? "%" : "/",
                                   " (unsigned long)b; }"));
  } else {
    name = mod ? "td_floor_mod" : "td_floor_div";
    prelude_.function(name, mod ? "long td_floor_mod(long a, long b) { long r = a % b; return r < 0 ? r + b : r; }"
                                : "long td_floor_div(long a, long b) { return a / b - (a % b < 0); }");
  }
  return concat(name, "(", print(a), ", ", print(b), ")");
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
      return division(index);
    case IndexKind::kMin:
    case IndexKind::kMax: {
      bool least = index.kind() == IndexKind::kMin;
      std::string name = least ? "td_min" : "td_max";
      prelude_.function(name,
                        concat("long ", name, "(long a, long b) { return a ", least ? "<" : ">", " b ? a : b; }"));
      std::string out = print(index.operands()[0]);
      for (size_t i = 1; i < index.operands().size(); i++)
        out = concat(name, "(", out, ", ", print(index.operands()[i]), ")");
      return out;
    }
  }
  throw InternalError("unknown kind of index expression");
}

}  // namespace tandem
