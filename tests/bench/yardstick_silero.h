#pragma once

#include <memory>

#include "core/models/silero_weights.h"

namespace tandem::bench {

/// One step of Silero VAD at 16 kHz, written by hand with vector extensions: what the machine can do in f32. Never part
/// of the engine.
class SileroYardstick {
 public:
  virtual ~SileroYardstick() = default;
  /// A chunk of 576 samples (64 of context) to the probability of speech; the state is kept inside.
  virtual float step(const float* chunk) = 0;

  /// `width`: floats per vector, 16, 8 or 4. Null for any other. `half`: matrices of the convolutions and the LSTM are
  /// kept as f16.
  static std::unique_ptr<SileroYardstick> make(const SileroWeights& weights, int width, bool half = false);
};

}  // namespace tandem::bench
