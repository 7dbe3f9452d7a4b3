// log and pow.
//
// x = 2^e m with m in [sqrt(1/2), sqrt(2)) and f = m - 1 exact; log x = e ln 2 + log(1 + f). f32 takes log(1 + f) =
// f - f^2 / 2 + f^3 P(f) (minimax in relative error, 2^-30.3), f64 takes 2 atanh(s) with s = f / (2 + f), so
// log(1 + f) = f - s (f - s^2 R(s^2)) with R minimax to 2^-58.5.
#include <limits>

#include "core/kernel/math_exponential.h"

namespace tandem {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2High64 = 0x1.62e42feep-1;  // 32 bits: exponent * kLn2High64 is exact.
constexpr double kLn2Low64 = 0x1.a39ef35793c76p-33;

/// x = 2^exponent * (1 + f), for finite x > 0.
struct Split {
  MathValue exponent;  ///< A float.
  MathValue f;
};

Split split(MathValue x) {
  const bool wide = is_double(x);
  const int fraction = wide ? 52 : 23;
  // Denormals are made normal first.
  const double up = wide ? 0x1p+54 : 0x1p+24;
  const double up_exponent = wide ? 54 : 24;
  MathValue tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
  MathValue bits = select(tiny, x * up, x).bits();
  MathValue root_half = bits.integer(wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  bits = bits - root_half;
  MathValue mantissa = ((bits & ((int64_t{1} << fraction) - 1)) + root_half).as_float();
  // An exponent field as an integer of 32 bits has a conversion on every machine.
  MathValue exponent = bits >> fraction;
  if (wide) exponent = exponent.convert(Opcode::kWrap, Scalar::kI32);
  exponent = exponent.convert(Opcode::kToFloat, x.type().scalar);
  return {exponent - select(tiny, up_exponent, x.number(0)), mantissa - 1.0};
}

/// log x for x = 0, x < 0, infinity and NaN put in place of `result`.
MathValue with_special_values(MathValue x, MathValue result) {
  MathValue not_positive = select(x == 0.0, -kInfinity, x.number(kNaN));
  result = select(x < kInfinity, result, x);
  return select(x <= 0.0, not_positive, result);
}

MathValue logarithm_32(MathValue x) {
  constexpr double coefficients[] = {0.33333313f, -0.2500001f, 0.20002119f,  -0.16667996f, 0.14219553f,
                                     -0.1240559f, 0.11888163f, -0.11675651f, 0.067466376f};
  constexpr double ln2_high = 0x1.62ep-1;  // 12 bits: exponent * ln2_high is exact.
  constexpr double ln2_low = 0x1.0bfbe8p-15;
  auto [exponent, f] = split(x);
  MathValue square = f * f;
  MathValue tail = polynomial(f, coefficients) * f * square;
  tail = multiply_add(exponent, ln2_low, tail);
  tail = multiply_add(square, -0.5, tail);
  return multiply_add(exponent, ln2_high, f + tail);
}

MathValue logarithm_64(MathValue x) {
  constexpr double coefficients[] = {0x1.5555555555592p-1, 0x1.999999997fdbbp-2, 0x1.24924941f0ff9p-2,
                                     0x1.c71c520972d6fp-3, 0x1.74663ee53a3edp-3, 0x1.39a1baf1ecea7p-3,
                                     0x1.2f0561f209b61p-3};
  auto [exponent, f] = split(x);
  MathValue s = f / (f + 2.0);
  MathValue square = s * s;
  MathValue correction = s * (f - square * polynomial(square, coefficients));
  return multiply_add(exponent, kLn2High64, f - multiply_add(exponent, -kLn2Low64, correction));
}

/// high + low, |low| at most about an ulp of high.
struct Pair {
  MathValue high;
  MathValue low;
};

/// The upper 26 bits of the fraction: products of two such numbers are exact, on machines whose multiply-add rounds
/// twice too.
MathValue upper_half(MathValue x) { return (x.bits() & ~int64_t{0x7ffffff}).as_float(); }

/// log x to about 2^-64 of its value, for finite x > 0 in f64: the terms of 2 atanh(s) that matter, 2 s and the s^3
/// term, are carried as pairs of which the first has 26 bits.
Pair exact_logarithm(MathValue x) {
  constexpr double third_high = 0x1.555555p-1, third_low = 0x1.5555555555555p-27;  // 2 / 3
  constexpr double coefficients[] = {0x1.9999999999b3p-2, 0x1.2492492457dbbp-2, 0x1.c71c722d5d979p-3,
                                     0x1.745ce9e67bcap-3, 0x1.3b1eeb76fe469p-3, 0x1.0f7ff7570ce84p-3,
                                     0x1.0e422accdc216p-3};
  auto [exponent, f] = split(x);
  MathValue denominator = f + 2.0;
  MathValue s = f / denominator;
  MathValue s_high = upper_half(s), d_high = upper_half(denominator);
  MathValue d_low = f - (d_high - 2.0);
  MathValue s_low = ((f - s_high * d_high) - s_high * d_low) / denominator;
  // s^2
  MathValue square = s_high * s_high;
  MathValue square_high = upper_half(square);
  MathValue square_rest = s_low * (s + s_high);
  MathValue square_low = (square - square_high) + square_rest;
  square = square + square_rest;
  // R(s^2), near 2 / 3
  MathValue rest = square * polynomial(square, coefficients);
  MathValue r_high = upper_half(rest + third_high);
  MathValue r_low = (rest - (r_high - third_high)) + third_low;
  // s^2 R
  MathValue product = square_high * r_high;
  MathValue product_low = square_low * r_high + square * r_low;
  MathValue w_high = upper_half(product + product_low);
  MathValue w_low = (product - w_high) + product_low;
  // e ln 2 + 2 s + s^3 R, in descending order
  MathValue low = exponent * kLn2Low64 + (s_low * 2.0 + (s_low * (product + product_low) + s_high * w_low));
  MathValue first = exponent * kLn2High64;
  MathValue second = s_high * 2.0;
  MathValue third = s_high * w_high;
  MathValue sum = first + second;
  MathValue lost = second - (sum - first);
  MathValue total = sum + third;
  lost = lost + (third - (total - sum));
  low = low + lost;
  MathValue high = total + low;
  return {high, low - (high - total)};
}

/// |x|^y for finite |x| > 0 and any y but NaN.
MathValue positive_power_64(MathValue magnitude, MathValue y) {
  // The smallest |log| is 2^-53, so that a larger y gives 0 or infinity as well, and products stay finite.
  y = clamp(y, -0x1p+66, 0x1p+66);
  Pair logarithm = exact_logarithm(magnitude);
  MathValue l_high = upper_half(logarithm.high);
  MathValue l_low = (logarithm.high - l_high) + logarithm.low;
  MathValue y_high = upper_half(y);
  MathValue product = y_high * l_high;
  MathValue rest = (y - y_high) * l_high + y * l_low;
  MathValue high = product + rest;
  return exponential_of_sum(high, rest - (high - product));
}

/// The same for f32, in f64: what an f64 log and exp lose is far below an ulp of f32.
MathValue positive_power_32(MathValue magnitude, MathValue y) {
  y = clamp(y, -0x1p+66, 0x1p+66);
  MathValue wide = logarithm_64(magnitude.convert(Opcode::kConvertFloat, Scalar::kF64));
  MathValue product = wide * y.convert(Opcode::kConvertFloat, Scalar::kF64);
  MathValue power(product.context(), exponential(product.context(), product.id()));
  return power.convert(Opcode::kConvertFloat, Scalar::kF32);
}

MathValue floor(MathValue x) { return x.unary(Opcode::kFloor); }

}  // namespace

ValueId logarithm(MathContext context, ValueId argument) {
  MathValue x(context, argument);
  return with_special_values(x, is_double(x) ? logarithm_64(x) : logarithm_32(x)).id();
}

ValueId power(MathContext context, ValueId base, ValueId exponent) {
  MathValue x(context, base);
  MathValue y(context, exponent);
  MathValue magnitude = absolute(x);
  MathValue result = is_double(x) ? positive_power_64(magnitude, y) : positive_power_32(magnitude, y);
  MathValue zero = x.number(0), infinity = x.number(kInfinity), not_a_number = x.number(kNaN);
  MathValue falling = y < 0.0;
  result = select(x == 0.0, select(falling, infinity, zero), result);
  result = select(magnitude == kInfinity, select(falling, zero, infinity), result);
  // The sign of x counts for odd y; a negative finite x has no power that isn't an integer.
  MathValue integer = floor(y) == y;
  MathValue half = y * 0.5;
  MathValue odd = integer & (floor(half) != half);
  result = flip_sign(result, select(odd, sign_bit(x), x.bits().integer(0)));
  MathValue undefined = (x < 0.0) & (magnitude < kInfinity) & ~integer;
  result = select(undefined | (x != x) | (y != y), not_a_number, result);
  return select((y == 0.0) | (x == 1.0), 1, result).id();
}

}  // namespace tandem
