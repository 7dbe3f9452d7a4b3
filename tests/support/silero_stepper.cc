#include "tests/support/silero_stepper.h"

#include <algorithm>
#include <stdexcept>

#include "core/audio/window_framer.h"
#include "core/rewrite/rewrite.h"
#include "tests/support/golden.h"
#include "tests/support/value_or_throw.h"

namespace tandem::testing {
namespace {}  // namespace

SileroWeights silero_weights(const std::string& version, int64_t sample_rate) {
  const WeightFile file =
      value_or_throw(read_weights(ByteSource::own(file_bytes(silero_onnx_path(version))), version + ".onnx"));
  return value_or_throw(find_silero_weights(file, sample_rate));
}

GraphModule silero_graph(const std::string& version, int64_t sample_rate) {
  const Silero model(silero_weights(version, sample_rate));
  GraphModule module;
  const Tensor chunk = Tensor::input(module.graph, 0, "chunk", DType::kF32, {1, model.sizes().chunk()});
  const Tensor h = Tensor::input(module.graph, 1, "h", DType::kF32, {1, kSileroHidden});
  const Tensor c = Tensor::input(module.graph, 2, "c", DType::kF32, {1, kSileroHidden});
  module.outputs = {model.forward_chunk(chunk, h, c).node_in(module.graph)};
  module.output_names = {"output"};
  return module;
}

/// As a wrapper does before it plans.
static GraphModule rewritten(const GraphModule& module, Numerics numerics) {
  RewriteOptions options;
  options.reorder_sums = numerics == Numerics::kFast;
  return rewrite(module, options);
}

SileroStepper::SileroStepper(const std::string& version, int64_t sample_rate, std::shared_ptr<Backend> backend,
                             const Capabilities& capabilities, Numerics numerics)
    : sizes_(*silero_sizes(sample_rate)) {
  PlanOptions options;
  options.schedule = {capabilities, numerics};
  plan_ =
      value_or_throw(Plan::make(rewritten(silero_graph(version, sample_rate), numerics), std::move(backend), options));
}

std::span<float> SileroStepper::input(const std::string& name) {
  for (size_t i = 0; i < plan_->inputs().size(); ++i) {
    if (plan_->inputs()[i].name != name) continue;
    const auto size = static_cast<size_t>(plan_->slot_bytes(plan_->inputs()[i].buffer.slot)) / sizeof(float);
    return {reinterpret_cast<float*>(plan_->input_data(i)), size};
  }
  throw std::runtime_error("no input " + name);
}

SileroTrack SileroStepper::run(std::span<const float> samples, size_t windows) {
  SileroTrack track;
  const std::span<float> chunk = input("chunk"), h = input("h"), c = input("c");
  const auto* output = reinterpret_cast<const float*>(plan_->output_data(0));
  std::fill(h.begin(), h.end(), 0.0f);
  std::fill(c.begin(), c.end(), 0.0f);
  WindowFramer framer(static_cast<size_t>(sizes_.window), static_cast<size_t>(sizes_.context));
  const auto step = [&](std::span<const float> frame) {
    if (track.probabilities.size() == windows) return false;
    std::copy(frame.begin(), frame.end(), chunk.begin());
    if (!plan_->run(nullptr)) throw std::runtime_error(plan_->failure());
    track.probabilities.push_back(output[0]);
    track.last_h.assign(output + 1, output + 1 + kSileroHidden);
    track.last_c.assign(output + 1 + kSileroHidden, output + 1 + 2 * kSileroHidden);
    std::copy(track.last_h.begin(), track.last_h.end(), h.begin());
    std::copy(track.last_c.begin(), track.last_c.end(), c.begin());
    if (track.probabilities.size() == 1) track.first_h = track.last_h, track.first_c = track.last_c;
    return true;
  };
  framer.push(samples, step);
  framer.flush(step);
  return track;
}

}  // namespace tandem::testing
