// The C text of kernels: short where the compiler's time goes, with the meaning of the instructions.
#include <gtest/gtest.h>

#include <regex>

#include "backends/clang/print_c.h"
#include "core/kernel/builder.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

constexpr Type kFloat{Scalar::kF32, 1};

/// The body of the kernel, without what comes before it.
std::string body_of(const Kernel& kernel) {
  const std::string source = print_c({&kernel}, host_capabilities()).source;
  return source.substr(source.find("for (long"));
}

size_t count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator()));
}

TEST(ClangText, ARegisterThatTakesASumIsOneStatement) {
  KernelBuilder builder;
  const uint32_t input = builder.add_buffer(DType::kF32, Access::kRead, 40);
  const uint32_t output = builder.add_buffer(DType::kF32, Access::kWrite, 8);
  const Index i = builder.open_range(8);
  const ValueId sum = builder.variable(builder.constant(kFloat, 0));
  const Index k = builder.open_loop(0, 5);
  builder.set(sum, builder.binary(Opcode::kAdd, builder.get(sum), builder.load(input, i * 5 + k, 1)));
  builder.close_loop();
  builder.store(output, i, builder.get(sum));
  const std::string body = body_of(builder.finish("sums"));
  EXPECT_EQ(count(body, "r[0-9]+ = r[0-9]+ \\+ v[0-9]+;"), 1u) << body;
  EXPECT_EQ(count(body, "v[0-9]+ = r"), 0u) << body;
  EXPECT_EQ(count(body, "= \\(float\\)r[0-9]+;"), 1u) << body;
}

TEST(ClangText, AValueThatWasReadBeforeItsRegisterChangesIsKept) {
  // Each step turns (a, b) into (b, a + b); a branch on the way takes another register along.
  KernelBuilder builder;
  const uint32_t input = builder.add_buffer(DType::kF32, Access::kRead, 2);
  const uint32_t output = builder.add_buffer(DType::kF32, Access::kWrite, 3);
  const ValueId a = builder.variable(builder.load(input, 0, 1)), b = builder.variable(builder.load(input, 1, 1));
  const ValueId odd = builder.variable(builder.constant(kFloat, 0));
  const Index k = builder.open_loop(0, 10);
  const ValueId first = builder.get(a), second = builder.get(b), before = builder.get(odd);
  builder.set(a, second);
  builder.set(b, builder.binary(Opcode::kAdd, first, second));
  builder.open_if(builder.binary(Opcode::kLess, builder.integer({Scalar::kI32, 1}, 0),
                                 builder.index_value(Scalar::kI32, floor_mod(k, 2))));
  builder.set(odd, builder.binary(Opcode::kAdd, builder.get(odd), builder.get(b)));
  builder.close_if();
  builder.set(odd, builder.binary(Opcode::kSub, builder.get(odd), builder.binary(Opcode::kMul, before, first)));
  builder.close_loop();
  builder.store(output, 0, builder.get(a));
  builder.store(output, 1, builder.get(b));
  builder.store(output, 2, builder.get(odd));
  const Kernel kernel = builder.finish("steps");
  float want_a = 1, want_b = 1, want_odd = 0;
  for (int i = 0; i < 10; i++) {
    const float first_value = want_a, odd_before = want_odd;
    want_a = want_b;
    want_b += first_value;
    if (i % 2 == 1) want_odd += want_b;
    want_odd -= odd_before * first_value;
  }
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    std::vector<std::vector<uint8_t>> buffers = {test::to_bytes(std::vector<float>{1, 1}),
                                                 test::to_bytes(std::vector<float>(3))};
    test::run_native(kernel, capabilities, buffers, {});
    EXPECT_EQ(test::from_bytes<float>(buffers[1]), (std::vector<float>{want_a, want_b, want_odd}));
  }
}

TEST(ClangText, WhatSubscriptsRepeatIsComputedOnce) {
  const Index t = Index::variable("t", 1, 40);
  KernelBuilder builder;
  const uint32_t input = builder.add_buffer(DType::kF32, Access::kRead, 400);
  const uint32_t output = builder.add_buffer(DType::kF32, Access::kWrite, 40);
  const Index i = builder.open_range(40);
  const Index place = min(floor_div(i + t, 7) * 3, 20) * 10;
  ValueId sum = builder.constant(kFloat, 0);
  for (int64_t column = 0; column < 8; column++)
    sum = builder.binary(Opcode::kAdd, sum, builder.load(input, place + column, 1));
  builder.store(output, i, sum);
  const Kernel kernel = builder.finish("repeated");
  const std::string body = body_of(kernel);
  EXPECT_EQ(count(body, " / "), 1u) << body;
  EXPECT_EQ(count(body, "_min\\("), 1u) << body;
  EXPECT_EQ(count(body, "td_"), 0u) << body;
}

TEST(ClangText, AVariableOfOneBranchIsNotUsedInTheOther) {
  KernelBuilder builder;
  const uint32_t output = builder.add_buffer(DType::kI32, Access::kWrite, 60);
  const Index i = builder.open_range(30);
  const auto number = [&](int64_t more) { return builder.integer({Scalar::kI32, 1}, more); };
  builder.open_if(builder.binary(Opcode::kLess, number(9), builder.index_value(Scalar::kI32, i)));
  for (int64_t half = 0; half < 2; half++) builder.store(output, floor_mod(i * i, 30) * 2 + half, number(1 + half));
  builder.open_else();
  for (int64_t half = 0; half < 2; half++) builder.store(output, floor_mod(i * i, 30) * 2 + half, number(3 + half));
  builder.close_if();
  const Kernel kernel = builder.finish("branches");
  std::vector<int32_t> want(60, 0);
  for (size_t e = 0; e < 30; e++) {
    want[e * e % 30 * 2] = e > 9 ? 1 : 3;
    want[e * e % 30 * 2 + 1] = e > 9 ? 2 : 4;
  }
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    std::vector<std::vector<uint8_t>> buffers = {test::to_bytes(std::vector<int32_t>(60))};
    test::run_native(kernel, capabilities, buffers, {});
    EXPECT_EQ(test::from_bytes<int32_t>(buffers[0]), want) << capabilities.isa;
  }
}

}  // namespace
}  // namespace tandem
