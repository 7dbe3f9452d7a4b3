#include "core/models/gigaam.h"

#include "core/audio/finite.h"
#include "core/base/text.h"
#include "core/models/largest_weight.h"

namespace tandem {

namespace {

Result<void> check_limits(const GigaAmConfig& config, const BatchLimits& limits) {
  const int64_t most_frames = config.encoder->most_frames();
  if (limits.lanes < 1 || limits.lanes > BatchLimits::kMostLanes)
    return fail(ErrorCode::kVariable, concat("the batch is to have ", limits.lanes, " lanes; 1 to ",
                                             BatchLimits::kMostLanes, " are possible"));
  if (limits.frames < 1 || limits.frames > most_frames)
    return fail(ErrorCode::kVariable, concat("a lane is to have ", limits.frames, " mel frames; 1 to ", most_frames,
                                             " are possible with the positions of this model"));
  return {};
}

Result<void> check_batch(const GigaAmConfig& config, const BatchLimits& limits, const MelBatch& batch) {
  const auto b = static_cast<int64_t>(batch.lengths.size());
  const char* from = limits.fixed ? "exactly " : "1 to ";
  const auto in_range = [&](int64_t value, int64_t most) {
    return value >= (limits.fixed ? most : 1) && value <= most;
  };
  if (!in_range(b, limits.lanes))
    return fail(ErrorCode::kVariable, concat("b is ", b, " lanes; this plan takes ", from, limits.lanes));
  if (!in_range(batch.t, limits.frames))
    return fail(ErrorCode::kVariable, concat("t is ", batch.t, " mel frames; this plan takes ", from, limits.frames));
  for (size_t i = 0; i < batch.lengths.size(); ++i)
    if (batch.lengths[i] < 0 || batch.lengths[i] > batch.t)
      return fail(ErrorCode::kInvalidArgument, concat("the length of lane ", i, " is ", batch.lengths[i],
                                                      " mel frames; it must be from 0 to t, ", batch.t));
  const int64_t features = config.mel.features;
  if (static_cast<int64_t>(batch.mel.size()) != b * features * batch.t)
    return fail(ErrorCode::kInvalidArgument, concat("mel has ", batch.mel.size(), " elements; [", b, ", ", features,
                                                    ", ", batch.t, "] has ", b * features * batch.t));
  if (const auto bad = find_non_finite(batch.mel))
    return fail(ErrorCode::kNonFinite,
                concat("mel holds ", batch.mel[*bad], " at element ", *bad,
                       ": log-mel must be finite, and that of samples far beyond full scale is not"));
  return {};
}

template <typename Jit>
Result<void> prepare(Jit& jit, const BatchLimits& limits, const PrepareConfig& config) {
  const GigaAmConfig& model = jit.model().config;
  if (auto checked = check_limits(model, limits); !checked) return checked;
  if (limits.fixed) {
    jit.with_b_fixed(limits.lanes).with_t_fixed(limits.frames);
  } else {
    jit.with_b_bound(limits.lanes).with_t_bound(limits.frames);
  }
  return jit.prepare_with_config(f32({limits.lanes, model.mel.features, limits.frames}), i32({limits.lanes}), config);
}

/// Checks and runs a batch, and copies what every wrapper of the encoder gives.
template <typename Jit>
Result<void> run(Jit& jit, const BatchLimits& limits, const MelBatch& batch, EncodedFrames& result) {
  const GigaAmConfig& config = jit.model().config;
  if (auto checked = check_batch(config, limits, batch); !checked) return checked;
  const auto b = static_cast<int64_t>(batch.lengths.size());
  TANDEM_TRY(mel, jit.mel_mut());
  TANDEM_TRY(lengths, jit.lengths_mut());
  if (auto done = mel.copy_from(batch.mel, {b, config.mel.features, batch.t}); !done) return done;
  if (auto done = lengths.copy_from(batch.lengths, {b}); !done) return done;
  if (auto done = jit.execute_bound(b, batch.t); !done) return done;
  TANDEM_TRY(encoded, jit.encoded());
  TANDEM_TRY(encoded_lengths, jit.encoded_lengths());
  TANDEM_TRY(values, encoded.template to_vector<float>());
  TANDEM_TRY(counts, encoded_lengths.template to_vector<int32_t>());
  result.frames = encoded.shape()[1];
  result.width = encoded.shape()[2];
  result.encoded = std::move(values);
  result.encoded_lengths = std::move(counts);
  return check_finite_rows("encoded frames", {result.encoded, result.width}, result, jit.model(), batch.mel);
}

}  // namespace

Result<void> check_finite_rows(const char* what, const RowsOfFrames& rows, const EncodedFrames& batch,
                               const GigaAmModel& model, std::span<const float> mel) {
  const auto width = static_cast<size_t>(rows.width), frames = static_cast<size_t>(batch.frames);
  for (size_t lane = 0; lane < batch.encoded_lengths.size(); ++lane) {
    const auto counted = static_cast<size_t>(batch.encoded_lengths[lane]);
    const auto values = rows.values.subspan(lane * frames * width, counted * width);
    if (const auto bad = find_non_finite(values))
      return fail(ErrorCode::kNonFinite,
                  concat("the ", what, " of the model hold ", values[*bad], " in frame ", *bad / width, " of lane ",
                         lane, ": log-mel reaches ", largest_magnitude(mel), ", that of sound at most 21, and ",
                         largest_weight_text(model.weights.tensors())));
  }
  return {};
}

Result<GigaAmEncoder> GigaAmEncoder::create(const std::shared_ptr<const GigaAmModel>& model, const BatchLimits& limits,
                                            const PrepareConfig& config) {
  GigaAmEncoderJit jit(model);
  if (auto prepared = prepare(jit, limits, config); !prepared) return tl::unexpected<JitError>(prepared.error());
  return GigaAmEncoder(std::move(jit), limits);
}

Result<EncodedFrames> GigaAmEncoder::encode(const MelBatch& batch) {
  EncodedFrames result;
  if (auto done = run(jit_, limits_, batch, result); !done) return tl::unexpected<JitError>(done.error());
  return result;
}

GigaAmRecognizer::GigaAmRecognizer(GigaAmJit jit, std::optional<RnntGreedy> decoder, BatchLimits limits)
    : jit_(std::move(jit)), decoder_(std::move(decoder)), limits_(limits) {}

Result<GigaAmRecognizer> GigaAmRecognizer::create(const std::shared_ptr<const GigaAmModel>& model,
                                                  const BatchLimits& limits, const PrepareConfig& config) {
  if (!model->ctc && !model->rnnt)
    return fail(ErrorCode::kInvalidArgument,
                concat(model->config.origin, " has no \"head\": there is nothing to decode with"));
  GigaAmJit jit(model);
  if (auto prepared = prepare(jit, limits, config); !prepared) return tl::unexpected<JitError>(prepared.error());
  std::optional<RnntGreedy> decoder;
  if (model->rnnt) {
    TANDEM_TRY(made, RnntGreedy::create(model, limits.lanes, config));
    decoder.emplace(std::move(made));
  }
  return GigaAmRecognizer(std::move(jit), std::move(decoder), limits);
}

Result<RecognizedBatch> GigaAmRecognizer::recognize(const MelBatch& batch) {
  RecognizedBatch result;
  if (auto done = run(jit_, limits_, batch, result); !done) return tl::unexpected<JitError>(done.error());
  TANDEM_TRY(scores, jit_.scores());
  TANDEM_TRY(values, scores.to_vector<float>());
  result.score_width = scores.shape()[2];
  result.scores = std::move(values);
  if (auto checked = check_finite_rows("scores", {result.scores, result.score_width}, result, jit_.model(), batch.mel);
      !checked)
    return tl::unexpected<JitError>(checked.error());
  if (auto decoded = decode(result); !decoded) return tl::unexpected<JitError>(decoded.error());
  return result;
}

Result<void> GigaAmRecognizer::decode(RecognizedBatch& batch) {
  if (!decoder_) {
    batch.sequences = ctc_greedy_batch(batch.scores, batch.frames, batch.score_width, batch.encoded_lengths);
    return {};
  }
  TANDEM_TRY(sequences, decoder_->decode(batch.scores, batch.frames, batch.encoded_lengths));
  batch.sequences = std::move(sequences);
  return {};
}

std::vector<TokenSequence> ctc_greedy_batch(std::span<const float> log_probs, int64_t frames, int64_t classes,
                                            std::span<const int32_t> lengths) {
  std::vector<TokenSequence> sequences;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto begin = i * static_cast<size_t>(frames * classes);
    sequences.push_back(ctc_greedy(
        {log_probs.subspan(begin, static_cast<size_t>(lengths[i]) * static_cast<size_t>(classes)), classes}));
  }
  return sequences;
}

}  // namespace tandem
