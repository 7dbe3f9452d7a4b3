// Every instruction's meaning, against expectations written from instructions.def, IEEE 754 and the ranges of integers:
// none of them is computed by the project's own code.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/interpreter/interpreter.h"
#include "core/base/bits.h"
#include "core/base/text.h"
#include "tests/support/kernel_runner.h"

namespace tandem {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int32_t kSmallest = std::numeric_limits<int32_t>::min(), kLargest = std::numeric_limits<int32_t>::max();
constexpr int64_t kSmallest64 = std::numeric_limits<int64_t>::min(), kLargest64 = std::numeric_limits<int64_t>::max();

template <typename T>
constexpr const char* kScalar =
    sizeof(T) == 8 ? (std::is_floating_point_v<T> ? "f64" : "i64") : (std::is_floating_point_v<T> ? "f32" : "i32");

template <typename T>
bool same_bits(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  }
  return a == b;
}

/// One operand, one line `operation` such as "sqrt f32 v1".
template <typename A, typename R>
void expect_unary(const std::string& opcode, A a, R expected) {
  const Kernel kernel = parse_kernel(concat("kernel {\n buffer b0 read ", kScalar<A>, "[1]\n buffer b1 write ",
                                            kScalar<R>, "[1]\n v0 = load ", kScalar<A>, " b0[0]\n v1 = ", opcode, " ",
                                            kScalar<R>, " v0\n store ", kScalar<R>, " v1 b1[0]\n}\n"));
  InterpreterBackend backend;
  std::vector<A> in = {a};
  std::vector<R> out = {R(77)};
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}), "");
  EXPECT_TRUE(same_bits(out[0], expected)) << opcode << " " << a << ": " << out[0] << ", not " << expected;
}

template <typename T>
T run_binary(const std::string& opcode, T a, T b) {
  const Kernel kernel =
      parse_kernel(concat("kernel {\n buffer b0 read ", kScalar<T>, "[2]\n buffer b1 write ", kScalar<T>,
                          "[1]\n v0 = load ", kScalar<T>, " b0[0]\n v1 = load ", kScalar<T>, " b0[1]\n v2 = ", opcode,
                          " ", kScalar<T>, " v0 v1\n store ", kScalar<T>, " v2 b1[0]\n}\n"));
  InterpreterBackend backend;
  std::vector<T> in = {a, b}, out = {T(77)};
  EXPECT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}), "");
  return out[0];
}

template <typename T>
void expect_binary(const std::string& opcode, T a, T b, T expected) {
  const T result = run_binary(opcode, a, b);
  EXPECT_TRUE(same_bits(result, expected)) << opcode << " " << a << ", " << b << ": " << result << ", not " << expected;
}

template <typename T>
void expect_comparison(const std::string& opcode, T a, T b, bool expected) {
  const std::string mask = sizeof(T) == 8 ? "mask64" : "mask32";
  const Kernel kernel =
      parse_kernel(concat("kernel {\n buffer b0 read ", kScalar<T>, "[2]\n buffer b1 write ", kScalar<T>,
                          "[1]\n v0 = load ", kScalar<T>, " b0[0]\n v1 = load ", kScalar<T>, " b0[1]\n v2 = ", opcode,
                          " ", mask, " v0 v1\n v3 = constant ", kScalar<T>, " 1\n v4 = constant ", kScalar<T>,
                          " 0\n v5 = select ", kScalar<T>, " v2 v3 v4\n store ", kScalar<T>, " v5 b1[0]\n}\n"));
  InterpreterBackend backend;
  std::vector<T> in = {a, b}, out = {T(77)};
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}), "");
  EXPECT_EQ(out[0], expected ? T(1) : T(0)) << opcode << " " << a << ", " << b;
}

TEST(InterpreterSemantics, MinimumAndMaximumOfFloats) {
  expect_binary("min", 0.0f, -0.0f, -0.0f);
  expect_binary("min", -0.0f, 0.0f, -0.0f);
  expect_binary("max", 0.0f, -0.0f, 0.0f);
  expect_binary("max", -0.0f, 0.0f, 0.0f);
  expect_binary("max", -0.0f, -0.0f, -0.0f);
  expect_binary("min", 1.0f, 2.0f, 1.0f);
  expect_binary("max", -kInfinity, kInfinity, kInfinity);
  for (const char* opcode : {"min", "max"}) {
    expect_binary(opcode, kNan, 1.0f, kNan);
    expect_binary(opcode, 1.0f, kNan, kNan);
    expect_binary(opcode, static_cast<double>(kNan), -1.0, static_cast<double>(kNan));
  }
}

TEST(InterpreterSemantics, MinimumAndMaximumOfIntegers) {
  expect_binary<int32_t>("min", -1, 1, -1);
  expect_binary<int32_t>("max", -1, 1, 1);
  expect_binary<int32_t>("min_u", -1, 1, 1);
  expect_binary<int32_t>("max_u", -1, 1, -1);
  expect_binary<int64_t>("min_u", kSmallest64, 5, 5);
}

TEST(InterpreterSemantics, IntegerArithmeticWraps) {
  expect_binary<int32_t>("add", kLargest, 1, kSmallest);
  expect_binary<int32_t>("sub", kSmallest, 1, kLargest);
  expect_binary<int32_t>("mul", 65536, 65536, 0);
  expect_binary<int64_t>("mul", kLargest64, 2, -2);
  expect_unary<int32_t, int32_t>("neg", kSmallest, kSmallest);
  expect_unary<int32_t, int32_t>("abs", kSmallest, kSmallest);
  expect_unary<int32_t, int32_t>("abs", -7, 7);
}

TEST(InterpreterSemantics, IntegerDivisionIsAlwaysDefined) {
  expect_binary<int32_t>("div", 7, -2, -3);
  expect_binary<int32_t>("div", -7, 2, -3);
  expect_binary<int32_t>("div", 7, 0, 0);
  expect_binary<int32_t>("div", kSmallest, -1, kSmallest);
  expect_binary<int32_t>("rem", -7, 2, -1);
  expect_binary<int32_t>("rem", 7, 0, 7);
  expect_binary<int32_t>("rem", kSmallest, -1, 0);
  expect_binary<int64_t>("div", kSmallest64, -1, kSmallest64);
  expect_binary<int64_t>("rem", kSmallest64, -1, 0);
  expect_binary<int32_t>("div_u", -1, 2, kLargest);
  expect_binary<int32_t>("div_u", 7, 0, 0);
  expect_binary<int32_t>("rem_u", -1, 16, 15);
  expect_binary<int32_t>("rem_u", 7, 0, 7);
}

TEST(InterpreterSemantics, ShiftsBeyondTheWidth) {
  expect_binary<int32_t>("shl", 1, 31, kSmallest);
  expect_binary<int32_t>("shl", 1, 32, 0);
  expect_binary<int32_t>("shl", 1, -1, 0);
  expect_binary<int32_t>("shr", kSmallest, 31, -1);
  expect_binary<int32_t>("shr", kSmallest, 32, -1);
  expect_binary<int32_t>("shr", kSmallest, -1, -1);
  expect_binary<int32_t>("shr", kLargest, 99, 0);
  expect_binary<int32_t>("shr_u", -1, 31, 1);
  expect_binary<int32_t>("shr_u", -1, 32, 0);
  expect_binary<int32_t>("shr_u", -1, -1, 0);
  expect_binary<int64_t>("shl", 1, 63, kSmallest64);
  expect_binary<int64_t>("shl", 1, 64, 0);
  expect_binary<int64_t>("shr", -8, 1, -4);
}

TEST(InterpreterSemantics, Bits) {
  expect_binary<int32_t>("and", 12, 10, 8);
  expect_binary<int32_t>("or", 12, 10, 14);
  expect_binary<int32_t>("xor", 12, 10, 6);
  expect_unary<int32_t, int32_t>("not", 0, -1);
  expect_unary<int64_t, int64_t>("not", 5, -6);
}

TEST(InterpreterSemantics, FloatArithmetic) {
  expect_binary("add", 16777216.0f, 1.0f, 16777216.0f);
  expect_binary("div", 1.0f, 3.0f, 0x1.555556p-2f);
  expect_binary("div", 1.0f, 0.0f, kInfinity);
  expect_binary("div", -1.0f, 0.0f, -kInfinity);
  expect_binary("div", 0.0f, 0.0f, kNan);
  expect_binary("sub", kInfinity, kInfinity, kNan);
  expect_binary("mul", 0x1p-100f, 0x1p-49f, 0x1p-149f);  // the smallest denormal
  expect_binary("mul", 0x1p-100f, 0x1p-50f, 0.0f);       // half of it: to even
  expect_unary("sqrt", 2.0f, 0x1.6a09e6p+0f);
  expect_unary("sqrt", -0.0f, -0.0f);
  expect_unary("sqrt", -1.0f, kNan);
  expect_unary("neg", 0.0f, -0.0f);
  expect_unary("abs", -0.0f, 0.0f);
  expect_unary("abs", -kInfinity, kInfinity);
}

TEST(InterpreterSemantics, FmaRoundsOnce) {
  const Kernel kernel = parse_kernel(
      "kernel {\n buffer b0 read f32[3]\n buffer b1 write f32[1]\n v0 = load f32 b0[0]\n v1 = load f32 b0[1]\n"
      " v2 = load f32 b0[2]\n v3 = fma f32 v0 v1 v2\n store f32 v3 b1[0]\n}\n");
  InterpreterBackend backend;
  std::vector<float> in = {1.0f + 0x1p-12f, 1.0f - 0x1p-12f, -1.0f}, out = {0.0f};
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}), "");
  EXPECT_EQ(out[0], -0x1p-24f);  // with two roundings it is 0
}

TEST(InterpreterSemantics, Rounding) {
  expect_unary("nearest", 0.5f, 0.0f);
  expect_unary("nearest", 1.5f, 2.0f);
  expect_unary("nearest", 2.5f, 2.0f);
  expect_unary("nearest", -0.5f, -0.0f);
  expect_unary("nearest", 8388609.0f, 8388609.0f);
  expect_unary("floor", -0.5f, -1.0f);
  expect_unary("ceil", -0.5f, -0.0f);
  expect_unary("trunc", -1.7, -1.0);
  expect_unary("floor", kNan, kNan);
}

TEST(InterpreterSemantics, Comparisons) {
  for (const char* opcode : {"eq", "lt", "le"}) expect_comparison(opcode, kNan, kNan, false);
  expect_comparison("ne", kNan, kNan, true);
  expect_comparison("eq", 0.0f, -0.0f, true);
  expect_comparison("lt", -0.0f, 0.0f, false);
  expect_comparison("le", 1.0, 1.0, true);
  expect_comparison<int32_t>("lt", -1, 1, true);
  expect_comparison<int32_t>("lt_u", -1, 1, false);
  expect_comparison<int64_t>("le_u", 1, -1, true);
}

TEST(InterpreterSemantics, FloatsToIntegersSaturate) {
  expect_unary<float, int32_t>("to_int", 2147483648.0f, kLargest);
  expect_unary<float, int32_t>("to_int", 2147483520.0f, 2147483520);
  expect_unary<float, int32_t>("to_int", -kInfinity, kSmallest);
  expect_unary<float, int32_t>("to_int", kNan, 0);
  expect_unary<float, int32_t>("to_int", -1.9f, -1);
  expect_unary<float, int64_t>("to_int", 1e20f, kLargest64);
  expect_unary<double, int64_t>("to_int", -9223372036854775808.0, kSmallest64);
  expect_unary<double, int32_t>("to_int", 2147483647.5, kLargest);
  expect_unary<float, int32_t>("to_int_u", 4294967296.0f, -1);
  expect_unary<float, int32_t>("to_int_u", 4294967040.0f, static_cast<int32_t>(4294967040u));
  expect_unary<float, int32_t>("to_int_u", -0.9f, 0);
  expect_unary<float, int32_t>("to_int_u", -5.0f, 0);
  expect_unary<double, int64_t>("to_int_u", 18446744073709551616.0, -1);
  expect_unary<double, int64_t>("to_int_u", 9223372036854775808.0, kSmallest64);
}

TEST(InterpreterSemantics, IntegersToFloatsRoundToEven) {
  expect_unary<int32_t, float>("to_float", 16777217, 16777216.0f);
  expect_unary<int32_t, float>("to_float", 16777219, 16777220.0f);
  expect_unary<int64_t, double>("to_float", kLargest64, 9223372036854775808.0);
  expect_unary<int64_t, float>("to_float", (1ll << 62) + (1ll << 38) + 1, 0x1.000002p+62f);  // once, not by way of f64
  expect_unary<int32_t, float>("to_float_u", -1, 4294967296.0f);
  expect_unary<int64_t, double>("to_float_u", -1, 18446744073709551616.0);
}

TEST(InterpreterSemantics, OtherConversions) {
  expect_unary<double, float>("convert_float", 1.0 + 0x1p-24, 1.0f);
  expect_unary<double, float>("convert_float", 1e300, kInfinity);
  expect_unary<float, double>("convert_float", 0x1p-149f, 0x1p-149);
  expect_unary<int32_t, int64_t>("extend", -1, -1);
  expect_unary<int32_t, int64_t>("extend_u", -1, 4294967295);
  expect_unary<int64_t, int32_t>("wrap", 4294967297, 1);
  expect_unary<float, int32_t>("bitcast", -0.0f, kSmallest);
  expect_unary<int64_t, double>("bitcast", 0x3FF0000000000000, 1.0);
  expect_unary<float, int32_t>("to_int_exact", -8.0f, -8);
}

TEST(InterpreterSemantics, HalfPrecision) {
  expect_unary<int32_t, float>("half_to_float", 0x3C00, 1.0f);
  expect_unary<int32_t, float>("half_to_float", 0x7BFF, 65504.0f);
  expect_unary<int32_t, float>("half_to_float", 0x0001, 0x1p-24f);
  expect_unary<int32_t, float>("half_to_float", 0x83FF, -1023 * 0x1p-24f);
  expect_unary<int32_t, float>("half_to_float", 0xFC00, -kInfinity);
  expect_unary<int32_t, float>("half_to_float", 0x8000, -0.0f);
  expect_unary<int32_t, float>("half_to_float", 0x7E01, kNan);
  expect_unary<float, int32_t>("float_to_half", 65519.996f, 0x7BFF);
  expect_unary<float, int32_t>("float_to_half", 65520.0f, 0x7C00);
  expect_unary<float, int32_t>("float_to_half", -1e30f, 0xFC00);
  expect_unary<float, int32_t>("float_to_half", kInfinity, 0x7C00);
  expect_unary<float, int32_t>("float_to_half", -kInfinity, 0xFC00);
  expect_unary<float, int32_t>("float_to_half", kNan, 0x7E00);
  expect_unary<float, int32_t>("float_to_half", 1.0f + 0x1p-11f, 0x3C00);      // a tie, to even
  expect_unary<float, int32_t>("float_to_half", 1.0f + 3 * 0x1p-11f, 0x3C02);  // a tie, to even
  expect_unary<float, int32_t>("float_to_half", 0x1p-24f, 0x0001);
  expect_unary<float, int32_t>("float_to_half", 0x1p-25f, 0x0000);
  expect_unary<float, int32_t>("float_to_half", 0x1.000002p-25f, 0x0001);
  expect_unary<float, int32_t>("float_to_half", 0x1.ffffp-15f, 0x0400);  // rounds up to the smallest normal number
  expect_unary<float, int32_t>("float_to_half", -0.0f, 0x8000);
}

/// The value of a half from its definition, in double precision.
double half_value(int bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(InterpreterSemantics, EveryHalfSurvivesAndRoundsRight) {
  const Kernel kernel = parse_kernel(
      "kernel {\n buffer b0 read f16[31744]\n buffer b1 write f32[31744]\n buffer b2 write f16[31744]\n"
      " buffer b3 read f32[31744]\n buffer b4 write f16[31744]\n range i0 in 0 .. 1984\n v0 = load i32x16 b0[16*i0]\n"
      " v1 = half_to_float f32x16 v0\n store f32x16 v1 b1[16*i0]\n v2 = float_to_half i32x16 v1\n"
      " store i32x16 v2 b2[16*i0]\n v3 = load f32x16 b3[16*i0]\n v4 = float_to_half i32x16 v3\n"
      " store i32x16 v4 b4[16*i0]\n}\n");
  constexpr int kCount = 31744;  // all finite halves that aren't negative
  std::vector<uint16_t> in(kCount), back(kCount), rounded(kCount);
  std::vector<float> wide(kCount), above(kCount);
  for (int i = 0; i < kCount; i++) {
    in[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
    // A little below the middle to the next half.
    const double next = i + 1 == kCount ? 65536.0 : half_value(i + 1);
    above[static_cast<size_t>(i)] = std::nextafter(static_cast<float>((half_value(i) + next) / 2), 0.0f);
  }
  InterpreterBackend backend;
  ASSERT_EQ(run_kernel_on(backend, kernel,
                          {input_of(in), output_of(wide), output_of(back), input_of(above), output_of(rounded)}),
            "");
  for (size_t i = 0; i < kCount; i++) {
    ASSERT_EQ(static_cast<double>(wide[i]), half_value(static_cast<int>(i)));
    ASSERT_EQ(back[i], in[i]);
    ASSERT_EQ(rounded[i], in[i]);
  }
}

TEST(InterpreterSemantics, StorageTypesWidenAndKeepLowBits) {
  const Kernel kernel = parse_kernel(
      "kernel {\n buffer b0 read i8[2]\n buffer b1 read u8[2]\n buffer b2 read i16[2]\n buffer b3 read u16[2]\n"
      " buffer b4 write i32[8]\n buffer b5 write u8[1]\n buffer b6 write i16[1]\n"
      " v0 = load i32x2 b0[0]\n store i32x2 v0 b4[0]\n v1 = load i32x2 b1[0]\n store i32x2 v1 b4[2]\n"
      " v2 = load i32x2 b2[0]\n store i32x2 v2 b4[4]\n v3 = load i32x2 b3[0]\n store i32x2 v3 b4[6]\n"
      " v4 = constant i32 74565\n store i32 v4 b5[0]\n store i32 v4 b6[0]\n}\n");
  std::vector<int8_t> b0 = {-1, 127};
  std::vector<uint8_t> b1 = {255, 1}, b5 = {0};
  std::vector<int16_t> b2 = {-2, 3}, b6 = {0};
  std::vector<uint16_t> b3 = {65535, 4};
  std::vector<int32_t> b4(8);
  InterpreterBackend backend;
  ASSERT_EQ(run_kernel_on(
                backend, kernel,
                {input_of(b0), input_of(b1), input_of(b2), input_of(b3), output_of(b4), output_of(b5), output_of(b6)}),
            "");
  EXPECT_EQ(b4, (std::vector<int32_t>{-1, 127, 255, 1, -2, 3, 65535, 4}));
  EXPECT_EQ(b5[0], 0x45);
  EXPECT_EQ(b6[0], 0x2345);
}

TEST(InterpreterSemantics, Lanes) {
  const Kernel kernel = parse_kernel(
      "kernel {\n buffer b0 read f32[4]\n buffer b1 write f32[16]\n v0 = load f32x4 b0[0]\n v1 = extract f32 v0 lane "
      "2\n"
      " v2 = splat f32x4 v1\n store f32x4 v2 b1[0]\n v3 = insert f32x4 v0 v1 lane 0\n store f32x4 v3 b1[4]\n"
      " v4 = low f32x2 v0\n v5 = high f32x2 v0\n store f32x2 v5 b1[8]\n store f32x2 v4 b1[10]\n v6 = lanes i32x4\n"
      " v7 = to_float f32x4 v6\n store f32x4 v7 b1[12]\n}\n");
  std::vector<float> in = {1, 2, 3, 4}, out(16);
  InterpreterBackend backend;
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}), "");
  EXPECT_EQ(out, (std::vector<float>{3, 3, 3, 3, 3, 2, 3, 4, 3, 4, 1, 2, 0, 1, 2, 3}));
}

TEST(InterpreterSemantics, MasksOfBothWidths) {
  const Kernel kernel = parse_kernel(
      "kernel {\n buffer b0 read f32[4]\n buffer b1 write i64[4]\n buffer b2 write i32[4]\n v0 = load f32x4 b0[0]\n"
      " v1 = constant f32x4 0\n v2 = lt mask32x4 v0 v1\n v3 = convert_mask mask64x4 v2\n v4 = constant i64x4 5\n"
      " v5 = constant i64x4 -5\n v6 = select i64x4 v3 v4 v5\n store i64x4 v6 b1[0]\n v7 = eq mask64x4 v6 v4\n"
      " v8 = convert_mask mask32x4 v7\n v9 = not mask32x4 v8\n v10 = constant mask32x4 1\n v11 = xor mask32x4 v9 v10\n"
      " v12 = constant i32x4 1\n v13 = constant i32x4 0\n v14 = select i32x4 v11 v12 v13\n store i32x4 v14 b2[0]\n}\n");
  std::vector<float> in = {-1, 1, kNan, -0.0f};
  std::vector<int64_t> wide(4);
  std::vector<int32_t> narrow(4);
  InterpreterBackend backend;
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(wide), output_of(narrow)}), "");
  EXPECT_EQ(wide, (std::vector<int64_t>{5, -5, -5, -5}));
  EXPECT_EQ(narrow, (std::vector<int32_t>{1, 0, 0, 0}));
}

}  // namespace
}  // namespace tandem
