// exp, sigmoid and tanh.
//
// exp: x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n e^r. n ln 2 is taken off in two parts, the first with so few bits
// that n * part is exact. e^r is a polynomial 1 + r + r^2 P(r), P the minimax fit of relative error found by Remez'
// exchange in 45 digits (f32: 2^-28.2, f64: 2^-57.9). Multiplying by 2^n in two halves gives infinity and correctly
// rounded denormals without a special case.
#include "core/kernel/math_exponential.h"

namespace tandem {
namespace {

/// Constants of the reduction x = n ln 2 + r for one float type.
struct Reduction {
  double log2_e;
  double ln2_high;  ///< So few bits that n * ln2_high is exact for every n that occurs.
  double ln2_low;
  double rounder;  ///< 1.5 * 2^(bits of the fraction): adding it rounds to an integer and leaves that in the low bits.
  int exponent_shift;
  int bias;
};
constexpr Reduction kReduction32 = {0x1.715476p+0, 0x1.62e4p-1, 0x1.7f7d1cp-20, 0x1.8p+23, 23, 127};
constexpr Reduction kReduction64 = {0x1.71547652b82fep+0, 0x1.62e42feep-1, 0x1.a39ef35793c76p-33, 0x1.8p+52, 52, 1023};

const Reduction& reduction_of(MathValue x) { return is_double(x) ? kReduction64 : kReduction32; }

/// e^r = 1 + r + r^2 P(r): minimax in the error relative to e^r.
constexpr double kExponential32[] = {0.49999993f, 0.1666652f, 0.04166839f, 0.0083687454f, 0.0013814545f};
constexpr double kExponential64[] = {
    0x1.000000000000ap-1,  0x1.55555555554fap-3,  0x1.555555555087dp-5,  0x1.1111111127be7p-7,  0x1.6c16c18429f02p-10,
    0x1.a01a012a5689dp-13, 0x1.a0199a0cbb62bp-16, 0x1.71df25558243ap-19, 0x1.28ad72861acbep-22, 0x1.ad7f6984cea6cp-26};
/// The same, minimax in the error relative to e^r - 1.
constexpr double kMinusOne32[] = {0.5f, 0.16666543f, 0.041667201f, 0.0083665472f, 0.001388252f};
constexpr double kMinusOne64[] = {0.5,
                                  0x1.5555555555559p-3,
                                  0x1.555555555553fp-5,
                                  0x1.111111110f6dap-7,
                                  0x1.6c16c16c1f07cp-10,
                                  0x1.a01a01afd3e65p-13,
                                  0x1.a01a017bc56e2p-16,
                                  0x1.71ddf87ea997ep-19,
                                  0x1.27e5362e0bc67p-22,
                                  0x1.af5e7527a9383p-26,
                                  0x1.1ee88588b4f87p-29};

/// e^(sign * r) by Horner's rule, the sign folded into the coefficients.
template <int count>
MathValue horner(MathValue r, double sign, const double (&tail)[count]) {
  double coefficients[count + 2] = {1, sign};
  double power = 1;
  for (int i = 0; i < count; ++i, power *= sign) coefficients[i + 2] = tail[i] * power;
  return polynomial(r, coefficients);
}
MathValue exponential_polynomial(MathValue r, double sign) {
  return is_double(r) ? horner(r, sign, kExponential64) : horner(r, sign, kExponential32);
}

/// 2^n p, the low bits of `shifted` being n + 2 bias: the doubled exponent field of 2^(n / 2).
MathValue scale(MathValue p, MathValue shifted, const Reduction& c) {
  MathValue bits = shifted.bits();
  MathValue half = bits >> 1;
  return p * (half << c.exponent_shift).as_float() * ((bits - half) << c.exponent_shift).as_float();
}

}  // namespace

ValueId exponential(MathContext context, ValueId argument) {
  MathValue x(context, argument);
  const Reduction& c = reduction_of(x);
  // Beyond these limits the result is 0 or infinity, and the exponent arithmetic would leave its range.
  x = is_double(x) ? clamp(x, -746, 710) : clamp(x, -104, 89);
  double rounder = c.rounder + 2 * c.bias;
  MathValue shifted = multiply_add(x, c.log2_e, rounder);
  MathValue n = shifted - rounder;
  MathValue r = multiply_add(n, -c.ln2_low, multiply_add(n, -c.ln2_high, x));
  return scale(exponential_polynomial(r, 1), shifted, c).id();
}

MathValue exponential_of_sum(MathValue high, MathValue low) {
  const Reduction& c = reduction_of(high);
  // Where the sum is beyond the limits, `low` no longer matters, but may be large.
  MathValue limited = is_double(high) ? clamp(high, -746, 710) : clamp(high, -104, 89);
  low = select(limited == high, low, 0);
  high = limited;
  double rounder = c.rounder + 2 * c.bias;
  MathValue shifted = multiply_add(high, c.log2_e, rounder);
  MathValue n = shifted - rounder;
  MathValue r = multiply_add(n, -c.ln2_high, high) + multiply_add(n, -c.ln2_low, low);
  return scale(exponential_polynomial(r, 1), shifted, c);
}

ExponentialParts exponential_parts(MathValue y) {
  const Reduction& c = reduction_of(y);
  double rounder = c.rounder + c.bias;
  MathValue shifted = multiply_add(y, c.log2_e, rounder);
  MathValue n = shifted - rounder;
  MathValue r = multiply_add(n, -c.ln2_low, multiply_add(n, -c.ln2_high, y));
  MathValue tail = is_double(y) ? polynomial(r, kMinusOne64) : polynomial(r, kMinusOne32);
  return {(shifted.bits() << c.exponent_shift).as_float(), multiply_add(r * r, tail, r)};
}

ValueId sigmoid(MathContext context, ValueId argument) {
  // With e^-x = 2^n p and n = a + b: 1 / (1 + 2^n p) = 2^-b / (2^-b + 2^a p), where nothing overflows and a result
  // that is denormal is rounded by the division alone.
  MathValue x(context, argument);
  const Reduction& c = reduction_of(x);
  x = is_double(x) ? clamp(x, -746, 746) : clamp(x, -105, 105);
  double rounder = c.rounder + 2 * c.bias;
  MathValue shifted = multiply_add(x, -c.log2_e, rounder);
  MathValue n = shifted - rounder;
  MathValue negative_r = multiply_add(n, c.ln2_low, multiply_add(n, c.ln2_high, x));
  MathValue p = exponential_polynomial(negative_r, -1);
  MathValue half = shifted.bits() >> 1;
  MathValue power_a = (half << c.exponent_shift).as_float();
  MathValue field_b = half - shifted.bits() + half.integer(2 * c.bias);
  MathValue power_minus_b = (field_b << c.exponent_shift).as_float();
  return (power_minus_b / multiply_add(p, power_a, power_minus_b)).id();
}

ValueId hyperbolic_tangent(MathContext context, ValueId argument) {
  // tanh |x| = (e^y - 1) / (e^y + 1) with y = 2 |x| and e^y = 2^n (1 + q), the numerator being 2^n q + (2^n - 1). Exact
  // near 0, where n = 0 and q = y; never above 1; odd. Making the denominator from the numerator lets the numerator's
  // error fade towards 1.
  MathValue x(context, argument);
  MathValue magnitude = absolute(x);
  double limit = is_double(x) ? 20 : 10;  // tanh rounds to 1 from 19.06 and 9.01 on.
  magnitude = select(x.number(limit) < magnitude, limit, magnitude);
  auto [power, q] = exponential_parts(magnitude + magnitude);
  MathValue numerator = multiply_add(q, power, power - 1.0);
  MathValue quotient = numerator / (numerator + 2.0);
  return copy_sign(quotient, x).id();
}

}  // namespace tandem
