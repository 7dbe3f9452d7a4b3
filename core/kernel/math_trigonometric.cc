// sin and cos.
//
// Both reduce |x| to r in [-pi/4, pi/4] and the number of its quarter turn, and evaluate sin r = r + r^3 S(r^2) and
// cos r = 1 - r^2 / 2 + r^4 C(r^2), minimax fits (f32: 2^-28 and 2^-33; f64: 2^-68 and 2^-75).
#include <limits>
#include <utility>

#include "core/kernel/math_value.h"

namespace tandem {
namespace {

/// |x| = quarter * pi / 2 + high + low, in the type of x.
struct Reduced {
  MathValue high;
  MathValue low;      ///< Below half an ulp of high.
  MathValue quarter;  ///< Integer in -2 .. 2, modulo 4.
};

/// s + f as a sum and what its rounding lost, which is added to `lost`. Exact when s is larger than f or a multiple of
/// its last place.
MathValue add_exactly(MathValue s, MathValue f, MathValue& lost) {
  MathValue sum = s + f;
  lost = lost + (f - (sum - s));
  return sum;
}

/// For f32, over its whole range, in f64: 1 / 2 pi is cut into pieces of 26 bits, so that x * piece is exact, and whole
/// turns vanish from each product. At most two of the fractions reach 2^-26, and their sum is exact; the others are
/// added with what their rounding loses, since a few bits may be all that is left after taking off the quarter turns.
Reduced reduce_32(MathValue magnitude) {
  constexpr int count = 8;
  constexpr int first_without_turns = 5;  // 2^128 * piece is below half a turn from here on.
  constexpr double pieces[count] = {0x1.45f3068p-3,  0x1.7272208p-29, 0x1.4a7f09p-56,   0x1.abe8fa8p-81,
                                    0x1.a6ee06p-109, 0x1.b62959p-134, 0x1.2788720p-159, 0x1.07f944p-188};
  MathValue x = magnitude.convert(Opcode::kConvertFloat, Scalar::kF64);
  auto fraction = [&](int i) {
    MathValue turns = x * pieces[i];
    return i < first_without_turns ? turns - nearest(turns) : turns;
  };
  MathValue sum = fraction(0);
  MathValue lost = fraction(count - 1) + fraction(count - 2);
  for (int i = 1; i < count - 2; ++i) sum = add_exactly(sum, fraction(i), lost);
  sum = sum * 4.0;
  MathValue quarter = nearest(sum);
  MathValue rest = (sum - quarter) + lost * 4.0;
  MathValue r = (rest * 0x1.921fb54442d18p+0).convert(Opcode::kConvertFloat, Scalar::kF32);
  quarter = (quarter - nearest(quarter * 0.25) * 4.0).convert(Opcode::kConvertFloat, Scalar::kF32);
  return {r, r.number(0), quarter};
}

/// For f64, by subtracting multiples of pi / 2 in four parts. The first three have 33 bits: their products are exact up
/// to 2^20 quarter turns. Beyond, the result is that of an argument a few ulps away, and 0 turns where an ulp is a
/// radian.
Reduced reduce_64(MathValue x) {
  constexpr double parts[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049cp-104};
  MathValue n = nearest(x * 0x1.45f306dc9c883p-1);
  MathValue lost = x.number(0) - n * parts[3];
  MathValue sum = x - n * parts[0];
  sum = add_exactly(sum, -(n * parts[1]), lost);
  sum = add_exactly(sum, -(n * parts[2]), lost);
  MathValue high = sum + lost;
  MathValue low = lost - (high - sum);
  MathValue known = absolute(high) < 0.79;
  return {select(known, high, 0), select(known, low, 0), n - nearest(n * 0.25) * 4.0};
}

/// high + low of `reduced`: sine and cosine.
std::pair<MathValue, MathValue> sine_and_cosine(const Reduced& reduced) {
  constexpr double sine_32[] = {-0.166666546f, 0.00833216029f, -0.000195152183f};
  constexpr double cosine_32[] = {0.0416666457f, -0.00138873156f, 2.4433082e-5f};
  constexpr double sine_64[] = {-0x1.5555555555555p-3, 0x1.111111111110bp-7,   -0x1.a01a01a018a67p-13,
                                0x1.71de3a533013p-19,  -0x1.ae64528cdf33fp-26, 0x1.61208be0fc93fp-33,
                                -0x1.aaa2136a2457bp-41};
  constexpr double cosine_64[] = {0x1.5555555555555p-5,   -0x1.6c16c16c16c0fp-10, 0x1.a01a01a018cc5p-16,
                                  -0x1.27e4fb75eb36ap-22, 0x1.1eed8c906a659p-29,  -0x1.939323b0ab44bp-37,
                                  0x1.aabce6b92eb32p-45};
  MathValue r = reduced.high;
  MathValue square = r * r;
  bool wide = is_double(r);
  MathValue sine_tail = square * r * (wide ? polynomial(square, sine_64) : polynomial(square, sine_32));
  MathValue cosine_tail = square * square * (wide ? polynomial(square, cosine_64) : polynomial(square, cosine_32));
  MathValue half = square * 0.5;
  MathValue one_minus_half = r.number(1) - half;
  if (!wide) return {r + sine_tail, one_minus_half + cosine_tail};
  // d sin = low (1 - r^2 / 2), d cos = -r low, and what 1 - r^2 / 2 lost.
  MathValue lost = (r.number(1) - one_minus_half) - half;
  return {r + multiply_add(reduced.low, one_minus_half, sine_tail),
          one_minus_half + (lost + (cosine_tail - r * reduced.low))};
}

/// sin(|x| + first_quarter * pi / 2), with the sign bit of `sign` flipped into it; NaN for infinities.
MathValue turned_sine(MathValue x, int first_quarter, bool odd) {
  MathValue magnitude = absolute(x);
  Reduced reduced = is_double(x) ? reduce_64(magnitude) : reduce_32(magnitude);
  auto [sine, cosine] = sine_and_cosine(reduced);
  // The low bits of the sum are the quarter in two's complement.
  bool wide = is_double(x);
  MathValue bits = (reduced.quarter + ((wide ? 0x1.8p+52 : 0x1.8p+23) + first_quarter)).bits();
  MathValue result = select((bits & 1) == bits.integer(0), sine, cosine);
  MathValue sign = (bits & 2) << (wide ? 62 : 30);
  if (odd) sign = sign ^ sign_bit(x);
  result = flip_sign(result, sign);
  return select(magnitude < std::numeric_limits<double>::infinity(), result, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

ValueId sine(MathContext context, ValueId argument) { return turned_sine(MathValue(context, argument), 0, true).id(); }

ValueId cosine(MathContext context, ValueId argument) {
  return turned_sine(MathValue(context, argument), 1, false).id();
}

}  // namespace tandem
