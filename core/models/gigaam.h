#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/models/rnnt_greedy.h"

namespace tandem {

/// A batch as the encoder sees it. Rows from a lane's length on mean nothing.
struct EncodedFrames {
  int64_t frames = 0;                    ///< Encoder frames of the batch, t'.
  int64_t width = 0;                     ///< d_model.
  std::vector<float> encoded;            ///< [b, t', width]
  std::vector<int32_t> encoded_lengths;  ///< [b]
};

/// Values of frames [b, t', width].
struct RowsOfFrames {
  std::span<const float> values;
  int64_t width;
};

/// kNonFinite when the frames of a lane hold something that is no number, from which nothing can be made: names it and
/// its place, and how far `mel`, which it was made of, and the weights reach. `what`: the plural of the values.
Result<void> check_finite_rows(const char* what, const RowsOfFrames& rows, const EncodedFrames& batch,
                               const GigaAmModel& model, std::span<const float> mel);

/// A batch as the encoder and its head see it.
struct RecognizedBatch : EncodedFrames {
  int64_t score_width = 0;               ///< Classes (CTC) or joint hidden (RN-T).
  std::vector<float> scores;             ///< [b, t', score width]: log-probabilities (CTC) or the projection (RN-T).
  std::vector<TokenSequence> sequences;  ///< [b], greedy.
};

/// For how many lanes and mel frames a recogniser is prepared.
struct BatchLimits {
  static constexpr int64_t kMostLanes = 64;
  int64_t lanes = 1;      ///< 1 to kMostLanes.
  int64_t frames = 3000;  ///< 30 seconds.
  /// Only exactly this many lanes and frames, which saves the kernels their tests.
  bool fixed = false;
};

/// A batch of log-mel: f32 [b, features, t], and the lengths of its lanes in frames, 0 to t. A lane's frames from its
/// length on don't matter, except that they must not be NaN or infinite.
struct MelBatch {
  std::span<const float> mel;
  std::span<const int32_t> lengths;
  int64_t t = 0;
};

/// A prepared encoder without its head.
class GigaAmEncoder {
 public:
  /// Errors: kVariable (limits out of range), and those of prepare().
  static Result<GigaAmEncoder> create(const std::shared_ptr<const GigaAmModel>& model, const BatchLimits& limits,
                                      const PrepareConfig& config);
  /// Errors as for GigaAmRecognizer::recognize.
  Result<EncodedFrames> encode(const MelBatch& batch);

  GigaAmEncoderJit& jit() { return jit_; }

 private:
  GigaAmEncoder(GigaAmEncoderJit jit, BatchLimits limits) : jit_(std::move(jit)), limits_(limits) {}

  GigaAmEncoderJit jit_;
  BatchLimits limits_;
};

/// A prepared GigaAM: batches of log-mel in, token sequences out.
class GigaAmRecognizer {
 public:
  /// Compiles encoder and head. Errors: kInvalidArgument (limits out of range, a model without head), and those of
  /// prepare().
  static Result<GigaAmRecognizer> create(const std::shared_ptr<const GigaAmModel>& model, const BatchLimits& limits,
                                         const PrepareConfig& config);

  /// Errors: kVariable (b or t beyond the limits), kInvalidArgument (a length, or a wrong number of elements),
  /// kNonFinite, kRuntime. After an error the next call works.
  Result<RecognizedBatch> recognize(const MelBatch& batch);

  GigaAmJit& jit() { return jit_; }
  const GigaAmModel& model() const { return jit_.model(); }

 private:
  GigaAmRecognizer(GigaAmJit jit, std::optional<RnntGreedy> decoder, BatchLimits limits);
  Result<void> decode(RecognizedBatch& batch);

  GigaAmJit jit_;
  std::optional<RnntGreedy> decoder_;
  BatchLimits limits_;
};

/// The greedy sequences of CTC log-probabilities f32 [b, frames, classes].
std::vector<TokenSequence> ctc_greedy_batch(std::span<const float> log_probs, int64_t frames, int64_t classes,
                                            std::span<const int32_t> lengths);

}  // namespace tandem
