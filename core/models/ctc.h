#pragma once

#include <span>
#include <vector>

#include "core/models/gigaam_weights.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// What a lane said: classes, and for each the encoder frame where it begins.
struct TokenSequence {
  std::vector<int32_t> tokens;
  std::vector<int32_t> frames;
};

/// The CTC head: one linear layer and the logarithm of the softmax.
class CtcHead {
 public:
  explicit CtcHead(const GigaAmWeights& weights);

  /// encoded [b, t, d] to log-probabilities f32 [b, t, classes].
  Tensor forward(const Tensor& encoded) const;

 private:
  AffineWeights out_;
  Activations read_;
};

/// Log-probabilities of one lane: f32 [frames, classes], row-major; the blank is the last class.
struct CtcLane {
  std::span<const float> log_probs;
  int64_t classes = 0;
  int64_t frames() const { return static_cast<int64_t>(log_probs.size()) / classes; }
};

/// The most probable class of each frame, runs merged, blanks dropped. A token's frame is the first of its run.
TokenSequence ctc_greedy(const CtcLane& lane);

/// One result of the beam search.
struct CtcHypothesis {
  TokenSequence sequence;
  double log_probability = 0;  ///< Of the token sequence: the sum over all its paths that stayed in the beam.
};

/// Prefix beam search: follows the `beam_width` most probable token sequences over all frames and returns them, best
/// first. A token's frame is that of the most probable single path of its sequence. kInvalidArgument for a width below
/// 1 or above 10000, kNonFinite for a log-probability that is no finite number.
Result<std::vector<CtcHypothesis>> ctc_beam_search(const CtcLane& lane, int64_t beam_width);

}  // namespace tandem
