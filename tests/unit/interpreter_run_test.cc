#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "backends/interpreter/interpreter.h"
#include "tests/support/kernel_runner.h"

namespace tandem {
namespace {

#define EXPECT_CONTAINS(whole, part) EXPECT_NE((whole).find(part), std::string::npos) << (whole)

TEST(InterpreterRun, SumsRowsOfSymbolicLength) {
  const Kernel kernel = parse_kernel(R"(kernel "rows" {
  variable t in 1 .. 64
  buffer b0 read f32[4*t]
  buffer b1 write f32[4]
  range i0 in 0 .. 4
  v0 = constant f32x8 0
  v1 = variable f32x8 v0
  for i1 in 0 .. t step 8 {
    v3 = load f32x8 b0[i0*t + i1] count(min(8, t - i1)) fill(0)
    v4 = get f32x8 v1
    v5 = add f32x8 v4 v3
    set v1 v5
  }
  v7 = constant f32 0
  v8 = variable f32 v7
  v9 = get f32x8 v1
  v10 = extract f32 v9 lane 0
  v11 = extract f32 v9 lane 7
  v12 = add f32 v10 v11
  store f32 v12 b1[i0]
}
)");
  InterpreterBackend backend;
  for (int64_t t : {1, 8, 19}) {
    std::vector<float> in(static_cast<size_t>(4 * t)), out(4);
    for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<float>(i % 7);
    ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {t}), "");
    for (int64_t row = 0; row < 4; row++) {
      float expected = 0;
      for (int64_t i = 0; i < t; i++)
        if (i % 8 == 0 || i % 8 == 7) expected += in[static_cast<size_t>(row * t + i)];
      EXPECT_EQ(out[static_cast<size_t>(row)], expected);
    }
  }
}

TEST(InterpreterRun, ReadsLoopBoundsAndSubscriptsFromBuffers) {
  const Kernel kernel = parse_kernel(R"(kernel "ragged" {
  buffer b0 read i32[3]
  buffer b1 read i64[8]
  buffer b2 read_write i32[24]
  range i0 in 0 .. 3
  v0 = load i32 b0[i0]
  for i1 in 0 .. v0 where v0 in 0 .. 8 {
    v2 = load i64 b1[i1]
    v3 = index i32 (i1 + 100)*(i0 + 1) + v2/2 - v2%2 where v2 in 0 .. 7
    store i32 v3 b2[8*i0 + v2] where v2 in 0 .. 7
  }
}
)");
  InterpreterBackend backend;
  std::vector<int32_t> lengths = {2, 0, 8}, out(24, -1);
  std::vector<int64_t> order = {7, 6, 5, 4, 3, 2, 1, 0};
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(lengths), input_of(order), output_of(out)}), "");
  EXPECT_EQ(out[7], 100 + 3 - 1);
  EXPECT_EQ(out[6], 101 + 3 - 0);
  EXPECT_EQ(out[5], -1);
  for (size_t i = 8; i < 16; i++) EXPECT_EQ(out[i], -1);
  EXPECT_EQ(out[16], 107 * 3);
  lengths[1] = 9;
  EXPECT_CONTAINS(run_kernel_on(backend, kernel, {input_of(lengths), input_of(order), output_of(out)}),
                  "value 9 as an index that is promised to be in 0 .. 8");
}

TEST(InterpreterRun, TakesBranches) {
  const Kernel kernel = parse_kernel(R"(kernel "branch" {
  buffer b0 read f32[4]
  buffer b1 write i32[4]
  range i0 in 0 .. 4
  v0 = load f32 b0[i0]
  v1 = constant f32 0
  v2 = lt mask32 v0 v1
  v3 = constant i32 1
  v4 = constant i32 2
  if v2 {
    store i32 v3 b1[i0]
  } else {
    store i32 v4 b1[i0]
  }
}
)");
  InterpreterBackend backend;
  std::vector<float> in = {-1, 1, 0, -2};
  std::vector<int32_t> out(4);
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}), "");
  EXPECT_EQ(out, (std::vector<int32_t>{1, 2, 2, 1}));
}

TEST(InterpreterRun, StoresOnlyTheCountedLanes) {
  const Kernel kernel = parse_kernel(
      "kernel {\n variable n in 0 .. 4\n buffer b0 read f32[4]\n buffer b1 write f32[8]\n"
      " v0 = load f32x4 b0[0] count(n) fill(-0)\n store f32x4 v0 b1[4]\n store f32x4 v0 b1[0] count(n)\n}\n");
  InterpreterBackend backend;
  std::vector<float> in = {1, 2, 3, 4}, out(8, 9.0f);
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {3}), "");
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 9, 1, 2, 3, 0}));
  EXPECT_TRUE(std::signbit(out[7]));
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {0}), "");
}

const char* const kCopy = R"(kernel "copy" {
  variable t in 0 .. 64
  buffer b0 read f32[t]
  buffer b1 write f32[t]
  range i0 in 0 .. t
  v0 = load f32 b0[i0]
  store f32 v0 b1[i0]
}
)";

TEST(InterpreterChecks, AccessesBeyondTheSlot) {
  InterpreterBackend backend;
  std::vector<float> in(8), out(7);
  const std::string failure = run_kernel_on(backend, parse_kernel(kCopy), {input_of(in), output_of(out)}, {8});
  EXPECT_CONTAINS(failure, "kernel 'copy'");
  EXPECT_CONTAINS(failure, "store f32 v0 b1[i0]");
  EXPECT_CONTAINS(failure, "elements 7 .. 7 of buffer b1, which has 8 elements in a slot of 7");
  EXPECT_CONTAINS(failure, "(test)");
}

TEST(InterpreterChecks, AccessesBeyondTheElements) {
  // Inside the slot, outside of what the kernel itself says about the buffer.
  const Kernel kernel = parse_kernel(
      "kernel {\n variable t in 1 .. 8\n buffer b0 read f32[t]\n buffer b1 write f32[8]\n variable n in 0 .. 9\n"
      " v0 = load f32 b0[n - 1]\n store f32 v0 b1[0]\n}\n");
  InterpreterBackend backend;
  std::vector<float> in(8), out(8);
  EXPECT_EQ(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {4, 4}), "");
  EXPECT_CONTAINS(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {4, 5}), "elements 4 .. 4");
  EXPECT_CONTAINS(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {4, 0}), "elements -1 .. -1");
}

TEST(InterpreterChecks, ReadsOfWhatNothingHasWritten) {
  const Kernel kernel = parse_kernel(R"(kernel "half" {
  buffer b0 read_write f32[8]
  buffer b1 write f32[8]
  v0 = constant f32x4 1
  store f32x4 v0 b0[0]
  v2 = load f32x4 b0[0]
  store f32x4 v2 b1[0]
  v4 = load f32x4 b0[3]
  store f32x4 v4 b1[4]
}
)");
  InterpreterBackend backend;
  std::vector<float> scratch(8), out(8);
  const KernelBuffer intermediate{SlotRole::kIntermediate, scratch.data(), 32};
  const std::string failure = run_kernel_on(backend, kernel, {intermediate, output_of(out)});
  EXPECT_CONTAINS(failure, "kernel 'half', instruction 'v4 = load f32x4 b0[3]': reads element 4 of buffer b0");
  // A state holds what an earlier step wrote.
  const KernelBuffer state{SlotRole::kState, scratch.data(), 32};
  EXPECT_EQ(run_kernel_on(backend, kernel, {state, output_of(out)}), "");
}

TEST(InterpreterChecks, ForgetsIntermediatesAtEachStep) {
  Program program;
  program.kernels = {parse_kernel("kernel \"write\" {\n buffer b0 write i32[1]\n v0 = constant i32 7\n"
                                  " store i32 v0 b0[0]\n}\n"),
                     parse_kernel("kernel \"read\" {\n buffer b0 read i32[1]\n buffer b1 write i32[1]\n"
                                  " v0 = load i32 b0[0]\n store i32 v0 b1[0]\n}\n")};
  program.slots = {Slot{SlotRole::kIntermediate, DType::kI32, 4, "between"},
                   Slot{SlotRole::kOutput, DType::kI32, 4, "y"}};
  KernelCall read;
  read.kernel = 1;
  read.slots = {0, 1};
  KernelCall write;
  write.kernel = 0;
  write.slots = {0};
  program.step_calls = {read, write, read};
  InterpreterBackend backend;
  CompileStatistics statistics;
  auto executable = backend.compile(program, backend.capabilities(), Numerics::kFast, statistics);
  ASSERT_TRUE(executable) << executable.error().text();
  int32_t between = 0, output = 0;
  void* slots[] = {&between, &output};
  EXPECT_TRUE((*executable)->run(Phase::kStep, slots, nullptr, 1, 3));
  EXPECT_EQ(output, 7);
  EXPECT_FALSE((*executable)->run(Phase::kStep, slots, nullptr, 0, 3));
  EXPECT_CONTAINS((*executable)->failure(), "nothing has written");
  EXPECT_TRUE((*executable)->run(Phase::kStep, slots, nullptr, 1, 3));
  EXPECT_EQ((*executable)->failure(), "");
  EXPECT_FALSE((*executable)->run(Phase::kStep, slots, nullptr, 3, 4));
  EXPECT_CONTAINS((*executable)->source(), "kernel \"read\"");
}

TEST(InterpreterChecks, Counts) {
  const Kernel kernel = parse_kernel(
      "kernel {\n variable n in -1 .. 9\n buffer b0 read f32[16]\n buffer b1 write f32[16]\n"
      " v0 = load f32x4 b0[0] count(n) fill(0)\n store f32x4 v0 b1[0]\n}\n");
  InterpreterBackend backend;
  std::vector<float> in(16), out(16);
  EXPECT_CONTAINS(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {5}), "count of 5");
  EXPECT_CONTAINS(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {-1}), "count of -1");
}

TEST(InterpreterChecks, ExactConversions) {
  const Kernel kernel = parse_kernel(
      "kernel {\n buffer b0 read f32[2]\n buffer b1 write i32[2]\n v0 = load f32x2 b0[0]\n v1 = to_int_exact i32x2 v0\n"
      " store i32x2 v1 b1[0]\n}\n");
  InterpreterBackend backend;
  for (float wrong : {0.5f, 2147483648.0f, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> in = {3, wrong};
    std::vector<int32_t> out(2);
    EXPECT_CONTAINS(run_kernel_on(backend, kernel, {input_of(in), output_of(out)}), "lane 1 holds");
  }
}

TEST(InterpreterChecks, VariablesKeepTheirBounds) {
  InterpreterBackend backend;
  std::vector<float> in(80), out(80);
  EXPECT_CONTAINS(run_kernel_on(backend, parse_kernel(kCopy), {input_of(in), output_of(out)}, {65}), "t = 65");
}

TEST(InterpreterChecks, CallsFitTheirKernels) {
  Program program;
  program.kernels = {parse_kernel(kCopy)};
  program.slots = {Slot{SlotRole::kConstant, DType::kF32, 4, "weight"}};
  program.variables = program.kernels[0].variables;
  KernelCall call;
  call.slots = {0};
  call.variables = program.variables;
  program.step_calls = {call};
  InterpreterBackend backend;
  CompileStatistics statistics;
  auto executable = backend.compile(program, backend.capabilities(), Numerics::kFast, statistics);
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().code, ErrorCode::kDevice);
  EXPECT_CONTAINS(executable.error().message, "1 slots");
  program.step_calls[0].slots = {0, 0};
  executable = backend.compile(program, backend.capabilities(), Numerics::kFast, statistics);
  ASSERT_FALSE(executable);
  EXPECT_CONTAINS(executable.error().message, "writes to the constant 'weight'");
  program.step_calls[0].slots = {0, 9};
  EXPECT_FALSE(backend.compile(program, backend.capabilities(), Numerics::kFast, statistics));
  program.kernels[0].instructions[1].operands[0] = 1;
  EXPECT_FALSE(backend.compile(program, backend.capabilities(), Numerics::kFast, statistics));
}

TEST(InterpreterRun, UsesItsOwnFloatingPointModeAndRestoresTheCallers) {
  const Kernel kernel = parse_kernel(
      "kernel {\n buffer b0 read f32[3]\n buffer b1 write f32[2]\n v0 = load f32 b0[0]\n v1 = load f32 b0[1]\n"
      " v2 = load f32 b0[2]\n v3 = mul f32 v0 v1\n store f32 v3 b1[0]\n v5 = div f32 v1 v2\n store f32 v5 b1[1]\n}\n");
  InterpreterBackend backend;
  for (Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
    std::vector<float> in = {0x1p-100f, 0x1p-40f, 25 * 0x1p-40f}, out(2);
    ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush results and operands to zero
#endif
    const std::string failure = run_kernel_on(backend, kernel, {input_of(in), output_of(out)}, {}, numerics);
    const int rounding = std::fegetround();
#if defined(__SSE__)
    const unsigned flushes = _mm_getcsr() & 0x8040;
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
    EXPECT_EQ(flushes, 0x8040u);
#endif
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(rounding, FE_UPWARD);
    EXPECT_EQ(failure, "");
    EXPECT_EQ(out[0], 0x1p-140f);       // a denormal
    EXPECT_EQ(out[1], 0x1.47ae14p-5f);  // 1/25 to nearest; upward it ends in 6
  }
}

}  // namespace
}  // namespace tandem
