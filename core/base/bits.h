#pragma once

#include <cstdint>
#include <cstring>

namespace tandem {

/// std::bit_cast for the oldest standard library that the core is built with.
template <typename To, typename From>
constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// One step of a 64-bit hash of a sequence of words (the mixer of splitmix64).
constexpr uint64_t hash_mix(uint64_t seed, uint64_t value) {
  uint64_t x = seed ^ (value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace tandem
