// The f32 functions of core/kernel/math.h against the C library's in f64, over all exponents.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/bits.h"
#include "core/kernel/math.h"
#include "tests/support/lane_program.h"
#include "tests/support/ulps.h"

namespace tandem {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using test::LaneProgram;
using test::ulps;

struct Function {
  const char* name;
  ValueId (*make)(MathContext context, ValueId x);
  double (*reference)(double x);
  double bound[2];             ///< In ulps: separate roundings, fused.
  double largest = kInfinity;  ///< The result never exceeds this in magnitude.
};

// Bounds as stated in math.h.
const Function kFunctions[] = {
    {"exp", exponential, [](double x) { return std::exp(x); }, {1.2, 0.9}},
    {"log", logarithm, [](double x) { return std::log(x); }, {0.9, 0.9}},
    {"sigmoid",
     sigmoid,
     [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); },
     {2.6, 2.6},
     1},
    {"tanh", hyperbolic_tangent, [](double x) { return std::tanh(x); }, {2.6, 2.6}, 1},
    {"erf", error_function, [](double x) { return std::erf(x); }, {2.5, 2.0}, 1},
    {"sin", sine, [](double x) { return std::sin(x); }, {1.6, 1.6}, 1},
    {"cos", cosine, [](double x) { return std::cos(x); }, {1.6, 1.6}, 1},
};

LaneProgram program_of(const Function& function, bool fused) {
  return LaneProgram({DType::kF32}, DType::kF32, [&](KernelBuilder& builder, const std::vector<ValueId>& arguments) {
    MathContext context{builder};
    context.fused = fused;
    return function.make(context, arguments[0]);
  });
}

/// Largest distance over the arguments next(0) .. next(count - 1), and where.
template <typename Next>
void check(const Function& function, bool fused, int64_t count, Next next) {
  LaneProgram program = program_of(function, fused);
  double worst = 0;
  float where = 0, found = 0;
  std::vector<Lanes> x(1);
  for (int64_t begin = 0; begin < count; begin += LaneProgram::kLanes) {
    for (int i = 0; i < LaneProgram::kLanes; ++i) x[0].f32[i] = next(begin + i);
    const Lanes& y = program.run(x);
    for (int i = 0; i < LaneProgram::kLanes; ++i) {
      double distance = ulps(y.f32[i], function.reference(x[0].f32[i]));
      if (std::fabs(y.f32[i]) > function.largest) distance = 1e30;
      if (distance <= worst) continue;
      worst = distance;
      where = x[0].f32[i];
      found = y.f32[i];
    }
  }
  EXPECT_LE(worst, function.bound[fused]) << function.name << "(" << where << ") = " << found << ", expected "
                                          << function.reference(where) << (fused ? ", fused" : "");
  testing::Test::RecordProperty(std::string(function.name) + (fused ? "_fused" : ""), std::to_string(worst));
}

class MathF32 : public testing::TestWithParam<std::tuple<Function, bool>> {};

TEST_P(MathF32, AllExponents) {
  const auto& [function, fused] = GetParam();
  constexpr uint32_t stride = 2047;  // Odd, so that every exponent gets other mantissas.
  check(function, fused, int64_t{UINT32_MAX} / stride,
        [](int64_t i) { return bit_cast<float>(static_cast<uint32_t>(i) * stride); });
}

TEST_P(MathF32, EvenlySpaced) {
  const auto& [function, fused] = GetParam();
  constexpr int half = 1 << 20;
  check(function, fused, 2 * half, [](int64_t i) { return static_cast<float>((i - half) * (110.0 / half)); });
  check(function, fused, 2 * half, [](int64_t i) { return static_cast<float>((i - half) * (5.0 / half)); });
}

TEST_P(MathF32, EveryHalf) {
  const auto& [function, fused] = GetParam();
  check(function, fused, 1 << 16, [](int64_t i) { return half_bits_to_float(static_cast<uint32_t>(i)); });
}

TEST_P(MathF32, SpecialValues) {
  const auto& [function, fused] = GetParam();
  const std::vector<float> special = {0.f,     -0.f,   kInfinity, -kInfinity, kNaN,   1e-45f,  -1e-45f, 1e-38f,
                                      -1e-38f, 3e38f,  -3e38f,    1.f,        -1.f,   -104.f,  -103.9f, 88.73f,
                                      88.72f,  -87.4f, -87.3f,    89.f,       0.5f,   9.02f,   -3.93f,  2.f,
                                      20.f,    -20.f,  0x1p-126f, 0x1p-127f,  1e-20f, -1e-20f, 100.f,   1e10f};
  LaneProgram program = program_of(function, fused);
  for (float argument : special) {
    std::vector<Lanes> x(1);
    for (float& lane : x[0].f32) lane = argument;
    const float actual = program.run(x).f32[0];
    const auto expected = static_cast<float>(function.reference(argument));
    EXPECT_LE(ulps(actual, function.reference(argument)), function.bound[fused])
        << function.name << "(" << argument << ") = " << actual;
    if (expected == 0) {
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << function.name << " of " << argument;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, MathF32, testing::Combine(testing::ValuesIn(kFunctions), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) ? "Fused" : "Separate");
                         });

}  // namespace
}  // namespace tandem
