#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/models/gigaam.h"

namespace tandem {

struct PieceRecognizerOptions {
  int64_t lanes = 4;      ///< Clips that are recognised at once: 1 to 64.
  double longest_s = 30;  ///< Longest clip. At most what the positions of the model reach.
  /// CTC: 0 takes the most probable class of every frame, more is the width of a prefix beam search, up to 10000. RN-T
  /// has none.
  int64_t beam_width = 0;
};

/// Clips of sound in, token sequences out: the log-mel front end, the encoder with its head, and the decoder, prepared
/// once for all lengths up to the longest.
class PieceRecognizer {
 public:
  /// Errors: kInvalidArgument (an option out of its range, a beam for RN-T, a model without head), kUnsupported (a
  /// model whose positions do not reach that far), and those of prepare().
  static Result<PieceRecognizer> create(const std::shared_ptr<const GigaAmModel>& model,
                                        const PieceRecognizerOptions& options, const PrepareConfig& config);

  /// One sequence for each of up to `lanes` clips of samples in [-1, 1] at `sample_rate()`; an empty one for a clip
  /// that is too short for a frame. The results do not depend on how clips are put together. Errors: kInvalidArgument
  /// (too many or too long clips), kNonFinite with clip and index, kRuntime. After an error the next call works.
  Result<std::vector<TokenSequence>> recognize(std::span<const std::span<const float>> clips);

  /// The front end alone: log-mel f32 [features, frames] of a clip, empty for one that is too short for a frame. Errors
  /// as recognize().
  Result<std::vector<float>> log_mel(std::span<const float> clip);
  /// What recognises batches of log-mel, for up to `lanes` lanes and the frames of the longest clip.
  GigaAmRecognizer& recognizer() { return recognizer_; }

  int64_t sample_rate() const { return model().config.mel.sample_rate; }
  /// Most clips of a call.
  int64_t lanes() const { return options_.lanes; }
  /// Most samples of a clip.
  int64_t longest() const { return longest_; }
  /// Samples from one frame of a sequence to the next.
  int64_t samples_per_frame() const;
  const GigaAmModel& model() const { return recognizer_.model(); }

 private:
  PieceRecognizer(GigaAmMelJit mel, GigaAmRecognizer recognizer, const PieceRecognizerOptions& options, int64_t longest)
      : mel_(std::move(mel)), recognizer_(std::move(recognizer)), options_(options), longest_(longest) {}

  Result<void> check(std::span<const std::span<const float>> clips) const;
  Result<std::vector<float>> run_front_end(std::span<const float> clip);
  Result<std::vector<TokenSequence>> search(const RecognizedBatch& batch) const;

  GigaAmMelJit mel_;
  GigaAmRecognizer recognizer_;
  PieceRecognizerOptions options_;
  int64_t longest_;
};

}  // namespace tandem
