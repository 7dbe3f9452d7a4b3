// Silero VAD, one window a call.

#include <algorithm>
#include <vector>

#include "core/audio/finite.h"
#include "core/audio/window_framer.h"
#include "core/base/text.h"
#include "core/models/silero.h"
#include "core/plan/plan.h"
#include "web/boundary.h"
#include "web/engine.h"

namespace tandem::web {

namespace {

/// A prepared model with the stream's state: the context before the window, and h and c.
class Detector {
 public:
  Detector(const Silero& model, const Capabilities& capabilities, Numerics numerics)
      : sizes_(model.sizes()), chunk_(static_cast<size_t>(sizes_.chunk())), samples_(sizes_.window) {
    GraphModule module;
    const auto input = [&](int32_t number, const char* name, int64_t length) {
      return Tensor::input(module.graph, number, name, DType::kF32, {1, length});
    };
    const Tensor result = model.forward_chunk(input(0, "chunk", sizes_.chunk()), input(1, "h", kSileroHidden),
                                              input(2, "c", kSileroHidden));
    module.outputs = {result.node_in(module.graph)};
    module.output_names = {"result"};
    PlanOptions options;
    options.schedule.capabilities = capabilities;
    options.schedule.numerics = numerics;
    options.memory_limit = plan_memory_limit();
    auto plan = Plan::make(module, engine_backend(), options);
    if (!plan) throw TensorError(plan.error().message, plan.error().code);
    plan_ = std::move(*plan);
    module_ = plan_->executable().binary();
    reset();
  }

  /// Where the caller puts the next window.
  std::vector<float>& samples() { return samples_; }
  int64_t window() const { return sizes_.window; }
  const float* state(bool cell) const { return float_input(cell ? 2 : 1); }
  const Plan& plan() const { return *plan_; }
  const std::vector<uint8_t>& module() const { return module_; }

  void reset() {
    std::fill(chunk_.begin(), chunk_.end(), 0.0f);
    std::fill_n(float_input(1), kSileroHidden, 0.0f);
    std::fill_n(float_input(2), kSileroHidden, 0.0f);
  }

  /// The probability; nothing when the backend broke.
  std::optional<float> step() {
    std::copy(samples_.begin(), samples_.end(), chunk_.begin() + sizes_.context);
    std::copy(chunk_.begin(), chunk_.end(), float_input(0));
    if (!plan_->run(nullptr)) return std::nullopt;
    const float* result = reinterpret_cast<const float*>(plan_->output_data(0));
    std::copy_n(result + 1, kSileroHidden, float_input(1));
    std::copy_n(result + 1 + kSileroHidden, kSileroHidden, float_input(2));
    std::copy(chunk_.end() - sizes_.context, chunk_.end(), chunk_.begin());
    return result[0];
  }

 private:
  float* float_input(size_t i) const { return reinterpret_cast<float*>(plan_->input_data(i)); }

  SileroSizes sizes_;
  std::unique_ptr<Plan> plan_;
  std::vector<uint8_t> module_;
  std::vector<float> chunk_;
  std::vector<float> samples_;
};

Handles<Detector>& detectors() {
  static Handles<Detector> all;
  return all;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// A detector by number; 0: failed. The bytes are not needed afterwards.
TANDEM_EXPORT uint32_t tandem_silero_load(const uint8_t* bytes, uint32_t size, const char* origin, int sample_rate,
                                          const char* isa, int reproducible) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    const auto* first = reinterpret_cast<const std::byte*>(bytes);
    TANDEM_TRY(file, read_weights(ByteSource::view({first, size}), origin));
    TANDEM_TRY(weights, find_silero_weights(file, sample_rate));
    return detectors().add(std::make_unique<Detector>(Silero(weights), capabilities_for(isa),
                                                      reproducible != 0 ? Numerics::kReproducible : Numerics::kFast));
  });
}

TANDEM_EXPORT int tandem_silero_window(uint32_t handle) { return static_cast<int>(detectors().find(handle)->window()); }
TANDEM_EXPORT float* tandem_silero_samples(uint32_t handle) { return detectors().find(handle)->samples().data(); }

/// The probability of the window at `tandem_silero_samples`; -1: failed, and then nothing has changed.
TANDEM_EXPORT double tandem_silero_step(uint32_t handle) {
  return guarded(-1.0, [&]() -> Result<double> {
    Detector& detector = detectors().get(handle);
    if (const auto wrong = find_non_finite(detector.samples())) {
      report(name_of(ErrorCode::kNonFinite),
             concat("sample ", *wrong, " is ", detector.samples()[*wrong], "; samples must be finite"));
      last_failure().index = static_cast<double>(*wrong);
      return -1.0;
    }
    if (const auto probability = detector.step()) return static_cast<double>(*probability);
    report("Broken", detector.plan().failure());
    return -1.0;
  });
}

/// 128 numbers: h (0) or c (1).
TANDEM_EXPORT const float* tandem_silero_state(uint32_t handle, int cell) {
  return detectors().find(handle)->state(cell != 0);
}

TANDEM_EXPORT void tandem_silero_reset(uint32_t handle) {
  if (Detector* detector = detectors().find(handle)) detector->reset();
}

/// Milliseconds of making the plan: 0 emitting the module, 1 loading it, 2 folding and packing constants.
TANDEM_EXPORT double tandem_silero_statistic(uint32_t handle, int which) {
  const PlanStatistics& statistics = detectors().find(handle)->plan().statistics();
  if (which == 0) return statistics.compile.generate_ms;
  return which == 1 ? statistics.compile.load_ms : statistics.prepare_ms;
}

TANDEM_EXPORT const uint8_t* tandem_silero_module(uint32_t handle) { return detectors().find(handle)->module().data(); }
TANDEM_EXPORT uint32_t tandem_silero_module_size(uint32_t handle) { return detectors().find(handle)->module().size(); }

TANDEM_EXPORT void tandem_silero_destroy(uint32_t handle) { detectors().remove(handle); }
