// sin and cos.
//
// Both reduce |x| to r in [-pi/4, pi/4] and the number of its quarter turn, and evaluate sin r = r + r^3 S(r^2) and
// cos r = 1 - r^2 / 2 + r^4 C(r^2), minimax fits (f32: 2^-28 and 2^-33; f64: 2^-68 and 2^-75).
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/bits.h"
#include "core/kernel/math_value.h"

namespace tandem {
namespace {

/// |x| = quarter * pi / 2 + high + low, in the type of x.
struct Reduced {
  MathValue high;
  MathValue low;      ///< Below half an ulp of high.
  MathValue quarter;  ///< Integer in -2 .. 4, modulo 4.
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
  static constexpr double pieces[count] = {0x1.45f3068p-3,  0x1.7272208p-29, 0x1.4a7f09p-56,   0x1.abe8fa8p-81,
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

/// For f64 up to 1.6e6, by subtracting multiples of pi / 2 in four parts. The first three have 33 bits: their products
/// are exact up to 2^20 quarter turns.
Reduced reduce_moderate(MathValue x) {
  constexpr double parts[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049cp-104};
  MathValue n = nearest(x * 0x1.45f306dc9c883p-1);
  MathValue lost = x.number(0) - n * parts[3];
  MathValue sum = x - n * parts[0];
  sum = add_exactly(sum, -(n * parts[1]), lost);
  sum = add_exactly(sum, -(n * parts[2]), lost);
  MathValue high = sum + lost;
  return {high, lost - (high - sum), n - nearest(n * 0.25) * 4.0};
}

MathValue shift_right_unsigned(MathValue a, MathValue bits) { return a.binary(Opcode::kShrU, bits); }
MathValue shift_right_unsigned(MathValue a, int bits) { return shift_right_unsigned(a, a.integer(bits)); }
MathValue low_32(MathValue a) { return a & 0xffffffff; }

/// The 192 bits of 34 zeros and 2 / pi that begin at bit `offset`, 0 .. 1023, as six words of 32, the lowest first: a
/// barrel shifter, whose levels each move by a power of two of words where that bit of the offset is set.
std::array<MathValue, 6> two_over_pi(MathValue offset) {
  constexpr uint64_t bits[] = {0x0000000028be60db, 0x9391054a7f09d5f4, 0x7d4d377036d8a566, 0x4f10e4107f9458ea,
                               0xf7aef1586dc91b8e, 0x909374b801924bba, 0x827464873f877ac7, 0x2c4a69cfba208d7d,
                               0x4baed1213a671c09, 0xad17df904e64758e, 0x60d4ce7d272117e2, 0xef7e4a0ec7fe25ff,
                               0xf7816603fbcbc462, 0xd6829b47db4d9fb3, 0xc9f2c26dd3d18fd9, 0xa797fa8b5d49eeb1,
                               0xfaf97c5ecf41ce7d, 0xe294a4ba9afed7ec, 0x47e357421580cc11};
  std::vector<MathValue> words;
  for (uint64_t word : bits) words.push_back(offset.integer(static_cast<int64_t>(word)));
  for (int step = 8; step >= 1; step /= 2) {
    MathValue set = (offset & (64 * step)) != 0;
    // 4 words are wanted in the end, and the steps still to come reach step - 1 further.
    for (int i = 0; i < 4 + step - 1; ++i) words[i] = select(set, words[i + step], words[i]);
  }
  MathValue left = offset & 63;
  MathValue right = offset.integer(64) - left;  // A shift by 64 gives 0.
  auto window = [&](int i) { return words[i].binary(Opcode::kShl, left) | shift_right_unsigned(words[i + 1], right); };
  MathValue high = window(0), middle = window(1), low = window(2);
  return {low_32(low),  shift_right_unsigned(low, 32), low_32(middle), shift_right_unsigned(middle, 32),
          low_32(high), shift_right_unsigned(high, 32)};
}

/// integer * 2^-scale, for 0 <= integer < 2^32, exactly; an integer of magnitude below 2^32 if `negative` is allowed.
MathValue scaled_float(MathValue integer, int scale, bool negative = false) {
  const double shift = std::ldexp(negative ? 1.5 : 1.0, 52 - scale);
  return (integer + integer.integer(bit_cast<int64_t>(shift))).as_float() - shift;
}

/// (sum + lost) * pi / 2 for |lost| far below |sum|, to about twice the precision of f64.
Reduced quarters_to_radians(MathValue sum, MathValue lost, MathValue quarter) {
  constexpr double pi_high = 0x1.921fb5p+0, pi_low = 0x1.110b4611a6263p-26;  // 26 bits, so that products are exact.
  MathValue top = (sum.bits() & (-1LL << 27)).as_float();
  MathValue product = top * pi_high;
  MathValue tail = (sum - top) * pi_high + (sum * pi_low + lost * (pi_high + pi_low));
  MathValue high = product + tail;
  return {high, tail - (high - product), quarter};
}

/// For f64 from 2^20 to its largest number, after Payne and Hanek ("Radian reduction for trigonometric functions",
/// 1983): x = m 2^e with an integer m of 53 bits, and the bits of 2 / pi whose product with 2^e is a multiple of 4 give
/// whole turns. Of those that follow, 192 leave an error of 2^-125 quarter turns; no f64 is nearer than 2^-63 to a
/// multiple of one. Anything for other arguments.
Reduced reduce_large(MathValue x) {
  MathValue bits = x.bits();
  MathValue offset = shift_right_unsigned(bits, 52) - bits.integer(1023 + 20);
  std::array<MathValue, 6> words = two_over_pi(offset);
  MathValue significand = (bits & ((1LL << 52) - 1)) | bits.integer(1LL << 52);
  MathValue low = low_32(significand), high = shift_right_unsigned(significand, 32);
  // Words of the product modulo 2^192, in units of 2^-190, 2^-158, 2^-126, ... quarter turns. The first is too small to
  // matter. A column is added in two steps, since 2^64 doesn't hold it.
  std::array<MathValue, 6> product = words;
  MathValue carry = bits.integer(0);
  MathValue next = bits.integer(0);
  for (int i = 1; i < 6; ++i) {
    MathValue column = low * words[i] + carry;
    carry = shift_right_unsigned(column, 32);
    column = low_32(column) + high * words[i - 1] + next;
    next = shift_right_unsigned(column, 32);
    product[i] = low_32(column);
  }
  MathValue quarter = (product[5] + bits.integer(1LL << 29)) >> 30;
  MathValue sum = scaled_float(product[5] - (quarter << 30), 30, true);
  MathValue lost = scaled_float(product[2], 126);
  sum = add_exactly(sum, scaled_float(product[4], 62), lost);
  sum = add_exactly(sum, scaled_float(product[3], 94), lost);
  return quarters_to_radians(sum, lost, scaled_float(quarter, 0));
}

Reduced reduce_64(MathValue x) {
  Reduced moderate = reduce_moderate(x), large = reduce_large(x);
  MathValue is_large = x.number(1.6e6) < x;
  return {select(is_large, large.high, moderate.high), select(is_large, large.low, moderate.low),
          select(is_large, large.quarter, moderate.quarter)};
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
