#include "backends/clang/print_c_expression.h"

#include <algorithm>
#include <cmath>

#include "backends/clang/print_c_index.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

namespace {

std::string float_literal(Scalar scalar, double number) {
  bool single = scalar == Scalar::kF32;
  if (std::isnan(number)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  if (std::isinf(number)) {
    std::string name = single ? "__builtin_inff()" : "__builtin_inf()";
    return number < 0 ? "-" + name : name;
  }
  std::string out = single ? number_text(static_cast<float>(number)) : number_text(number);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return single ? out + "f" : out;
}

}  // namespace

std::string CExpressionPrinter::value(ValueId id) const {
  return registers_.reads[id] ? concat("r", kernel_.instructions[id].operands[0]) : concat("v", id);
}

const Instruction* CExpressionPrinter::constant_operand(ValueId id) const {
  const Instruction* operand = &kernel_.instructions[id];
  if (operand->opcode == Opcode::kSplat) operand = &kernel_.instructions[operand->operands[0]];
  return operand->opcode == Opcode::kConstant ? operand : nullptr;
}

std::string CExpressionPrinter::function_name(const char* verb, Type type) const {
  return concat("td_", verb, "_", text(type));
}

std::string CExpressionPrinter::vector_cast(Type to, const std::string& expression) {
  return to.lanes == 1 ? concat("(", prelude_.type(to), ")", expression)
                       : concat("__builtin_convertvector(", expression, ", ", prelude_.type(to), ")");
}

std::string CExpressionPrinter::constant(Type type, double number, int64_t integer) {
  std::string literal;
  if (is_float(type.scalar)) {
    literal = float_literal(type.scalar, number);
  } else if (is_mask(type.scalar)) {
    literal = integer == 0 ? "0" : type.lanes == 1 ? "1" : "-1";
  } else {
    literal = integer_literal(size_of(type.scalar) == 4 ? static_cast<int32_t>(integer) : integer);
  }
  if (type.lanes == 1) return literal;
  return concat("(", prelude_.type(type), ")(", literal, ")");
}

std::string CExpressionPrinter::arithmetic(const Instruction& instruction, const char* op) {
  return concat(value(instruction.operands[0]), " ", op, " ", value(instruction.operands[1]));
}

std::string CExpressionPrinter::unary_builtin(const Instruction& instruction, const char* name) {
  return concat("__builtin_elementwise_", name, "(", value(instruction.operands[0]), ")");
}

// Masks of one lane are 0 or 1, lanes of vector masks 0 or -1: moving between the two needs a sign or an `& 1`.
std::string CExpressionPrinter::lanes(const Instruction& instruction) {
  std::string a = value(instruction.operands[0]);
  const bool mask = is_mask(instruction.type.scalar);
  const int lanes_before = type_of(instruction.operands[0]).lanes;
  const std::string and_one = mask && instruction.type.lanes == 1 && lanes_before > 1 ? " & 1" : "";
  switch (instruction.opcode) {
    case Opcode::kSplat:
      if (instruction.type.lanes == 1) return a;
      return concat("(", prelude_.type(instruction.type), ")(", mask ? "-" : "", a, ")");
    case Opcode::kExtract:
      return lanes_before == 1 ? a : concat(a, "[", instruction.integer, "]", and_one);
    case Opcode::kLow:
      return concat(a, ".lo", and_one);
    case Opcode::kHigh:
      return concat(a, ".hi", and_one);
    default:
      break;
  }
  // insert
  std::string b = value(instruction.operands[1]);
  if (instruction.type.lanes == 1) return b;
  const std::string name = function_name(concat("insert", instruction.integer).c_str(), instruction.type);
  const std::string vector = prelude_.type(instruction.type);
  prelude_.function(name, concat(vector, " ", name, "(", vector, " a, ", prelude_.type({instruction.type.scalar, 1}),
                                 " b) { a[", instruction.integer, "] = ", mask ? "-b" : "b", "; return a; }"));
  return concat(name, "(", a, ", ", b, ")");
}

std::string CExpressionPrinter::divide(const Instruction& instruction) {
  if (is_float(instruction.type.scalar)) return arithmetic(instruction, "/");
  const bool is_unsigned = instruction.opcode == Opcode::kDivU || instruction.opcode == Opcode::kRemU;
  const bool rest = instruction.opcode == Opcode::kRem || instruction.opcode == Opcode::kRemU;
  const std::string t = prelude_.type(instruction.type);
  const std::string u = is_unsigned ? prelude_.unsigned_type(instruction.type) : t;
  const std::string op = rest ? "%" : "/";
  const std::string name =
      function_name(rest ? (is_unsigned ? "rem_u" : "rem") : (is_unsigned ? "div_u" : "div"), instruction.type);
  // A divisor of 0 (and of -1, where the smallest number would overflow) is replaced by 1 before the machine divides.
  const std::string zero = rest ? "a" : "0";
  const std::string minus = rest ? "0" : "-a";
  std::string bad = is_unsigned ? "b == 0" : "(b == 0) | (b == -1)";
  std::string body = concat("const ", u, " q = (", u, ")a ", op, " (", u, ")(", bad, " ? (", t, ")1 : b);\n  ");
  if (!is_unsigned)
    body += concat("a = b == 0 ? (", t, ")", zero, " : b == -1 ? (", t, ")", minus, " : q;\n  return a;");
  if (is_unsigned) body += concat("return b == 0 ? (", t, ")", zero, " : (", t, ")q;");
  prelude_.function(name, concat(t, " ", name, "(", t, " a, ", t, " b) {\n  ", body, "\n}"));
  return concat(name, "(", value(instruction.operands[0]), ", ", value(instruction.operands[1]), ")");
}

std::string CExpressionPrinter::least(const Instruction& instruction) {
  const std::string a = value(instruction.operands[0]), b = value(instruction.operands[1]);
  const bool is_unsigned = instruction.opcode == Opcode::kMinU || instruction.opcode == Opcode::kMaxU;
  const bool minimum = instruction.opcode == Opcode::kMin || instruction.opcode == Opcode::kMinU;
  const std::string builtin =
      concat("__builtin_elementwise_", minimum ? "min" : "max", is_float(instruction.type.scalar) ? "imum(" : "(");
  if (!is_unsigned) return concat(builtin, a, ", ", b, ")");
  const std::string u = prelude_.unsigned_type(instruction.type);
  return concat("(", prelude_.type(instruction.type), ")", builtin, "(", u, ")", a, ", (", u, ")", b, ")");
}

std::string CExpressionPrinter::shift(const Instruction& instruction) {
  const std::string a = value(instruction.operands[0]), b = value(instruction.operands[1]);
  const int bits = 8 * size_of(instruction.type.scalar);
  const std::string t = prelude_.type(instruction.type), u = prelude_.unsigned_type(instruction.type);
  const bool left = instruction.opcode == Opcode::kShl, sign = instruction.opcode == Opcode::kShr;
  if (const Instruction* amount = constant_operand(instruction.operands[1])) {
    const bool outside = amount->integer < 0 || amount->integer >= bits;
    if (outside && !sign) return concat("(", t, ")(0)");
    const int64_t by = outside ? bits - 1 : amount->integer;
    if (left || sign) return concat(a, left ? " << " : " >> ", by);
    return concat("(", t, ")((", u, ")", a, " >> ", by, ")");
  }
  const std::string name = function_name(left ? "shl" : sign ? "shr" : "shr_u", instruction.type);
  const std::string inside = concat("(", u, ")b < (", u, ")", bits);
  std::string body;
  if (sign) {
    body = concat("return a >> (", inside, " ? b : (", t, ")", bits - 1, ");");
  } else {
    const std::string shifted =
        left ? concat("(a << (b & ", bits - 1, "))") : concat("(", t, ")((", u, ")a >> ((", u, ")b & ", bits - 1, "))");
    body = concat("return ", inside, " ? ", shifted, " : (", t, ")0;");
  }
  prelude_.function(name, concat(t, " ", name, "(", t, " a, ", t, " b) { ", body, " }"));
  return concat(name, "(", a, ", ", b, ")");
}

std::string CExpressionPrinter::compare(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kEqual:
    case Opcode::kNotEqual: {
      const char* op = instruction.opcode == Opcode::kEqual ? "==" : "!=";
      return arithmetic(instruction, op);
    }
    case Opcode::kLess:
      return arithmetic(instruction, "<");
    case Opcode::kLessEqual:
      return arithmetic(instruction, "<=");
    default:
      break;
  }
  const std::string u = prelude_.unsigned_type(type_of(instruction.operands[0]));
  return concat("(", u, ")", value(instruction.operands[0]), instruction.opcode == Opcode::kLessU ? " < (" : " <= (", u,
                ")", value(instruction.operands[1]));
}

std::string CExpressionPrinter::mask_bits(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kAnd:
      return arithmetic(instruction, "&");
    case Opcode::kOr:
      return arithmetic(instruction, "|");
    case Opcode::kXor:
      return arithmetic(instruction, "^");
    default:
      break;
  }
  const bool one_mask = is_mask(instruction.type.scalar) && instruction.type.lanes == 1;
  return concat(one_mask ? "!" : "~", value(instruction.operands[0]));
}

std::string CExpressionPrinter::to_integer(const Instruction& instruction) {
  const bool is_unsigned = instruction.opcode == Opcode::kToIntU;
  const Type from = type_of(instruction.operands[0]);
  const Type to = instruction.type;
  const int bits = 8 * size_of(to.scalar);
  const std::string f = prelude_.type(from), t = prelude_.type(to);
  const std::string u = is_unsigned ? prelude_.unsigned_type(to) : t;
  const bool single = from.scalar == Scalar::kF32;
  // 2^31, 2^32, 2^63 and 2^64 are exact in both float types.
  const std::string high = float_literal(from.scalar, std::ldexp(1.0, is_unsigned ? bits : bits - 1));
  const std::string low = float_literal(from.scalar, is_unsigned ? 0.0 : -std::ldexp(1.0, bits - 1));
  const std::string largest = is_unsigned ? "-1" : integer_literal(bits == 32 ? INT32_MAX : INT64_MAX);
  const std::string smallest = is_unsigned ? "0" : integer_literal(bits == 32 ? INT32_MIN : INT64_MIN);
  const std::string name = concat(function_name(is_unsigned ? "to_int_u" : "to_int", to), single ? "_f32" : "_f64");
  // The comparisons are as wide as the float, the result may not be: masks are converted where lanes are vectors.
  auto wide_mask = [&](const std::string& condition) {
    if (to.lanes == 1 || size_of(from.scalar) == size_of(to.scalar)) return concat("(", condition, ")");
    return concat("__builtin_convertvector(", condition, ", ", prelude_.signed_type(to), ")");
  };
  const std::string converted =
      to.lanes == 1 ? concat("(", t, ")(", u, ")inside") : concat("(", t, ")__builtin_convertvector(inside, ", u, ")");
  prelude_.function(
      name, concat(t, " ", name, "(", f, " a) {\n  const ", f, " inside = (a >= (", f, ")", low, ") & (a < (", f, ")",
                   high, ") ? a : (", f, ")0;\n  const ", t, " b = ", converted, ";\n  const ", t,
                   " c = ", wide_mask(concat("a >= (", f, ")", high)), " ? (", t, ")(", largest, ") : b;\n  return ",
                   wide_mask(concat("a < (", f, ")", low)), " ? (", t, ")(", smallest, ") : c;\n}"));
  return concat(name, "(", value(instruction.operands[0]), ")");
}

std::string CExpressionPrinter::half(const Instruction& instruction) {
  const std::string a = value(instruction.operands[0]);
  const int n = instruction.type.lanes;
  const std::string h = prelude_.half_type(n), bits = prelude_.half_bits_type(n);
  const std::string t = prelude_.type(instruction.type);
  const Type from = type_of(instruction.operands[0]);
  if (n == 1) {
    const std::string pun = "union { _Float16 number; unsigned short bits; } both;\n  ";
    if (instruction.opcode == Opcode::kHalfToFloat)
      prelude_.function("td_half_to_float", concat("float td_half_to_float(int a) {\n  ", pun,
                                                   "both.bits = (unsigned short)a;\n  return (float)both.number;\n}"));
    else
      prelude_.function("td_float_to_half", concat("int td_float_to_half(float a) {\n  ", pun,
                                                   "both.number = (_Float16)a;\n  return both.bits;\n}"));
    return concat(instruction.opcode == Opcode::kHalfToFloat ? "td_half_to_float(" : "td_float_to_half(", a, ")");
  }
  (void)from;
  if (instruction.opcode == Opcode::kHalfToFloat)
    return concat("__builtin_convertvector((", h, ")__builtin_convertvector(", a, ", ", bits, "), ", t, ")");
  return concat("__builtin_convertvector((", bits, ")__builtin_convertvector(", a, ", ", h, "), ", t, ")");
}

std::string CExpressionPrinter::dot_bfloat16(const Instruction& instruction) {
  const int lanes = instruction.type.lanes;
  // The smallest form has four lanes.
  const Type wide{Scalar::kF32, static_cast<uint8_t>(std::max(lanes, 4))};
  const std::string t = prelude_.type(instruction.type), i = prelude_.type({Scalar::kI32, instruction.type.lanes});
  const std::string f = prelude_.type(wide), w = prelude_.type({Scalar::kI32, wide.lanes});
  const std::string pairs = prelude_.bfloat16_type(2 * wide.lanes);
  const auto widened = [&](const char* type, const char* x) {
    return lanes == 1 ? concat("(", type, ")(", x, ")") : lanes == 2 ? concat(x, ".xyxy") : std::string(x);
  };
  const std::string name = function_name("dot_bf16", instruction.type);
  prelude_.function(name, concat("__attribute__((", CPrelude::kDotTarget, ")) ", t, " ", name, "(", i, " a, ", i,
                                 " b, ", t, " c) {\n  const ", f, " sum = __builtin_ia32_dpbf16ps_", 32 * wide.lanes,
                                 "(", widened(f.c_str(), "c"), ", (", pairs, ")", widened(w.c_str(), "a"), ", (", pairs,
                                 ")", widened(w.c_str(), "b"), ");\n  return sum",
                                 lanes == 1   ? "[0]"
                                 : lanes == 2 ? ".xy"
                                              : "",
                                 ";\n}"));
  return concat(name, "(", value(instruction.operands[0]), ", ", value(instruction.operands[1]), ", ",
                value(instruction.operands[2]), ")");
}

std::string CExpressionPrinter::convert(const Instruction& instruction) {
  const std::string a = value(instruction.operands[0]);
  const Type from = type_of(instruction.operands[0]);
  const Type to = instruction.type;
  switch (instruction.opcode) {
    case Opcode::kConvertMask:
      return to.lanes == 1 ? a : vector_cast(to, a);
    case Opcode::kToFloat:
    case Opcode::kToIntExact:
    case Opcode::kConvertFloat:
    case Opcode::kExtend:
    case Opcode::kWrap:
      return vector_cast(to, a);
    case Opcode::kToFloatU:
    case Opcode::kExtendU:
      return vector_cast(to, concat("(", prelude_.unsigned_type(from), ")", a));
    case Opcode::kBitcast:
      break;
    default:
      throw InternalError(concat("no C form of instruction ", name_of(instruction.opcode)));
  }
  const std::string t = prelude_.type(to), f = prelude_.type(from);
  if (to.lanes > 1) return concat("(", t, ")", a);
  const std::string name = function_name("bits", to);
  prelude_.function(name, concat(t, " ", name, "(", f, " a) {\n  union { ", f, " from; ", t,
                                 " to; } both;\n  both.from = a;\n  return both.to;\n}"));
  return concat(name, "(", a, ")");
}

std::string CExpressionPrinter::print(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  switch (instruction.opcode) {
    case Opcode::kConstant:
      return constant(instruction.type, instruction.number, instruction.integer);
    case Opcode::kLanes:
      return prelude_.lane_numbers(instruction.type);
    case Opcode::kSplat:
    case Opcode::kExtract:
    case Opcode::kInsert:
    case Opcode::kLow:
    case Opcode::kHigh:
      return lanes(instruction);
    case Opcode::kAdd:
      return arithmetic(instruction, "+");
    case Opcode::kSub:
      return arithmetic(instruction, "-");
    case Opcode::kMul:
      return arithmetic(instruction, "*");
    case Opcode::kDiv:
    case Opcode::kRem:
    case Opcode::kDivU:
    case Opcode::kRemU:
      return divide(instruction);
    case Opcode::kFma:
      return concat("__builtin_elementwise_fma(", value(operands[0]), ", ", value(operands[1]), ", ",
                    value(operands[2]), ")");
    case Opcode::kDotBFloat16:
      return dot_bfloat16(instruction);
    case Opcode::kNeg:
      return "-" + value(operands[0]);
    case Opcode::kAbs:
      return unary_builtin(instruction, "abs");
    case Opcode::kSqrt:
      return unary_builtin(instruction, "sqrt");
    case Opcode::kFloor:
      return unary_builtin(instruction, "floor");
    case Opcode::kCeil:
      return unary_builtin(instruction, "ceil");
    case Opcode::kTrunc:
      return unary_builtin(instruction, "trunc");
    case Opcode::kNearest:
      return unary_builtin(instruction, "roundeven");
    case Opcode::kMin:
    case Opcode::kMax:
    case Opcode::kMinU:
    case Opcode::kMaxU:
      return least(instruction);
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
      return mask_bits(instruction);
    case Opcode::kShl:
    case Opcode::kShr:
    case Opcode::kShrU:
      return shift(instruction);
    case Opcode::kEqual:
    case Opcode::kNotEqual:
    case Opcode::kLess:
    case Opcode::kLessEqual:
    case Opcode::kLessU:
    case Opcode::kLessEqualU:
      return compare(instruction);
    case Opcode::kSelect:
      return concat(value(operands[0]), " ? ", value(operands[1]), " : ", value(operands[2]));
    case Opcode::kToInt:
    case Opcode::kToIntU:
      return to_integer(instruction);
    case Opcode::kHalfToFloat:
    case Opcode::kFloatToHalf:
      return half(instruction);
    default:
      return convert(instruction);
  }
}

}  // namespace tandem
