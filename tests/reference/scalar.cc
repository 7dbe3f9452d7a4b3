#include "tests/reference/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/half.h"
#include "core/graph/accuracy.h"

namespace tandem::reference {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

int bits_of(DType dtype) { return static_cast<int>(size_of(dtype)) * 8; }

}  // namespace

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kF16:
      return static_cast<double>(f32_from_f16(f16_from_f32(static_cast<float>(value))));
    case DType::kBF16:
      return static_cast<double>(f32_from_bf16(bf16_from_f32(static_cast<float>(value))));
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

int64_t wrap(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value & 1;
  const int shift = 64 - bits_of(dtype);
  const uint64_t raised = static_cast<uint64_t>(value) << shift;
  return is_unsigned(dtype) ? static_cast<int64_t>(raised >> shift) : static_cast<int64_t>(raised) >> shift;
}

double half_ulp(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    case DType::kF32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-14;
    case DType::kBF16:
    case DType::kF32:
      return 0x1p-126;
    default:
      return 0x1p-1022;
  }
}

namespace {

double minimum(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return not_a_number;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

double maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return not_a_number;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

double float_value(Op op, double x, double y) {
  switch (op) {
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return std::fabs(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kExp:
      return std::exp(x);
    case Op::kLog:
      return std::log(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kSigmoid:
      return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
    case Op::kErf:
      return std::erf(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kTrunc:
      return std::trunc(x);
    case Op::kRound:
      return std::nearbyint(x);
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    case Op::kPow:
      return std::pow(x, y);
    case Op::kMin:
      return minimum(x, y);
    case Op::kMax:
      return maximum(x, y);
    default:
      throw InternalError(std::string("the reference has no float meaning of ") + name_of(op));
  }
}

/// A product in which an operand without error adds nothing, even where the other factor is infinite.
double scaled(double factor, double error) { return error == 0 ? 0 : error * std::fabs(factor); }

/// The error that the operands' errors cause in the result `r`, to first order (exactly for exp).
double carried_error(Op op, const Element& x, const Element& y, double r) {
  const double a = x.value, b = y.value;
  switch (op) {
    case Op::kNeg:
    case Op::kAbs:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
      return x.error;
    case Op::kSqrt:
      return x.error == 0 ? 0 : std::min(x.error / (2 * r), std::sqrt(x.error));
    case Op::kExp:
      return x.error == 0 ? 0 : r * std::expm1(x.error);
    case Op::kLog:
      return x.error == 0 ? 0 : (x.error >= std::fabs(a) ? infinity : -std::log1p(-x.error / std::fabs(a)));
    case Op::kSigmoid:
      return std::min(x.error / 4, x.error == 0 ? 0 : r * std::expm1(x.error));
    case Op::kErf:
      return 1.1283791670955126 * x.error;
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRound:
      return x.error == 0 ? 0 : float_value(op, a - x.error, 0) == float_value(op, a + x.error, 0) ? 0 : infinity;
    case Op::kAdd:
    case Op::kSub:
      return x.error + y.error;
    case Op::kMul:
      return scaled(b, x.error) + scaled(a, y.error) + scaled(x.error, y.error);
    case Op::kDiv:
      if (y.error != 0 && y.error >= std::fabs(b)) return infinity;
      return (x.error + scaled(r, y.error)) / (std::fabs(b) - y.error);
    case Op::kPow:
      if (x.error == 0 && y.error == 0) return 0;
      if (a <= x.error) return infinity;
      return std::fabs(r) * std::expm1(std::fabs(b) * x.error / (a - x.error) + scaled(std::log(a), y.error));
    case Op::kMin:
    case Op::kMax:
      return std::max(x.error, y.error);
    default:
      return infinity;
  }
}

/// Roundings that one op may add, in half units in the last place: 1 when the op is exact up to rounding, more for
/// functions that are approximated, 0 for ops that never round.
double own_roundings(Op op, DType dtype, bool exact_operands) {
  const double ulps = accuracy_ulps(op, dtype);
  // An f64 result is compared with a float64 number that was rounded itself, and in the same way only if both started
  // from the same operands.
  const bool same_rounding = ulps == 0 || (ulps <= 0.5 && exact_operands);
  return 2 * ulps + (dtype == DType::kF64 && !same_rounding ? 1 : 0);
}

/// A sum or product of exact operands that is a number of the dtype has no rounding to differ in. (Not for f64, whose
/// float64 result here has been rounded itself.)
bool is_exact_result(Op op, DType dtype, const Element& x, const Element& y, double result) {
  if (op != Op::kAdd && op != Op::kSub && op != Op::kMul) return false;
  if (x.error != 0 || y.error != 0 || dtype == DType::kF64) return false;
  return round_to(dtype, result) == result && (result == 0 || std::fabs(result) >= smallest_normal(dtype));
}

Element compute_float(Op op, DType dtype, const Element& x, const Element& y) {
  Element out;
  out.value = float_value(op, x.value, y.value);
  if (std::isnan(out.value) || std::isinf(out.value)) {
    // An infinity that a slightly different operand would not give is undecided; one without error is exact.
    out.error = x.error == 0 && y.error == 0 ? 0 : infinity;
    return out;
  }
  out.error = carried_error(op, x, y, out.value);
  const double roundings = own_roundings(op, dtype, x.error == 0 && y.error == 0);
  if (roundings > 0) out.error += roundings * half_ulp(dtype) * std::fabs(out.value) + smallest_normal(dtype);
  if (is_exact_result(op, dtype, x, y, out.value)) out.error = 0;
  const double reach = std::fabs(out.value) + out.error;
  if (std::isinf(round_to(dtype, reach))) {  // at or beyond the end of the dtype's range
    const bool beyond = std::isinf(round_to(dtype, std::fabs(out.value) - out.error));
    const bool decided = x.error == 0 && y.error == 0 && (roundings <= 1 || beyond);
    out.error = decided ? 0 : infinity;
    out.value = round_to(dtype, out.value);
    if (decided && std::isfinite(out.value)) out.error = half_ulp(dtype) * std::fabs(out.value);
  }
  if (std::isnan(out.error)) out.error = infinity;
  return out;
}

bool compare(Op op, DType dtype, const Element& x, const Element& y) {
  if (is_float(dtype)) {
    switch (op) {
      case Op::kLess:
        return x.value < y.value;
      case Op::kLessEqual:
        return x.value <= y.value;
      case Op::kEqual:
        return x.value == y.value;
      default:
        return x.value != y.value;
    }
  }
  const bool below =
      is_unsigned(dtype) ? static_cast<uint64_t>(x.integer) < static_cast<uint64_t>(y.integer) : x.integer < y.integer;
  switch (op) {
    case Op::kLess:
      return below;
    case Op::kLessEqual:
      return below || x.integer == y.integer;
    case Op::kEqual:
      return x.integer == y.integer;
    default:
      return x.integer != y.integer;
  }
}

int64_t divide(DType dtype, int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (is_unsigned(dtype)) return static_cast<int64_t>(static_cast<uint64_t>(x) / static_cast<uint64_t>(y));
  if (y == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  return x / y;
}

int64_t shift_right(DType dtype, int64_t x, int64_t y) {
  const bool beyond = is_unsigned(dtype) ? static_cast<uint64_t>(y) >= static_cast<uint64_t>(bits_of(dtype))
                                         : y < 0 || y >= bits_of(dtype);
  if (is_unsigned(dtype)) return beyond ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) >> y);
  return beyond ? (x < 0 ? -1 : 0) : x >> y;
}

int64_t shift_left(DType dtype, int64_t x, int64_t y) {
  if (static_cast<uint64_t>(y) >= static_cast<uint64_t>(bits_of(dtype))) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(x) << y);
}

int64_t integer_value(Op op, DType dtype, int64_t x, int64_t y) {
  const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  const bool below = is_unsigned(dtype) ? ux < uy : x < y;
  switch (op) {
    case Op::kNeg:
      return static_cast<int64_t>(0 - ux);
    case Op::kAbs:
      return !is_unsigned(dtype) && x < 0 ? static_cast<int64_t>(0 - ux) : x;
    case Op::kNot:
      return dtype == DType::kBool ? 1 - x : ~x;
    case Op::kAdd:
      return dtype == DType::kBool ? x | y : static_cast<int64_t>(ux + uy);
    case Op::kSub:
      return static_cast<int64_t>(ux - uy);
    case Op::kMul:
      return static_cast<int64_t>(ux * uy);
    case Op::kDiv:
      return divide(dtype, x, y);
    case Op::kMod:
      return static_cast<int64_t>(ux - uy * static_cast<uint64_t>(wrap(dtype, divide(dtype, x, y))));
    case Op::kMin:
      return below ? x : y;
    case Op::kMax:
      return below ? y : x;
    case Op::kAnd:
      return x & y;
    case Op::kOr:
      return x | y;
    case Op::kXor:
      return x ^ y;
    case Op::kShl:
      return shift_left(dtype, x, y);
    case Op::kShr:
      return shift_right(dtype, x, y);
    default:
      throw InternalError(std::string("the reference has no integer meaning of ") + name_of(op));
  }
}

int64_t saturate(DType dtype, double value) {
  if (std::isnan(value)) return 0;
  const int bits = bits_of(dtype);
  const double cut = std::trunc(value);
  if (is_unsigned(dtype)) {
    if (cut <= 0) return 0;
    if (cut >= std::ldexp(1.0, bits)) return wrap(dtype, -1);
    return static_cast<int64_t>(static_cast<uint64_t>(cut));
  }
  const double limit = std::ldexp(1.0, bits - 1);
  if (cut >= limit) return bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  if (cut < -limit) return bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
  return static_cast<int64_t>(cut);
}

double as_float(DType from, int64_t integer) {
  return from == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(integer)) : static_cast<double>(integer);
}

/// i64 and u64 beyond 2^53 straight to f32: rounding to double first would round twice.
double integer_to_float(DType from, DType to, int64_t integer) {
  if (to == DType::kF64) return as_float(from, integer);
  const float narrow =
      from == DType::kU64 ? static_cast<float>(static_cast<uint64_t>(integer)) : static_cast<float>(integer);
  return static_cast<double>(narrow);
}

Element cast(DType from, DType to, const Element& x) {
  Element out;
  if (is_float(from) && is_float(to)) {
    out.value = x.value;
    const bool narrows = half_ulp(to) > half_ulp(from) || (from == DType::kBF16 && to == DType::kF16);
    out.error = x.error;
    if (narrows && std::isfinite(x.value)) {
      out.error += half_ulp(to) * std::fabs(x.value) + smallest_normal(to);
      const double rounded = round_to(to, x.value);
      if (std::isinf(rounded)) {  // beyond the range of the narrow dtype
        out.value = rounded;
        out.error = x.error == 0 ? 0 : infinity;
      }
    }
  } else if (is_float(to)) {
    out.value = integer_to_float(from, to, x.integer);
    out.error = x.error;
    if (round_to(to, out.value) != out.value || !std::isfinite(round_to(to, out.value)))
      out.value = round_to(to, out.value);
  } else if (to == DType::kBool) {
    out.integer = is_float(from) ? x.value != 0 : x.integer != 0;
    out.error = x.error != 0 && std::fabs(x.value) <= x.error ? infinity : (std::isinf(x.error) ? infinity : 0);
  } else if (is_float(from)) {
    out.integer = saturate(to, x.value);
    if (x.error != 0 && saturate(to, x.value - x.error) != saturate(to, x.value + x.error)) out.error = infinity;
    if (std::isinf(x.error)) out.error = infinity;
  } else {
    out.integer = wrap(to, x.integer);
    out.error = x.error;
  }
  return out;
}

Element bitcast(DType from, DType to, const Element& x) {
  uint64_t bits = static_cast<uint64_t>(x.integer);
  if (from == DType::kF16) bits = f16_from_f32(static_cast<float>(x.value));
  if (from == DType::kBF16) bits = bf16_from_f32(static_cast<float>(x.value));
  if (from == DType::kF32) bits = tandem::bit_cast<uint32_t>(static_cast<float>(x.value));
  if (from == DType::kF64) bits = tandem::bit_cast<uint64_t>(x.value);
  Element out;
  if (to == DType::kF16)
    out.value = static_cast<double>(f32_from_f16(static_cast<uint16_t>(bits)));
  else if (to == DType::kBF16)
    out.value = static_cast<double>(f32_from_bf16(static_cast<uint16_t>(bits)));
  else if (to == DType::kF32)
    out.value = static_cast<double>(tandem::bit_cast<float>(static_cast<uint32_t>(bits)));
  else if (to == DType::kF64)
    out.value = tandem::bit_cast<double>(bits);
  else
    out.integer = wrap(to, static_cast<int64_t>(bits));
  out.error = x.error == 0 ? 0 : infinity;
  return out;
}

}  // namespace

Element compute(Op op, DType from, DType to, const Element& x, const Element& y, const Element& z) {
  if (op == Op::kCast) return cast(from, to, x);
  if (op == Op::kBitcast) return bitcast(from, to, x);
  if (op == Op::kWhere) {
    Element out = x.integer != 0 ? y : z;
    if (x.error != 0) out.error = infinity;
    return out;
  }
  if (info(op).type_rule == TypeRule::kCompare) {
    Element out;
    out.integer = compare(op, from, x, y) ? 1 : 0;
    const double doubt = x.error + y.error;
    if (doubt != 0 && !(is_float(from) && std::fabs(x.value - y.value) > doubt)) out.error = infinity;
    return out;
  }
  if (is_float(to)) return compute_float(op, to, x, y);
  Element out;
  out.integer = wrap(to, integer_value(op, to, x.integer, y.integer));
  out.error = x.error == 0 && y.error == 0 ? 0 : infinity;
  return out;
}

}  // namespace tandem::reference
