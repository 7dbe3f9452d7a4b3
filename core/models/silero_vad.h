#pragma once

#include <span>
#include <vector>

#include "core/audio/window_framer.h"
#include "core/models/silero_jit.h"

namespace tandem {

/// Voice activity detection of a stream: push samples in pieces of any size, get the probability of speech of every
/// window of 32 ms. Context and state are kept here. After `create` nothing is allocated.
///
/// Samples are floats in [-1, 1] at `sample_rate()`. One NaN or infinity would make all later probabilities NaN: it is
/// refused with its index, and the stream goes on as if the piece had never come. Finite samples far outside can make
/// the network overflow: that window gets kNonFinite instead of a probability, and only `reset()` helps.
class SileroVad {
 public:
  /// Compiles the model. Errors: kInvalidArgument (rate), and those of prepare().
  static Result<SileroVad> create(const SileroWeights& weights, const PrepareConfig& config);
  /// The same, configured by the environment.
  static Result<SileroVad> create(const SileroWeights& weights);

  int64_t sample_rate() const { return jit_.model().sample_rate(); }
  /// Samples per probability: 512 at 16 kHz, 256 at 8 kHz.
  int64_t window() const { return jit_.model().sizes().window; }
  /// Samples taken since the start of the stream.
  int64_t sample_count() const { return framer_.sample_count(); }

  /// Takes all samples and calls `on_probability(float)` for every window that becomes complete. Errors: kNonFinite
  /// with the index in the stream (nothing is taken then) or with a window that overflows, kInvalidArgument after
  /// `flush()`, kRuntime.
  template <typename OnProbability>
  [[nodiscard]] Result<void> push(std::span<const float> samples, OnProbability&& on_probability) {
    if (auto checked = check(samples); !checked) return checked;
    Result<void> result;
    framer_.push(samples, [&](std::span<const float> frame) { return run(frame, on_probability, result); });
    return result;
  }
  /// The same, appending to a vector.
  [[nodiscard]] Result<void> push(std::span<const float> samples, std::vector<float>& probabilities);

  /// Takes exactly one window and gives its probability. kInvalidArgument for any other length and while pieces of a
  /// window are pending, kNonFinite, kRuntime.
  [[nodiscard]] Result<float> step(std::span<const float> window);

  /// Ends the stream: a window that is not complete is filled with zeros and gets its probability. Only `reset()` may
  /// follow.
  template <typename OnProbability>
  [[nodiscard]] Result<void> flush(OnProbability&& on_probability) {
    Result<void> result;
    framer_.flush([&](std::span<const float> frame) { return run(frame, on_probability, result); });
    ended_ = true;
    return result;
  }
  [[nodiscard]] Result<void> flush(std::vector<float>& probabilities);

  /// Begins a new stream: no context, no state, sample 0.
  Result<void> reset();

  /// The state after the last window, 128 values each. The views stand until the next call.
  [[nodiscard]] Result<std::span<const float>> h();
  [[nodiscard]] Result<std::span<const float>> c();

  /// The wrapper below, for profiles and tools.
  SileroStreamJit& jit() { return jit_; }

 private:
  explicit SileroVad(SileroStreamJit jit);

  Result<void> check(std::span<const float> samples) const;
  Result<float> run_frame(std::span<const float> frame);
  tl::unexpected<JitError> overflow(std::span<const float> frame) const;
  template <typename OnProbability>
  bool run(std::span<const float> frame, OnProbability&& on_probability, Result<void>& result) {
    const Result<float> probability = run_frame(frame);
    if (probability)
      on_probability(*probability);
    else
      result = tl::unexpected<JitError>(probability.error());
    return probability.has_value();
  }

  SileroStreamJit jit_;
  WindowFramer framer_;
  bool ended_ = false;
};

}  // namespace tandem
