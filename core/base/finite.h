#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tandem {

/// Position of the first f32 that is infinite or NaN; the number of elements when there is none. The bytes may lie
/// anywhere. Weights have millions of elements, and a browser runs the first pass over them in code that was compiled
/// in a hurry: two elements at a time, one branch per block.
inline size_t first_non_finite_f32(std::span<const std::byte> bytes) {
  constexpr uint64_t kExponents = 0x7F800000'7F800000ull;
  constexpr uint64_t kSigns = 0x80000000'80000000ull;
  constexpr size_t kBlock = 1024;
  const size_t count = bytes.size() / 4;
  size_t begin = 0;
  for (; begin + kBlock <= count; begin += kBlock) {
    uint64_t found = 0;
    for (size_t i = begin; i < begin + kBlock; i += 2) {
      uint64_t pair = 0;
      std::memcpy(&pair, bytes.data() + 4 * i, 8);
      // An exponent of all ones carries into the place of the sign.
      found |= (pair & kExponents) + 0x00800000'00800000ull;
    }
    if ((found & kSigns) != 0) break;
  }
  for (; begin < count; begin++) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + 4 * begin, 4);
    if ((bits & 0x7F800000u) == 0x7F800000u) return begin;
  }
  return count;
}

}  // namespace tandem
