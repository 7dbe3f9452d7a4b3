#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/models/silero_jit.h"

namespace tandem {

/// Voice activity detection of a whole recording: the probabilities that `SileroVad` gives for it (within 1e-5), in
/// two thirds of the time. Everything that needs no state is computed for many windows at once; what is left of a
/// step runs window by window. A stream, whose samples come one window at a time, needs `SileroVad`.
class SileroOffline {
 public:
  /// From so many windows on, 9 minutes, it is the better choice: its two plans take 25 ms longer to prepare than
  /// SileroVad's when their kernels come from the cache (gained back after 7000 windows) and 0.3 s when they must be
  /// compiled (80000).
  static constexpr int64_t kFewestWindows = 16384;

  /// Compiles the model for one thread, unless the configuration has a backend with more. Errors: kInvalidArgument
  /// (rate, dtype), and those of prepare().
  static Result<SileroOffline> create(const SileroWeights& weights, const PrepareConfig& config);
  /// The same, configured by the environment.
  static Result<SileroOffline> create(const SileroWeights& weights);

  int64_t sample_rate() const { return scan_.model().sample_rate(); }
  /// Samples per probability: 512 at 16 kHz, 256 at 8 kHz.
  int64_t window() const { return scan_.model().sizes().window; }

  /// Called with the number of windows that are done.
  using OnProgress = std::function<void(int64_t windows)>;
  /// One probability for every window of the recording, the last one filled up with zeros. Samples are floats in [-1,
  /// 1]. Errors, after which the detector can be used as before: kNonFinite with the index of the sample or the window
  /// that overflows, kRuntime.
  [[nodiscard]] Result<std::vector<float>> probabilities(std::span<const float> samples,
                                                         const OnProgress& on_progress = {});

  /// The wrappers below, for profiles and tools.
  SileroGatesJit& gates_jit() { return gates_; }
  SileroScanJit& scan_jit() { return scan_; }

 private:
  SileroOffline(SileroGatesJit gates, SileroScanJit scan) : gates_(std::move(gates)), scan_(std::move(scan)) {}

  SileroGatesJit gates_;
  SileroScanJit scan_;
};

}  // namespace tandem
