// log.
#include "core/kernel/math_value.h"

#include <limits>

namespace tandem {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// x = 2^exponent * mantissa with the mantissa in [sqrt(1/2), sqrt(2)), for finite x > 0.
struct Split {
  MathValue exponent;  ///< A float.
  MathValue mantissa;
};

Split split_32(MathValue x) {
  constexpr int64_t root_half = 0x3f3504f3;
  MathValue tiny = x < 0x1p-126;
  MathValue bits = select(tiny, x * 0x1p+23, x).bits() - x.bits().integer(root_half);
  MathValue exponent = (bits >> 23).convert(Opcode::kToFloat, Scalar::kF32);
  MathValue mantissa = ((bits & 0x7fffff) + x.bits().integer(root_half)).as_float();
  return {exponent - select(tiny, 23, x.number(0)), mantissa};
}

/// log x for x = 0, x < 0, infinity and NaN put in place of `result`.
MathValue with_special_values(MathValue x, MathValue result) {
  MathValue infinity = x.number(kInfinity);
  MathValue not_positive = select(x == 0.0, -kInfinity, x.number(kNaN));
  result = select(x < infinity, result, x);
  return select(x <= 0.0, not_positive, result);
}

MathValue logarithm_32(MathValue x) {
  // log(1 + f) = f - f^2 / 2 + f^3 P(f): minimax, relative error 2^-30.3.
  constexpr double coefficients[] = {0.33333313f, -0.2500001f, 0.20002119f,  -0.16667996f, 0.14219553f,
                                     -0.1240559f, 0.11888163f, -0.11675651f, 0.067466376f};
  constexpr double ln2_high = 0x1.62ep-1;  // 12 bits: exponent * ln2_high is exact.
  constexpr double ln2_low = 0x1.0bfbe8p-15;
  auto [exponent, mantissa] = split_32(x);
  MathValue f = mantissa - 1.0;
  MathValue square = f * f;
  MathValue tail = polynomial(f, coefficients) * f * square;
  tail = multiply_add(exponent, ln2_low, tail);
  tail = multiply_add(square, -0.5, tail);
  return with_special_values(x, multiply_add(exponent, ln2_high, f + tail));
}

}  // namespace

ValueId logarithm(MathContext context, ValueId argument) {
  MathValue x(context, argument);
  return logarithm_32(x).id();
}

}  // namespace tandem
