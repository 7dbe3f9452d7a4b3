#pragma once

#include <cstdint>
#include <vector>

namespace tandem::reference {

/// Random numbers that are the same on every platform and in JavaScript (mulberry32: 32-bit arithmetic only). The
/// distributions of <random> differ between standard libraries.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed) {}

  uint32_t next() {
    state_ += 0x6D2B79F5u;
    uint32_t x = state_;
    x = (x ^ (x >> 15)) * (x | 1u);
    x ^= x + (x ^ (x >> 7)) * (x | 61u);
    return x ^ (x >> 14);
  }
  /// 0 .. count - 1.
  int64_t below(int64_t count) {
    return static_cast<int64_t>((static_cast<uint64_t>(next()) * static_cast<uint64_t>(count)) >> 32);
  }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  /// In [low, high): low + (high - low) * next() / 2^32.
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(next()) * 0x1p-32); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }

 private:
  uint32_t state_;
};

}  // namespace tandem::reference
