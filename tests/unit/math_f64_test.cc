// The f64 functions of core/kernel/math.h against the C library's in long double (64 bits of fraction).
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

static_assert(std::numeric_limits<long double>::digits >= 64, "the reference needs more precision than f64");

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Function {
  const char* name;
  ValueId (*make)(MathContext context, ValueId x);
  long double (*reference)(long double x);
  double bound[2];             ///< In ulps: separate roundings, fused.
  double largest = kInfinity;  ///< The result never exceeds this in magnitude.
};

// Bounds as stated in math.h.
const Function kFunctions[] = {
    {"exp", exponential, [](long double x) { return std::exp(x); }, {1.2, 0.9}},
    {"log", logarithm, [](long double x) { return std::log(x); }, {0.9, 0.9}},
    {"sigmoid",
     sigmoid,
     [](long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); },
     {2.6, 2.6},
     1},
    {"tanh", hyperbolic_tangent, [](long double x) { return std::tanh(x); }, {2.6, 2.6}, 1},
    {"erf", error_function, [](long double x) { return std::erf(x); }, {2.5, 2.0}, 1},
    {"sin", sine, [](long double x) { return std::sin(x); }, {0.9, 0.9}, 1},
    {"cos", cosine, [](long double x) { return std::cos(x); }, {0.9, 0.9}, 1},
};

LaneProgram program_of(const Function& function, bool fused) {
  return LaneProgram({DType::kF64}, DType::kF64, [&](KernelBuilder& builder, const std::vector<ValueId>& arguments) {
    MathContext context{builder};
    context.fused = fused;
    return function.make(context, arguments[0]);
  });
}

template <typename Next>
void check(const Function& function, bool fused, int64_t count, Next next) {
  LaneProgram program = program_of(function, fused);
  double worst = 0, where = 0, found = 0;
  std::vector<Lanes> x(1);
  for (int64_t begin = 0; begin < count; begin += LaneProgram::kLanes) {
    for (int i = 0; i < LaneProgram::kLanes; ++i) x[0].f64[i] = next(begin + i);
    const Lanes& y = program.run(x);
    for (int i = 0; i < LaneProgram::kLanes; ++i) {
      const double argument = x[0].f64[i], actual = y.f64[i];
      double distance = ulps(actual, function.reference(argument));
      if (!(std::fabs(actual) <= function.largest) && !std::isnan(function.reference(argument))) distance = 1e30;
      if (distance <= worst) continue;
      worst = distance;
      where = argument;
      found = actual;
    }
  }
  EXPECT_LE(worst, function.bound[fused])
      << function.name << "(" << where << ") = " << found << (fused ? ", fused" : "");
  testing::Test::RecordProperty(std::string(function.name) + (fused ? "_fused" : ""), std::to_string(worst));
}

class MathF64 : public testing::TestWithParam<std::tuple<Function, bool>> {};

TEST_P(MathF64, AllExponents) {
  const auto& [function, fused] = GetParam();
  check(function, fused, 250'000, [](int64_t i) { return bit_cast<double>(hash_mix(1, static_cast<uint64_t>(i))); });
}

TEST_P(MathF64, EvenlySpaced) {
  const auto& [function, fused] = GetParam();
  for (double range : {3.2e6, 1e6, 800.0, 40.0, 6.0, 1.0}) {
    constexpr int half = 25'000;
    check(function, fused, 2 * half, [range](int64_t i) {
      return (static_cast<double>(i) - half + static_cast<double>(hash_mix(2, static_cast<uint64_t>(i))) * 0x1p-64) *
             (range / half);
    });
  }
}

TEST_P(MathF64, NearMultiplesOfAQuarterTurn) {
  const auto& [function, fused] = GetParam();
  check(function, fused, 100'000, [](int64_t i) {
    return static_cast<double>(static_cast<long double>(i - 50'000) * 1.57079632679489661923132169163975144L);
  });
}

// Where the reduction of sin and cos cancels most.
TEST_P(MathF64, NearLargeMultiplesOfAQuarterTurn) {
  const auto& [function, fused] = GetParam();
  check(function, fused, 100'000, [](int64_t i) {
    const uint64_t multiple = hash_mix(3, static_cast<uint64_t>(i)) >> (i % 44);
    return static_cast<double>(static_cast<long double>(multiple) * 1.57079632679489661923132169163975144L);
  });
}

TEST_P(MathF64, SpecialValues) {
  const auto& [function, fused] = GetParam();
  const std::vector<double> special = {
      0.0,       -0.0,    kInfinity, -kInfinity, kNaN,
      5e-324,    -5e-324, 1e-310,    -1e-310,    1e-308,
      -1e-308,   1.7e308, -1.7e308,  1.0,        -1.0,
      709.78,    709.79,  -745.1,    -745.2,     -708.3,
      -708.5,    746.0,   19.07,     5.94,       0.5,
      1e-20,     -1e-20,  0x1p-1022, 2.0,        1e22,
      4194305.5, 1.6e6,   0x1p+52,   0x1p+1023,  0x1.6ac5b262ca1ffp+849};  // The last: nearest to k pi / 2.
  LaneProgram program = program_of(function, fused);
  for (double argument : special) {
    std::vector<Lanes> x(1);
    for (double& lane : x[0].f64) lane = argument;
    const double actual = program.run(x).f64[0];
    const long double expected = function.reference(argument);
    EXPECT_LE(ulps(actual, expected), function.bound[fused]) << function.name << "(" << argument << ") = " << actual;
    if (expected == 0) {
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << function.name << " of " << argument;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, MathF64, testing::Combine(testing::ValuesIn(kFunctions), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) ? "Fused" : "Separate");
                         });

}  // namespace
}  // namespace tandem
