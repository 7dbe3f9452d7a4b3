#pragma once

#include <cstdint>

#include "core/base/bits.h"
#include "core/base/dtype.h"

namespace tandem {

/// One f16 or bf16 element as it is stored: bits only, no arithmetic.
struct Float16 {
  static constexpr DType kDType = DType::kF16;
  uint16_t bits = 0;
};
struct BFloat16 {
  static constexpr DType kDType = DType::kBF16;
  uint16_t bits = 0;
};

/// IEEE 754 binary16 from f32: nearest even, denormals kept, overflow to infinity, every NaN to 0x7E00.
constexpr uint16_t f16_from_f32(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7E00;
  // 65520 = 65504 + half a unit in the last place is the first value that rounds to infinity.
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);
  uint32_t significand;
  int dropped;  // bits to round away
  uint32_t base;
  if (magnitude >= 0x38800000u) {  // normal f16
    significand = magnitude & 0x007FFFFFu;
    dropped = 13;
    base = ((magnitude >> 23) - 112) << 10;
  } else {
    const int exponent = static_cast<int>(magnitude >> 23);
    if (exponent < 102) return sign;  // below half of the smallest denormal
    significand = (magnitude & 0x007FFFFFu) | 0x00800000u;
    dropped = 126 - exponent;
    base = 0;
  }
  uint32_t kept = significand >> dropped;
  const uint32_t rest = significand & ((1u << dropped) - 1);
  const uint32_t half = 1u << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1u) != 0)) kept++;
  return static_cast<uint16_t>(sign | (base + kept));  // a carry out of the significand raises the exponent
}

/// Exact.
constexpr float f32_from_f16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t significand = half & 0x3FFu;
  if (exponent == 31) return bit_cast<float>(sign | 0x7F800000u | (significand << 13));
  if (exponent != 0) return bit_cast<float>(sign | ((exponent + 112) << 23) | (significand << 13));
  const float magnitude = static_cast<float>(significand) * 0x1p-24f;
  return bit_cast<float>(sign | bit_cast<uint32_t>(magnitude));
}

/// bf16 from f32: nearest even, denormals kept, every NaN to 0x7FC0.
constexpr uint16_t bf16_from_f32(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// Exact.
constexpr float f32_from_bf16(uint16_t half) { return bit_cast<float>(static_cast<uint32_t>(half) << 16); }

}  // namespace tandem
