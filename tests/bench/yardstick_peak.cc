#include "tests/bench/yardstick_peak.h"

namespace tandem::bench::peak {
namespace {

constexpr int kRounds = 4000;
// Enough independent chains for two instructions a cycle of 4 (fused) or 6 cycles' latency, in 16 registers.
constexpr int kChains = 13;

template <int kLanes>
using Vector = float __attribute__((vector_size(kLanes * 4)));

template <int kLanes, bool kFused>
int64_t spin() {
  Vector<kLanes> sums[kChains] = {}, x = Vector<kLanes>{} + 0.5f, y = Vector<kLanes>{} + 1.0f;
  __asm__ volatile("" : "+x"(x), "+x"(y));
  for (int round = 0; round < kRounds; round++) {
#pragma unroll
    for (int i = 0; i < kChains; i++) {
      if constexpr (kFused) {
#pragma clang fp contract(fast)
        sums[i] = sums[i] * x + y;
      } else {
#pragma clang fp contract(off)
        sums[i] = sums[i] * x + y;
      }
    }
  }
  for (auto& sum : sums) __asm__ volatile("" : "+x"(sum));
  return int64_t{kRounds} * kChains * kLanes * 2;
}

}  // namespace

int64_t multiply_adds(int lanes, bool fused) {
  if (!fused) return spin<4, false>();
  return lanes == 16 ? spin<16, true>() : lanes == 8 ? spin<8, true>() : spin<4, true>();
}

float read(const float* from, size_t count) {
  typedef float Loose __attribute__((vector_size(64), aligned(4)));
  Vector<16> sums[8] = {};
  // Several streams at once: one alone does not keep the memory busy.
  const size_t part = count / 128 * 16;
  for (size_t i = 0; i < part; i += 16)
#pragma unroll
    for (size_t k = 0; k < 8; k++) sums[k] += *reinterpret_cast<const Loose*>(from + i + part * k);
  Vector<16> total{};
  for (const auto& sum : sums) total += sum;
  return total[0] + total[1];
}

}  // namespace tandem::bench::peak
