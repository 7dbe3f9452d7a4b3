#pragma once

#include <cstdint>
#include <span>

#include "core/models/silero_weights.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Sizes of a Silero VAD v5 or v6 chunk, in samples: what the model sees at once is the context (the end of the
/// previous window) followed by the window.
struct SileroSizes {
  int64_t window;   ///< New samples per step, 32 ms: 512 at 16 kHz, 256 at 8 kHz.
  int64_t context;  ///< 64 or 32.
  int64_t stride;   ///< Step of the short-time Fourier transform: 128 or 64.

  int64_t chunk() const { return context + window; }
};

/// Length of each of the two state vectors h and c.
inline constexpr int64_t kSileroHidden = 128;

/// For 16000 or 8000 Hz; kInvalidArgument for any other rate.
Result<SileroSizes> silero_sizes(int64_t sample_rate);

/// Silero VAD v5 or v6 at 16 or 8 kHz: the probability that a chunk of 32 ms holds speech. The graph is the same for
/// both versions and rates; only weights and sizes differ.
class Silero {
 public:
  static constexpr const char* kSessionName = "Silero VAD";

  /// Shares the bytes of the weights. Throws TensorError for those that `check_silero_weights` refuses.
  explicit Silero(const SileroWeights& weights);

  int64_t sample_rate() const { return sample_rate_; }
  const SileroSizes& sizes() const { return sizes_; }
  /// kNonFinite for a window without a finite probability, which has this number; `frame` is what was heard of it. The
  /// weights may be why as well, but need not be in memory any more.
  tl::unexpected<JitError> overflow(std::span<const float> frame, int64_t number) const;

  /// What one chunk gives.
  struct Step {
    Tensor probability;  ///< [1, 1]
    LstmOutput state;    ///< The new h and c, [1, 128] each.
  };
  /// chunk [1, 576] (8 kHz: [1, 288]): context and window, samples in [-1, 1]; h and c [1, 128]: the state, zeros at
  /// the start of a stream. Any other length is a TensorError: the network would accept it and answer nonsense.
  Step step(const Tensor& chunk, const Tensor& h, const Tensor& c) const;
  /// The same as one tensor [1, 257]: probability, h, c.
  Tensor forward_chunk(const Tensor& chunk, const Tensor& h, const Tensor& c) const;

  /// Everything of `windows` steps that needs no state, at once. samples [context + windows * window]: what stands
  /// before the first window (zeros at the start of a recording), and the windows. Gives the gates [windows, 512] for
  /// `step_from_gates`. Sums are taken in another order than in `step`.
  Tensor gates(const Tensor& samples, const Dim& windows) const;
  /// The rest of a step: gates [1, 512] is a row of `gates`.
  Step step_from_gates(const Tensor& gates, const Tensor& h, const Tensor& c) const;

 private:
  /// Magnitudes of the spectrum of 4 overlapping windows: [n, bins, 4] of chunks [n, chunk].
  Tensor spectrum(const Tensor& chunks) const;
  /// The same in a quarter of the multiplications, for a basis that is a windowed Fourier transform; in the order of
  /// `by_parity`.
  Tensor folded_spectrum(const Tensor& chunks) const;
  /// Spectrum and the four convolutions: [n, 128] of chunks [n, chunk]; `many` chunks or one.
  Tensor features(const Tensor& chunks, bool many) const;
  Tensor probability(const Tensor& h) const;

  int64_t sample_rate_;
  SileroSizes sizes_;
  WeightTensor stft_weight_;  ///< The numbers of the basis, which the constant keeps alive.
  Tensor stft_basis_;
  Tensor conv1_weight_, conv1_bias_, conv2_weight_, conv2_bias_;
  Tensor conv3_weight_, conv3_bias_, conv4_weight_, conv4_bias_;
  Tensor lstm_weight_ih_, lstm_weight_hh_, lstm_bias_ih_, lstm_bias_hh_;
  Tensor final_weight_, final_bias_;
};

}  // namespace tandem
