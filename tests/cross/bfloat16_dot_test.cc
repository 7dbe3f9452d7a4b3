// Contractions in bf16 dot products: what meets bf16 weights is rounded to bf16, products are exact, and sums are those
// of f32. The interpreter runs the kernels on every machine, native code where the instruction is.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backends/clang/clang_backend.h"
#include "backends/interpreter/interpreter.h"
#include "core/base/half.h"
#include "core/plan/plan.h"
#include "core/rewrite/bfloat16.h"
#include "core/rewrite/rewrite.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"
#include "tests/reference/random.h"

namespace tandem {
namespace {

std::vector<float> random_values(int64_t count, uint32_t seed) {
  reference::Random random(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < count; i++) values.push_back(static_cast<float>(random.uniform(-2, 2)));
  return values;
}

/// To the nearest of the numbers with eight significant bits, ties to even.
double rounded(double value) {
  if (value == 0) return 0;
  const int exponent = std::ilogb(value) - 7;
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

Tensor bfloat16_weight(int64_t columns, int64_t depth) {
  return Tensor::constant<float>({columns, depth}, random_values(columns * depth, static_cast<uint32_t>(columns)))
      .cast(DType::kBF16)
      .cast(DType::kF32);
}

GraphModule module_of(const Dim& rows, int64_t depth,
                      const std::function<std::vector<Tensor>(const Tensor& x)>& build) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {rows, depth});
  for (const Tensor& output : build(x)) {
    module.outputs.push_back(output.node_in(module.graph));
    module.output_names.push_back("y" + std::to_string(module.outputs.size()));
  }
  return module;
}

struct Machine {
  std::shared_ptr<Backend> backend;
  Capabilities capabilities;
};

std::vector<Machine> machines() {
  const auto interpreter = std::make_shared<InterpreterBackend>();
  std::vector<Machine> all = {{interpreter, interpreter->capabilities()}, {interpreter, *capabilities_named("avx512")}};
  if (host_capabilities().bfloat16_dot)
    all.push_back({make_clang_backend(ClangBackendOptions::from_environment()), host_capabilities()});
  return all;
}

std::unique_ptr<Plan> plan_of(const GraphModule& module, const Machine& machine, bool dots = true) {
  RewriteOptions rewriting;
  rewriting.reorder_sums = true;
  GraphModule rewritten = rewrite(module, rewriting);
  if (dots) rewritten = round_operands_to_bfloat16(rewritten);
  PlanOptions options;
  options.schedule.capabilities = machine.capabilities;
  options.schedule.bfloat16_dot = dots;
  auto plan = Plan::make(rewritten, machine.backend, options);
  if (!plan) throw std::runtime_error(plan.error().text());
  return std::move(*plan);
}

int dots_of(const Plan& plan) {
  int count = 0;
  for (const KernelCall& call : plan.program().step_calls)
    count += plan.program().kernels[call.kernel].name.find("_dot_") != std::string::npos;
  return count;
}

void run(Plan& plan, const std::vector<float>& x, std::optional<int64_t> rows) {
  std::memcpy(plan.input_data(0), x.data(), x.size() * sizeof(float));
  const int64_t value = rows.value_or(0);
  ASSERT_TRUE(plan.run(&value)) << plan.failure();
}

/// One linear layer in float64, and for each element the sum of the products' magnitudes.
void expect_linear(const Plan& plan, size_t output, const std::vector<float>& x, int64_t rows, int64_t depth,
                   int64_t columns) {
  const std::vector<float> w = random_values(columns * depth, static_cast<uint32_t>(columns));
  const auto* y = reinterpret_cast<const float*>(plan.output_data(output));
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column++) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < depth; k++) {
        const double product = rounded(static_cast<double>(x[static_cast<size_t>(row * depth + k)])) *
                               rounded(static_cast<double>(w[static_cast<size_t>(column * depth + k)]));
        sum += product;
        magnitude += std::abs(product);
      }
      // Each of the additions rounds once.
      ASSERT_NEAR(static_cast<double>(y[row * columns + column]), sum, static_cast<double>(depth) * 0x1p-24 * magnitude)
          << "row " << row << ", column " << column;
    }
}

TEST(BFloat16Dot, IsWithinTheBoundOfAnF32SumOfTheRoundedOperands) {
  constexpr int64_t kDepth = 66;
  const std::vector<int64_t> widths = {5, 16, 47, 48, 100};
  const auto layers = [&](const Tensor& x) {
    std::vector<Tensor> outputs;
    for (const int64_t columns : widths) outputs.push_back(linear(x, bfloat16_weight(columns, kDepth), {}));
    return outputs;
  };
  for (const Machine& machine : machines()) {
    const std::unique_ptr<Plan> any = plan_of(module_of(Index::variable("t", 1, 30), kDepth, layers), machine);
    EXPECT_EQ(dots_of(*any), static_cast<int>(widths.size()));
    for (const int64_t rows : {1, 4, 9, 10, 17, 30}) {
      SCOPED_TRACE(machine.backend->name() + ", " + std::to_string(rows) + " rows");
      const std::vector<float> x = random_values(rows * kDepth, static_cast<uint32_t>(rows));
      run(*any, x, rows);
      const std::unique_ptr<Plan> exact = plan_of(module_of(rows, kDepth, layers), machine);
      EXPECT_EQ(dots_of(*exact), static_cast<int>(widths.size()));
      run(*exact, x, std::nullopt);
      for (size_t i = 0; i < widths.size(); i++) {
        expect_linear(*any, i, x, rows, kDepth, widths[i]);
        expect_linear(*exact, i, x, rows, kDepth, widths[i]);
      }
    }
  }
}

TEST(BFloat16Dot, TheKernelThatMakesAnOperandRoundsIt) {
  const auto two = [](const Tensor& x) -> std::vector<Tensor> {
    return {linear(silu(linear(x, bfloat16_weight(96, 64), {})), bfloat16_weight(40, 96), {})};
  };
  for (const Machine& machine : machines()) {
    const std::unique_ptr<Plan> plan = plan_of(module_of(20, 64, two), machine);
    EXPECT_EQ(dots_of(*plan), 2);
    // The input is rounded by a kernel of its own.
    EXPECT_EQ(plan->program().step_calls.size(), 3u);
    const std::vector<float> x = random_values(20 * 64, 5);
    run(*plan, x, std::nullopt);
    const std::unique_ptr<Plan> plain = plan_of(module_of(20, 64, two), machine, false);
    run(*plain, x, std::nullopt);
    const auto* y = reinterpret_cast<const float*>(plan->output_data(0));
    const auto* z = reinterpret_cast<const float*>(plain->output_data(0));
    double worst = 0, largest = 0;
    for (int i = 0; i < 20 * 40; i++) {
      worst = std::max(worst, static_cast<double>(std::abs(y[i] - z[i])));
      largest = std::max(largest, static_cast<double>(std::abs(z[i])));
    }
    EXPECT_LT(worst, 0.01 * largest);
    EXPECT_GT(worst, 0) << "nothing was rounded";
  }
}

TEST(BFloat16Dot, ReadsWhatSeveralContractionsShareOnce) {
  const auto shared = [](const Tensor& x) -> std::vector<Tensor> {
    const Tensor norm = layer_norm(x, Tensor::constant<float>({64}, random_values(64, 1)), {});
    return {linear(norm, bfloat16_weight(48, 64), {}), linear(norm, bfloat16_weight(50, 64), {}), x * 2.0};
  };
  const std::unique_ptr<Plan> plan = plan_of(module_of(20, 64, shared), machines().front());
  EXPECT_EQ(dots_of(*plan), 2);
  int halves = 0;
  for (const Slot& slot : plan->program().slots)
    halves += slot.role == SlotRole::kIntermediate && slot.dtype == DType::kBF16;
  EXPECT_EQ(halves, 1);
  EXPECT_EQ(plan->program().step_calls.size(), 4u);
}

TEST(BFloat16Dot, IsNotUsedWhereItIsNotWantedOrThere) {
  const auto layer = [](const Tensor& x) -> std::vector<Tensor> { return {linear(x, bfloat16_weight(48, 64), {})}; };
  const GraphModule module = round_operands_to_bfloat16(module_of(20, 64, layer));
  const auto dots = [&](const char* isa, bool wanted, Numerics numerics) {
    PlanOptions options;
    options.schedule.capabilities = *capabilities_named(isa);
    options.schedule.bfloat16_dot = wanted;
    options.schedule.numerics = numerics;
    auto plan = Plan::make(module, std::make_shared<InterpreterBackend>(), options);
    if (!plan) throw std::runtime_error(plan.error().text());
    return dots_of(**plan);
  };
  EXPECT_EQ(dots("avx512", true, Numerics::kFast), 1);
  EXPECT_EQ(dots("avx512", false, Numerics::kFast), 0);
  EXPECT_EQ(dots("avx512", true, Numerics::kReproducible), 0);
  EXPECT_EQ(dots("avx2", true, Numerics::kFast), 0);
  EXPECT_EQ(dots("wasm-relaxed", true, Numerics::kFast), 0);
}

TEST(BFloat16Dot, RoundsOnlyWhatMeetsLongSumsWithBfloat16Weights) {
  const auto casts = [](int64_t depth, const std::function<std::vector<Tensor>(const Tensor&)>& build) {
    const GraphModule module = round_operands_to_bfloat16(module_of(4, depth, build));
    int count = 0;
    for (const NodeId id : reachable_nodes(*module.graph, module.outputs)) {
      const Node& node = module.graph->node(id);
      const bool weights = node.op == Op::kCast && module.graph->node(node.operands[0]).op == Op::kConstant;
      count += node.op == Op::kCast && node.dtype == DType::kBF16 && !weights;
    }
    return count;
  };
  const auto with = [](DType dtype, int64_t depth) {
    return [=](const Tensor& x) -> std::vector<Tensor> {
      const Tensor w = Tensor::constant<float>({48, depth}, random_values(48 * depth, 1));
      return {linear(x, dtype == DType::kF32 ? w : w.cast(dtype).cast(DType::kF32), {})};
    };
  };
  EXPECT_EQ(casts(64, with(DType::kBF16, 64)), 1);
  EXPECT_EQ(casts(64, with(DType::kF16, 64)), 0);
  EXPECT_EQ(casts(64, with(DType::kF32, 64)), 0);
  EXPECT_EQ(casts(65, with(DType::kBF16, 65)), 0);  // no pairs
  EXPECT_EQ(casts(8, with(DType::kBF16, 8)), 0);
  EXPECT_EQ(casts(64, [](const Tensor& x) -> std::vector<Tensor> { return {matmul(x, x.transpose(0, 1))}; }), 0);
}

}  // namespace
}  // namespace tandem
