// pow of core/kernel/math.h against the C library's in the next wider type, and IEEE 754's special values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/bits.h"
#include "core/kernel/math.h"
#include "tests/support/lane_program.h"
#include "tests/support/ulps.h"

namespace tandem {
namespace {

using test::LaneProgram;
using test::ulps;

template <typename T>
T* lanes_of(Lanes& lanes) {
  if constexpr (std::is_same_v<T, float>) return lanes.f32;
  if constexpr (std::is_same_v<T, double>) return lanes.f64;
}

/// T is f32 or f64, Reference the type that the C library computes in.
template <typename T, typename Reference>
struct Power {
  LaneProgram program;
  std::vector<Lanes> arguments = std::vector<Lanes>(2);

  explicit Power(bool fused)
      : program({dtype(), dtype()}, dtype(), [&](KernelBuilder& builder, const std::vector<ValueId>& values) {
          MathContext context{builder};
          context.fused = fused;
          return power(context, values[0], values[1]);
        }) {}
  static DType dtype() { return sizeof(T) == 4 ? DType::kF32 : DType::kF64; }

  /// Largest distance over pairs that next(i) gives.
  template <typename Next>
  void check(int64_t count, double bound, Next next) {
    double worst = 0;
    T where[3] = {};
    for (int64_t begin = 0; begin < count; begin += LaneProgram::kLanes) {
      for (int i = 0; i < LaneProgram::kLanes; ++i) {
        std::pair<T, T> pair = next(begin + i);
        lanes_of<T>(arguments[0])[i] = pair.first;
        lanes_of<T>(arguments[1])[i] = pair.second;
      }
      Lanes result = program.run(arguments);
      for (int i = 0; i < LaneProgram::kLanes; ++i) {
        const T x = lanes_of<T>(arguments[0])[i], y = lanes_of<T>(arguments[1])[i], actual = lanes_of<T>(result)[i];
        const double distance = ulps(actual, std::pow(Reference{x}, Reference{y}));
        if (distance <= worst) continue;
        worst = distance;
        where[0] = x;
        where[1] = y;
        where[2] = actual;
      }
    }
    EXPECT_LE(worst, bound) << "pow(" << where[0] << ", " << where[1] << ") = " << where[2];
    testing::Test::RecordProperty("worst", std::to_string(worst));
  }

  void check_all(double bound) {
    const auto random = [](int64_t i, uint64_t seed) { return hash_mix(seed, static_cast<uint64_t>(i)); };
    const auto unit = [&](int64_t i, uint64_t seed) { return static_cast<double>(random(i, seed)) * 0x1p-64; };
    const auto any = [&](int64_t i, uint64_t seed) {
      if constexpr (sizeof(T) == 4) return bit_cast<float>(static_cast<uint32_t>(random(i, seed)));
      if constexpr (sizeof(T) == 8) return bit_cast<double>(random(i, seed));
    };
    constexpr int count = 100'000;
    check(count, bound, [&](int64_t i) { return std::pair<T, T>(any(i, 1), any(i, 2)); });
    // Any base, with an exponent that gives results of every size.
    check(2 * count, bound, [&](int64_t i) {
      const T x = std::fabs(any(i, 3));
      const double range = sizeof(T) == 4 ? 105 : 750;
      return std::pair<T, T>(x, static_cast<T>((unit(i, 4) * 2 - 1) * range / std::log(static_cast<double>(x))));
    });
    check(count, bound, [&](int64_t i) {  // near 1
      return std::pair<T, T>(static_cast<T>(1 + (unit(i, 5) - 0.5) * 0x1p-6), static_cast<T>((unit(i, 6) - 0.5) * 4e4));
    });
    check(count, bound, [&](int64_t i) {
      return std::pair<T, T>(static_cast<T>(unit(i, 7) * 20 - 10), static_cast<T>(random(i, 8) % 41) - T{20});
    });
    const T infinity = std::numeric_limits<T>::infinity();
    const T special[] = {0,
                         T{-0.0},
                         1,
                         -1,
                         infinity,
                         -infinity,
                         std::numeric_limits<T>::quiet_NaN(),
                         2,
                         -2,
                         3,
                         -3,
                         T{0.5},
                         T{-0.5},
                         T{1.5},
                         T{-2.5},
                         std::numeric_limits<T>::denorm_min(),
                         -std::numeric_limits<T>::denorm_min(),
                         std::numeric_limits<T>::max(),
                         -std::numeric_limits<T>::max(),
                         std::numeric_limits<T>::min(),
                         T{1} + std::numeric_limits<T>::epsilon(),
                         T{1} - std::numeric_limits<T>::epsilon() / 2,
                         T{8388607},
                         T{-8388607},
                         T{16777215},
                         T{1e-10},
                         T{1e10}};
    for (const T x : special) {
      for (const T y : special) {
        for (int i = 0; i < LaneProgram::kLanes; ++i) {
          lanes_of<T>(arguments[0])[i] = x;
          lanes_of<T>(arguments[1])[i] = y;
        }
        Lanes result = program.run(arguments);
        const T actual = lanes_of<T>(result)[0];
        const T expected = std::pow(x, y);
        EXPECT_LE(ulps(actual, std::pow(Reference{x}, Reference{y})), bound)
            << "pow(" << x << ", " << y << ") = " << actual;
        if (!std::isnan(expected)) {
          EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << "pow(" << x << ", " << y << ") = " << actual;
        }
      }
    }
  }
};

// Bounds as stated in math.h.
TEST(MathPower, F32) {
  for (bool fused : {false, true}) Power<float, double>(fused).check_all(0.51);
}

TEST(MathPower, F64) {
  for (bool fused : {false, true}) Power<double, long double>(fused).check_all(1.5);
}

TEST(MathPower, WholePowersAreExact) {
  Power<float, double> power(false);
  for (int x = -12; x <= 12; ++x) {
    for (int y = 0; y <= 6; ++y) {
      for (float& lane : power.arguments[0].f32) lane = static_cast<float>(x);
      for (float& lane : power.arguments[1].f32) lane = static_cast<float>(y);
      double expected = 1;
      for (int i = 0; i < y; ++i) expected *= x;
      EXPECT_EQ(power.program.run(power.arguments).f32[0], expected) << x << "^" << y;
    }
  }
}

}  // namespace
}  // namespace tandem
