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
/// refused with its index. Finite samples far outside can make the network overflow: kNonFinite names the window. In
/// both cases the stream goes on as if the piece had never come.
class SileroVad {
 public:
  /// Where a stream stands: its samples that wait, and the state.
  struct Place {
    WindowFramer::Place frame;
    std::vector<float> h, c;
    bool ended = false;
  };

  /// Compiles the model. Errors: kInvalidArgument (rate, dtype), and those of prepare().
  static Result<SileroVad> create(const SileroWeights& weights, const PrepareConfig& config);
  /// The same, configured by the environment.
  static Result<SileroVad> create(const SileroWeights& weights);

  int64_t sample_rate() const { return jit_.model().sample_rate(); }
  /// Samples per probability: 512 at 16 kHz, 256 at 8 kHz.
  int64_t window() const { return jit_.model().sizes().window; }
  /// Samples taken since the start of the stream.
  int64_t sample_count() const { return framer_.sample_count(); }

  /// Takes all samples and calls `on_probability(float)` for every window that becomes complete. Errors: kNonFinite
  /// with the index in the stream or with the window that overflows, kInvalidArgument after `flush()`, kRuntime.
  /// Nothing is taken then; probabilities of windows before the one that overflows come again with the next call.
  template <typename OnProbability>
  [[nodiscard]] Result<void> push(std::span<const float> samples, OnProbability&& on_probability) {
    if (auto checked = check(samples); !checked) return checked;
    Result<void> result = {};
    // Samples that complete no window run nothing, and nothing can fail.
    const bool runs = framer_.pending() + samples.size() >= framer_.window();
    if (runs) result = save(before_);
    if (!result) return result;
    framer_.push(samples, [&](std::span<const float> frame) { return run(frame, on_probability, result); });
    if (!result) static_cast<void>(go_back(before_));
    return result;
  }
  /// The same, appending to a vector, which stays as it is after an error.
  [[nodiscard]] Result<void> push(std::span<const float> samples, std::vector<float>& probabilities);

  /// Takes exactly one window and gives its probability. kInvalidArgument for any other length and while pieces of a
  /// window are pending, kNonFinite, kRuntime.
  [[nodiscard]] Result<float> step(std::span<const float> window);

  /// Ends the stream: a window that is not complete is filled with zeros and gets its probability. Only `reset()` may
  /// follow. After an error the stream has not ended.
  template <typename OnProbability>
  [[nodiscard]] Result<void> flush(OnProbability&& on_probability) {
    Result<void> result = save(before_);
    if (!result) return result;
    framer_.flush([&](std::span<const float> frame) { return run(frame, on_probability, result); });
    if (result)
      ended_ = true;
    else
      static_cast<void>(go_back(before_));
    return result;
  }
  [[nodiscard]] Result<void> flush(std::vector<float>& probabilities);

  /// Begins a new stream: no context, no state, sample 0.
  Result<void> reset();

  /// Copies the place of the stream; allocates only when `place` is new. For calls of several steps that must do all or
  /// nothing.
  [[nodiscard]] Result<void> save(Place& place);
  /// Goes on from a place that `save` of this detector has filled.
  Result<void> go_back(const Place& place);

  /// The state after the last window, 128 values each. The views stand until the next call.
  [[nodiscard]] Result<std::span<const float>> h();
  [[nodiscard]] Result<std::span<const float>> c();

  /// The wrapper below, for profiles and tools.
  SileroStreamJit& jit() { return jit_; }

 private:
  explicit SileroVad(SileroStreamJit jit);

  Result<void> check(std::span<const float> samples) const;
  Result<float> run_frame(std::span<const float> frame);
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
  Place before_;  ///< The present call.
};

}  // namespace tandem
