#pragma once

#include <memory>
#include <optional>

#include "core/jit/wrapper.h"
#include "core/models/conformer.h"
#include "core/models/ctc.h"
#include "core/models/mel.h"
#include "core/models/rnnt.h"

namespace tandem {

/// All parts of a GigaAM model that a configuration describes. Cheap to make: the weights are shared, nothing is
/// computed.
struct GigaAmModel {
  static constexpr const char* kSessionName = "GigaAM";

  /// Errors: those of GigaAmWeights::find, and kInvalidArgument for a configuration without encoder.
  static Result<std::shared_ptr<const GigaAmModel>> make(const WeightFile& file, const GigaAmConfig& config,
                                                         const GigaAmOptions& options = {});

  GigaAmConfig config;
  MelFrontEnd mel;
  Conformer encoder;
  std::optional<CtcHead> ctc;
  std::optional<RnntHead> rnnt;
  GigaAmWeights weights;
};

/// Samples of one clip to log-mel: samples [>= n] of f32 or i16.
struct GigaAmMelJit : Wrapper<GigaAmMelJit, MelFrontEnd> {
  using Wrapper::Wrapper;
  TANDEM_VAR(n, model.config().fewest_samples(), 30 * model.config().sample_rate)
  TANDEM_INPUT(samples)
  TANDEM_OUTPUT(log_mel, f32)
  TANDEM_BUILD(samples, n) { return {as_log_mel(model.forward(samples.shrink({{0, n}})))}; }
};

/// The encoder alone: mel f32 [>= b, features, >= t], lengths i32 [>= b].
struct GigaAmEncoderJit : Wrapper<GigaAmEncoderJit, GigaAmModel> {
  using Wrapper::Wrapper;
  static constexpr const char* kSessionName = "GigaAM encoder";
  TANDEM_VAR(b, 1, 16)
  TANDEM_VAR(t, 1, model.config.encoder->most_frames())
  TANDEM_INPUT(mel)
  TANDEM_INPUT(lengths)
  TANDEM_OUTPUT(encoded, f32)
  TANDEM_OUTPUT(encoded_lengths, i32)
  TANDEM_BUILD(mel, lengths, b, t) {
    const EncodedBatch batch = model.encoder.forward_batch(mel, lengths, b, t);
    return {as_encoded(batch.encoded.cast(DType::kF32)), as_encoded_lengths(batch.lengths)};
  }
};

/// The encoder and its head's share of every frame, in one plan: scores are CTC's log-probabilities [b, t', classes],
/// or RN-T's projection [b, t', joint hidden].
struct GigaAmJit : Wrapper<GigaAmJit, GigaAmModel> {
  using Wrapper::Wrapper;
  TANDEM_VAR(b, 1, 16)
  TANDEM_VAR(t, 1, model.config.encoder->most_frames())
  TANDEM_INPUT(mel)
  TANDEM_INPUT(lengths)
  TANDEM_OUTPUT(encoded, f32)
  TANDEM_OUTPUT(encoded_lengths, i32)
  TANDEM_OUTPUT(scores, f32)
  TANDEM_BUILD(mel, lengths, b, t) {
    const EncodedBatch batch = model.encoder.forward_batch(mel, lengths, b, t);
    const Tensor scores = model.ctc ? model.ctc->forward(batch.encoded) : model.rnnt->project(batch.encoded);
    return {as_encoded(batch.encoded.cast(DType::kF32)), as_encoded_lengths(batch.lengths),
            as_scores(scores.limit(1, batch.lengths))};
  }
};

/// Samples to CTC's log-probabilities in one plan, one clip at a time: samples [>= n] of f32 or i16.
struct GigaAmSpeechJit : Wrapper<GigaAmSpeechJit, GigaAmModel> {
  using Wrapper::Wrapper;
  static constexpr const char* kSessionName = "GigaAM speech";
  TANDEM_VAR(n, model.config.mel.fewest_samples(), 30 * model.config.mel.sample_rate)
  TANDEM_INPUT(samples)
  TANDEM_OUTPUT(log_mel, f32)
  TANDEM_OUTPUT(encoded, f32)
  TANDEM_OUTPUT(scores, f32)
  TANDEM_BUILD(samples, n) {
    const Tensor log_mel = model.mel.forward(samples.shrink({{0, n}}));
    const Dim& t = log_mel.dim(1);
    const Tensor lengths = size_tensor(t, DType::kI32).unsqueeze(0);
    const EncodedBatch batch = model.encoder.forward_batch(log_mel.unsqueeze(0), lengths, 1, t);
    return {as_log_mel(log_mel), as_encoded(batch.encoded.cast(DType::kF32)),
            as_scores(model.ctc->forward(batch.encoded))};
  }
};

/// RN-T's predictor as a recurrent step: labels, and the state h and c. With one lane it fits JitRecurrent.
struct GigaAmPredictorJit : Wrapper<GigaAmPredictorJit, GigaAmModel> {
  using Wrapper::Wrapper;
  static constexpr const char* kSessionName = "GigaAM predictor";
  TANDEM_VAR(n, 1, 64)
  TANDEM_INPUT(labels, i32, n)
  TANDEM_INPUT(h, f32, n, this->model_->rnnt->state_size())
  TANDEM_INPUT(c, f32, n, this->model_->rnnt->state_size())
  TANDEM_BUILD(labels, h, c) { return model.rnnt->predict(labels, h, c); }
  TANDEM_RECURRENT(h, c)
};

/// RN-T's joint network for one frame of each lane: log-probabilities [n, classes].
struct GigaAmJointJit : Wrapper<GigaAmJointJit, GigaAmModel> {
  using Wrapper::Wrapper;
  static constexpr const char* kSessionName = "GigaAM joint";
  TANDEM_VAR(n, 1, 64)
  TANDEM_INPUT(projected, f32, n, this->model_->config.head->joint_hidden)
  TANDEM_INPUT(predicted, f32, n, this->model_->config.head->pred_hidden)
  TANDEM_BUILD(projected, predicted) { return model.rnnt->join(projected, predicted); }
};

}  // namespace tandem
