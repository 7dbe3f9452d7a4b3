#include "tests/bench/silero_plan.h"

#include <cstring>
#include <stdexcept>

namespace tandem::bench {

std::unique_ptr<Plan> silero_plan(const SileroWeights& weights, std::shared_ptr<Backend> backend,
                                  const Capabilities& capabilities, Numerics numerics) {
  const Silero model(weights);
  const int64_t samples = silero_sizes(weights.sample_rate)->chunk();
  GraphModule module;
  const Tensor chunk = Tensor::input(module.graph, 0, "chunk", DType::kF32, {1, samples});
  const Tensor h = Tensor::input(module.graph, 1, "h", DType::kF32, {1, kSileroHidden});
  const Tensor c = Tensor::input(module.graph, 2, "c", DType::kF32, {1, kSileroHidden});
  module.outputs = {model.forward_chunk(chunk, h, c).node_in(module.graph)};
  module.output_names = {"output"};
  PlanOptions options;
  options.schedule = {capabilities, numerics};
  auto plan = Plan::make(module, std::move(backend), options);
  if (!plan) throw std::runtime_error(plan.error().text());
  return std::move(*plan);
}

float silero_step(Plan& plan, const float* chunk) {
  std::memcpy(plan.input_data(0), chunk, 576 * sizeof(float));
  if (!plan.run(nullptr)) throw std::runtime_error(plan.failure());
  const auto* output = reinterpret_cast<const float*>(plan.output_data(0));
  std::memcpy(plan.input_data(1), output + 1, kSileroHidden * sizeof(float));
  std::memcpy(plan.input_data(2), output + 1 + kSileroHidden, kSileroHidden * sizeof(float));
  return output[0];
}

}  // namespace tandem::bench
