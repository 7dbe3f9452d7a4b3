// Kernels shared between threads: the same bits as on one, in both numerics, and workers that sleep when nothing is to
// do.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <thread>

#include "backends/clang/clang_backend.h"
#include "core/rewrite/rewrite.h"
#include "core/tensor/nn.h"
#include "tests/reference/random.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

/// Two large layers and a small one: 2 x 190 x 512 x 512 x 2 flops, enough for the threads to take part.
GraphModule large_graph() {
  GraphModule module;
  reference::Random random(7);
  const auto weights = [&](const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(element_count(shape).constant()));
    for (float& value : values) value = static_cast<float>(random.uniform(-0.05, 0.05));
    return Tensor::constant(shape, values, "weights");
  };
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {190, 512});
  const Tensor hidden = relu(linear(x, weights({512, 512}), weights({512})));
  const Tensor y = softmax(linear(hidden, weights({512, 512})), -1) + x;
  module.outputs = {y.node_in(module.graph)};
  module.output_names = {"y"};
  return rewrite(module, {});
}

std::vector<std::byte> result_with(int threads, Numerics numerics) {
  ClangBackendOptions options = ClangBackendOptions::from_environment();
  options.threads = threads;
  PlanOptions plan_options;
  plan_options.schedule = {host_capabilities(), numerics};
  auto plan = Plan::make(large_graph(), make_clang_backend(options), plan_options);
  EXPECT_TRUE(plan) << plan.error().text();
  if (!plan) return {};
  float* x = reinterpret_cast<float*>((*plan)->input_data(0));
  reference::Random random(3);
  for (int i = 0; i < 190 * 512; i++) x[i] = static_cast<float>(random.uniform(-1, 1));
  EXPECT_TRUE((*plan)->run(nullptr));
  const std::byte* y = (*plan)->output_data(0);
  return {y, y + 190 * 512 * sizeof(float)};
}

TEST(Threads, AnyNumberGivesTheSameBits) {
  for (Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
    const std::vector<std::byte> alone = result_with(1, numerics);
    ASSERT_FALSE(alone.empty());
    for (int threads : {2, 3, 8}) EXPECT_TRUE(result_with(threads, numerics) == alone) << threads << " threads";
  }
}

TEST(Threads, IdleWorkersSleep) {
  ClangBackendOptions options = ClangBackendOptions::from_environment();
  options.threads = 4;
  PlanOptions plan_options;
  plan_options.schedule.capabilities = host_capabilities();
  auto plan = Plan::make(large_graph(), make_clang_backend(options), plan_options);
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_TRUE((*plan)->run(nullptr));
  const auto processor_seconds = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // A spinning worker would burn the whole pause.
  EXPECT_LT(processor_seconds() - before, 0.1);
}

}  // namespace
}  // namespace tandem
