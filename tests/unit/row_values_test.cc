#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/schedule/schedule.h"
#include "core/tensor/nn.h"

namespace tandem {
namespace {

/// How often the code of a step shifts to the left: twice for each exponential that it makes.
int64_t shifts(const std::function<Tensor(const Tensor&)>& function, int64_t columns, DType dtype = DType::kF32) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", dtype, {3, columns});
  module.outputs = {function(x).node_in(module.graph)};
  module.output_names = {"y"};
  ScheduleOptions options;
  options.capabilities = *capabilities_named("avx2");
  int64_t count = 0;
  for (const Kernel& kernel : make_schedule(module, options).program.kernels)
    count += std::count_if(kernel.instructions.begin(), kernel.instructions.end(),
                           [](const Instruction& instruction) { return instruction.opcode == Opcode::kShl; });
  return count;
}

Tensor power_of(const Tensor& x) { return exp(x); }

TEST(RowValues, AnExponentialThatASumAndTheElementsNeedIsMadeOnce) {
  const int64_t one = shifts(power_of, 64);
  EXPECT_GT(one, 0);
  EXPECT_EQ(shifts([](const Tensor& x) { return softmax(x, 1); }, 64), one);
  // A sum of rows with a rest has the code twice, for whole vectors and for the rest; the elements need none.
  EXPECT_EQ(shifts([](const Tensor& x) { return softmax(x, 1); }, 72), 2 * one);
}

TEST(RowValues, WhatTheElementsNeedElsewhereOrInAnotherTypeIsMadeAgain) {
  const int64_t one = shifts(power_of, 64);
  const auto mirrored = [](const Tensor& x) {
    const Tensor power = exp(x);
    return power.flip({1}) / power.sum({1}, true);
  };
  EXPECT_GT(shifts(mirrored, 64), one);
  const auto narrowed = [](const Tensor& x) { return softmax(x, 1).cast(DType::kF64); };
  EXPECT_EQ(shifts(narrowed, 64), 2 * one);
}

}  // namespace
}  // namespace tandem
