#pragma once

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/models/silero.h"
#include "core/plan/plan.h"

namespace tandem::testing {

/// What a model gave for a clip.
struct SileroTrack {
  std::vector<float> probabilities;
  std::vector<float> first_h, first_c;  ///< State after the first window.
  std::vector<float> last_h, last_c;    ///< State after the last window.
};

/// Weights of "v5" or "v6" from the installed npm package. Throws std::runtime_error.
SileroWeights silero_weights(const std::string& version, int64_t sample_rate);

/// The model's graph: chunk, h and c go in, one row [probability | h | c] comes out.
GraphModule silero_graph(const std::string& version, int64_t sample_rate);

/// Drives a plan of `Silero::forward_chunk` window by window, with the context and the state kept here. Throws
/// std::runtime_error with the engine's message.
class SileroStepper {
 public:
  SileroStepper(const std::string& version, int64_t sample_rate, std::shared_ptr<Backend> backend,
                const Capabilities& capabilities, Numerics numerics);

  /// A fresh stream: at most `windows` windows of the samples, the last one zero-padded.
  SileroTrack run(std::span<const float> samples, size_t windows = std::numeric_limits<size_t>::max());
  const Plan& plan() const { return *plan_; }

 private:
  std::span<float> input(const std::string& name);

  SileroSizes sizes_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tandem::testing
