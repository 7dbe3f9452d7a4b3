// Conversions of f16 and bf16 bits.
#include "core/kernel/math_value.h"

namespace tandem {

ValueId half_to_float(MathContext context, ValueId bits) {
  if (context.half_conversion) return context.builder.convert(Opcode::kHalfToFloat, bits, Scalar::kF32);
  MathValue half(context, bits);
  MathValue magnitude = half & 0x7fff;
  // With the fields moved into place the number is 2^-112 of what it should be. Multiplying would do for denormals too,
  // but a mode that flushes denormal operands must not lose them: they are counts of 2^-24.
  MathValue normal = ((magnitude << 13) + half.integer(int64_t{112} << 23)).as_float();
  MathValue denormal = magnitude.convert(Opcode::kToFloat, Scalar::kF32) * 0x1p-24;
  MathValue special = ((magnitude << 13) | half.integer(0x7f800000)).as_float();
  MathValue result = select(magnitude < half.integer(0x400), denormal, normal);
  result = select(magnitude < half.integer(0x7c00), result, special);
  return flip_sign(result, (half & 0x8000) << 16).id();
}

ValueId float_to_half(MathContext context, ValueId value) {
  if (context.half_conversion) return context.builder.convert(Opcode::kFloatToHalf, value, Scalar::kI32);
  MathValue x(context, value);
  MathValue magnitude = absolute(x);
  MathValue bits = magnitude.bits();
  // Normal results: the rounding of the dropped 13 bits may carry into the exponent, up to infinity.
  MathValue odd = (bits >> 13) & 1;
  MathValue normal = (bits + odd + bits.integer(0xfff - (int64_t{112} << 23))) >> 13;
  MathValue infinity = bits.integer(0x7c00);
  normal = select(magnitude < 65520.0, normal, infinity);
  // Denormal results: adding 1/2 leaves the count of 2^-24, rounded to nearest even, in the low bits.
  MathValue denormal = (magnitude + 0.5).bits() - bits.integer(0x3f000000);
  MathValue result = select(magnitude < 0x1p-14, denormal, normal);
  result = select(x == x, result, bits.integer(0x7e00));
  return (result | (sign_bit(x).binary(Opcode::kShrU, bits.integer(16)))).id();
}

ValueId bfloat16_to_float(MathContext context, ValueId bits) {
  return (MathValue(context, bits) << 16).as_float().id();
}

ValueId float_to_bfloat16(MathContext context, ValueId value) {
  MathValue x(context, value);
  MathValue bits = x.bits();
  MathValue odd = (bits >> 16) & 1;
  MathValue rounded = (bits + odd + bits.integer(0x7fff)).binary(Opcode::kShrU, bits.integer(16));
  return select(x == x, rounded, bits.integer(0x7fc0)).id();
}

}  // namespace tandem
