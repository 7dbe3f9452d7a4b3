// Loops, conditions, registers, lanes and index arithmetic in native code, and the floating-point mode of a run.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

constexpr Type kFloat{Scalar::kF32, 1};

TEST(ClangControl, LoopsOverVariablesWithRegistersAndConditions) {
  // out[i] = sum over k < n of (in[i * 7 + k] > 0 ? in : in * in), in the order of k.
  const Index n = Index::variable("n", 1, 7);
  KernelBuilder builder;
  const uint32_t input = builder.add_buffer(DType::kF32, Access::kRead, 35);
  const uint32_t output = builder.add_buffer(DType::kF32, Access::kWrite, 5);
  const Index i = builder.open_range(5);
  const ValueId sum = builder.variable(builder.constant(kFloat, 0));
  const Index k = builder.open_loop(0, n);
  const ValueId x = builder.load(input, i * 7 + k, 1);
  builder.open_if(builder.binary(Opcode::kLess, builder.constant(kFloat, 0), x));
  builder.set(sum, builder.binary(Opcode::kAdd, builder.get(sum), x));
  builder.open_else();
  builder.set(sum, builder.binary(Opcode::kAdd, builder.get(sum), builder.binary(Opcode::kMul, x, x)));
  builder.close_if();
  builder.close_loop();
  builder.store(output, i, builder.get(sum));
  const Kernel kernel = builder.finish("sum */ of\nsquares");

  std::vector<float> in(35);
  for (size_t e = 0; e < in.size(); e++) in[e] = std::sin(static_cast<float>(e)) * 3;
  for (const Capabilities& capabilities : test::native_instruction_sets())
    for (int64_t live : {1, 4, 7}) {
      std::vector<std::vector<uint8_t>> buffers = {test::to_bytes(in), test::to_bytes(std::vector<float>(5))};
      test::run_native(kernel, capabilities, buffers, {live});
      const auto out = test::from_bytes<float>(buffers[1]);
      for (size_t row = 0; row < 5; row++) {
        float want = 0;
        for (size_t e = 0; e < static_cast<size_t>(live); e++)
          want += in[row * 7 + e] > 0 ? in[row * 7 + e] : in[row * 7 + e] * in[row * 7 + e];
        EXPECT_EQ(out[row], want) << capabilities.isa << " row " << row;
      }
    }
}

TEST(ClangControl, IndexArithmeticRoundsDownAndTakesLoadedValues) {
  const Index t = Index::variable("t", 1, 100);
  KernelBuilder builder;
  const uint32_t picks = builder.add_buffer(DType::kI32, Access::kRead, 40);
  const uint32_t output = builder.add_buffer(DType::kI64, Access::kWrite, 240);
  const Index i = builder.open_range(40);
  const Index pick = builder.as_index(builder.load(picks, i, 1), -50, 50);
  const Index expressions[] = {floor_div(i - t, 7),           floor_mod(i - t, 7),
                               floor_div(i * 3 + t, 4),       floor_mod(i * i + t, t + 1),
                               min(max(pick, t - 60), i * 2), floor_div(pick, 3) * t - pick};
  int64_t column = 0;
  for (const Index& expression : expressions)
    builder.store(output, i * 6 + column++, builder.index_value(Scalar::kI64, expression));
  const Kernel kernel = builder.finish("indices");

  std::vector<int32_t> in(40);
  for (size_t e = 0; e < in.size(); e++) in[e] = static_cast<int32_t>(e * 17 % 101) - 50;
  const auto down = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
  };
  for (const Capabilities& capabilities : test::native_instruction_sets())
    for (int64_t live : {1, 13, 100}) {
      std::vector<std::vector<uint8_t>> buffers = {test::to_bytes(in), test::to_bytes(std::vector<int64_t>(240))};
      test::run_native(kernel, capabilities, buffers, {live});
      const auto out = test::from_bytes<int64_t>(buffers[1]);
      for (int64_t e = 0; e < 40; e++) {
        const int64_t p = in[static_cast<size_t>(e)];
        const int64_t want[] = {
            down(e - live, 7),           (e - live) - 7 * down(e - live, 7),      (3 * e + live) / 4,
            (e * e + live) % (live + 1), std::min(std::max(p, live - 60), 2 * e), down(p, 3) * live - p};
        for (size_t c = 0; c < 6; c++)
          EXPECT_EQ(out[static_cast<size_t>(e) * 6 + c], want[c]) << "i " << e << " column " << c << " t " << live;
      }
    }
}

TEST(ClangControl, LanesMoveAndMasksKeepTheirMeaning) {
  // Per row of 8: [high half reversed by inserts | masks as 0 and 1 taken apart and put together].
  KernelBuilder builder;
  const uint32_t input = builder.add_buffer(DType::kF32, Access::kRead, 8);
  const uint32_t floats = builder.add_buffer(DType::kF32, Access::kWrite, 16);
  const uint32_t integers = builder.add_buffer(DType::kI32, Access::kWrite, 16);
  const uint32_t longs = builder.add_buffer(DType::kI64, Access::kWrite, 8);
  const ValueId x = builder.load(input, 0, 8);
  const ValueId low = builder.low(x), high = builder.high(x);
  ValueId turned = high;
  for (int lane = 0; lane < 4; lane++) turned = builder.insert(turned, builder.extract(high, 3 - lane), lane);
  builder.store(floats, 0, turned);
  builder.store(floats, 4, low);
  builder.store(floats, 8, builder.splat(builder.extract(x, 5), 8));
  const ValueId negative = builder.binary(Opcode::kLess, x, builder.splat(builder.constant(kFloat, 0), 8));
  const ValueId second = builder.extract(negative, 1);
  const auto integer = [&](Scalar scalar, uint8_t lanes, int64_t value) {
    return builder.integer(Type{scalar, lanes}, value);
  };
  builder.store(integers, 0, builder.select(second, integer(Scalar::kI32, 1, 11), integer(Scalar::kI32, 1, 22)));
  builder.store(
      integers, 1,
      builder.select(builder.unary(Opcode::kNot, second), integer(Scalar::kI32, 1, 33), integer(Scalar::kI32, 1, 44)));
  const ValueId moved = builder.insert(builder.high(negative), second, 0);
  builder.store(integers, 4, builder.select(moved, integer(Scalar::kI32, 4, 1), integer(Scalar::kI32, 4, 0)));
  const ValueId both = builder.binary(Opcode::kXor, builder.splat(second, 8), negative);
  builder.store(integers, 8, builder.select(both, integer(Scalar::kI32, 8, 5), integer(Scalar::kI32, 8, 6)));
  builder.store(longs, 0,
                builder.select(negative, integer(Scalar::kI64, 8, -7), builder.lane_numbers(Scalar::kI64, 8)));
  const Kernel kernel = builder.finish("lanes");

  const std::vector<float> in = {1, -2, 3, -4, -5, 6, 7, -8};
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    std::vector<std::vector<uint8_t>> buffers = {test::to_bytes(in), test::to_bytes(std::vector<float>(16)),
                                                 test::to_bytes(std::vector<int32_t>(16)),
                                                 test::to_bytes(std::vector<int64_t>(8))};
    test::run_native(kernel, capabilities, buffers);
    EXPECT_EQ(test::from_bytes<float>(buffers[1]),
              (std::vector<float>{-8, 7, 6, -5, 1, -2, 3, -4, 6, 6, 6, 6, 6, 6, 6, 6}))
        << capabilities.isa;
    EXPECT_EQ(test::from_bytes<int32_t>(buffers[2]),
              (std::vector<int32_t>{11, 44, 0, 0, 1, 0, 0, 1, 5, 6, 5, 6, 6, 5, 5, 6}))
        << capabilities.isa;
    EXPECT_EQ(test::from_bytes<int64_t>(buffers[3]), (std::vector<int64_t>{0, -7, 2, -7, -7, 5, 6, -7}))
        << capabilities.isa;
  }
}

TEST(ClangControl, ShiftsByConstantsOutsideOfTheWidthAreDefined) {
  KernelBuilder builder;
  const uint32_t input = builder.add_buffer(DType::kI32, Access::kRead, 4);
  const uint32_t output = builder.add_buffer(DType::kI32, Access::kWrite, 36);
  const ValueId x = builder.load(input, 0, 4);
  int64_t at = 0;
  for (Opcode opcode : {Opcode::kShl, Opcode::kShr, Opcode::kShrU})
    for (int64_t amount : {3, 32, -1}) {
      builder.store(output, at, builder.binary(opcode, x, builder.integer(Type{Scalar::kI32, 4}, amount)));
      at += 4;
    }
  const Kernel kernel = builder.finish("shifts");
  const std::vector<int32_t> in = {-17, 5, INT32_MIN, INT32_MAX};
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    std::vector<std::vector<uint8_t>> buffers = {test::to_bytes(in), test::to_bytes(std::vector<int32_t>(36))};
    test::run_native(kernel, capabilities, buffers);
    EXPECT_EQ(test::from_bytes<int32_t>(buffers[1]),
              (std::vector<int32_t>{-136,      40, 0,          -8,        0,  0, 0,  0, 0,  0, 0,  0,
                                    -3,        0,  -268435456, 268435455, -1, 0, -1, 0, -1, 0, -1, 0,
                                    536870909, 0,  268435456,  268435455, 0,  0, 0,  0, 0,  0, 0,  0}));
  }
}

TEST(ClangControl, EachNumericsSetsTheFloatingPointModeAndGivesItBack) {
  KernelBuilder builder;
  const uint32_t input = builder.add_buffer(DType::kF32, Access::kRead, 4);
  const uint32_t output = builder.add_buffer(DType::kF32, Access::kWrite, 4);
  builder.store(output, 0,
                builder.binary(Opcode::kMul, builder.load(input, 0, 4), builder.constant(Type{Scalar::kF32, 4}, 0.5)));
  const Kernel kernel = builder.finish("halve");
  const float tiny = 1.1754943508222875e-38f;
  const unsigned before = __builtin_ia32_stmxcsr();
  // The caller's own mode must not matter: rounding upward and flushing to zero here.
  __builtin_ia32_ldmxcsr(before | 0xC040u);
  const unsigned own = __builtin_ia32_stmxcsr();
  std::vector<std::vector<uint8_t>> fast = {test::to_bytes(std::vector<float>(4, tiny)),
                                            test::to_bytes(std::vector<float>(4, 1))};
  auto reproducible = fast;
  test::run_native(kernel, host_capabilities(), fast, {}, Numerics::kFast);
  test::run_native(kernel, host_capabilities(), reproducible, {}, Numerics::kReproducible);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(after & 0xffc0u, own & 0xffc0u);
  EXPECT_EQ(test::from_bytes<uint32_t>(fast[1]), std::vector<uint32_t>(4, 0));
  EXPECT_EQ(test::from_bytes<uint32_t>(reproducible[1]), std::vector<uint32_t>(4, 0x00400000));
}

TEST(ClangControl, ReadsKernelsAsText) {
  KernelBuilder builder;
  const uint32_t buffer = builder.add_buffer(DType::kF64, Access::kReadWrite, 64);
  const Index i = builder.open_range(16) * 4;
  builder.store(buffer, i, builder.unary(Opcode::kSqrt, builder.load(buffer, i, 4)));
  const Kernel kernel = parse_kernel(text(builder.finish("roots")));
  std::vector<double> values(64);
  std::iota(values.begin(), values.end(), 0.0);
  std::vector<std::vector<uint8_t>> buffers = {test::to_bytes(values)};
  test::run_native(kernel, host_capabilities(), buffers);
  for (double& value : values) value = std::sqrt(value);
  EXPECT_EQ(test::from_bytes<double>(buffers[0]), values);
}

}  // namespace
}  // namespace tandem
