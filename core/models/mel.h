#pragma once

#include "core/models/gigaam_config.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Periodic Hann window 0.5 - 0.5 cos(2 pi n / size): f64 [size], made by graph operations.
Tensor hann_window(int64_t size);
/// Triangles with peak 1 on the HTK scale m = 2595 log10(1 + f / 700), from 0 Hz to half the sample rate:
/// f64 [bins, features], made by graph operations.
Tensor mel_filterbank(const MelConfig& config);

/// The log-mel front end of GigaAM: ln(clamp(|DFT(window * frame)|^2 * filterbank, 1e-9, 1e9)).
///
/// Everything before the result is f64: in f32 the quiet bands would be lost in the rounding errors of the loud ones,
/// and the whole front end takes less than a hundredth of the encoder's time. The tables are constants of the graph and
/// come from its own sine, cosine, exponential and logarithm, so that they are the same bits on every machine.
class MelFrontEnd {
 public:
  static constexpr const char* kSessionName = "log-mel";

  explicit MelFrontEnd(const MelConfig& config) : config_(config) {}

  const MelConfig& config() const { return config_; }
  /// samples [.., n], f32 in [-1, 1] or i16 (divided by 32768): f32 [.., features, frames]. TensorError when n may be
  /// below `fewest_samples()`.
  Tensor forward(const Tensor& samples) const;

 private:
  MelConfig config_;
};

}  // namespace tandem
