#include "core/models/gigaam.h"

#include "core/audio/finite.h"
#include "core/base/text.h"

namespace tandem {

GigaAmRecognizer::GigaAmRecognizer(GigaAmJit jit, std::optional<RnntGreedy> decoder, BatchLimits limits)
    : jit_(std::move(jit)), decoder_(std::move(decoder)), limits_(limits) {}

Result<GigaAmRecognizer> GigaAmRecognizer::create(const std::shared_ptr<const GigaAmModel>& model,
                                                  const BatchLimits& limits, const PrepareConfig& config) {
  if (!model->ctc && !model->rnnt)
    return fail(ErrorCode::kInvalidArgument, "the configuration has no \"head\": there is nothing to decode with");
  const int64_t most_frames = model->config.encoder->most_frames();
  if (limits.lanes < 1 || limits.lanes > 64)
    return fail(ErrorCode::kVariable, concat("the batch is to have ", limits.lanes, " lanes; 1 to 64 are possible"));
  if (limits.frames < 1 || limits.frames > most_frames)
    return fail(ErrorCode::kVariable, concat("a lane is to have ", limits.frames, " mel frames; 1 to ", most_frames,
                                             " are possible with the positions of this model"));
  GigaAmJit jit(model);
  if (limits.fixed) {
    jit.with_b_fixed(limits.lanes).with_t_fixed(limits.frames);
  } else {
    jit.with_b_bound(limits.lanes).with_t_bound(limits.frames);
  }
  const auto prepared = jit.prepare_with_config(f32({limits.lanes, model->config.mel.features, limits.frames}),
                                                i32({limits.lanes}), config);
  if (!prepared) return tl::unexpected<JitError>(prepared.error());
  std::optional<RnntGreedy> decoder;
  if (model->rnnt) {
    TANDEM_TRY(made, RnntGreedy::create(model, limits.lanes, config));
    decoder.emplace(std::move(made));
  }
  return GigaAmRecognizer(std::move(jit), std::move(decoder), limits);
}

Result<void> GigaAmRecognizer::check(std::span<const float> mel, std::span<const int32_t> lengths, int64_t t) const {
  const auto b = static_cast<int64_t>(lengths.size());
  const auto in_range = [this](int64_t value, int64_t most) {
    return value >= (limits_.fixed ? most : 1) && value <= most;
  };
  if (!in_range(b, limits_.lanes))
    return fail(ErrorCode::kVariable,
                concat("b is ", b, " lanes; this plan takes ", limits_.fixed ? "exactly " : "1 to ", limits_.lanes));
  if (!in_range(t, limits_.frames))
    return fail(ErrorCode::kVariable, concat("t is ", t, " mel frames; this plan takes ",
                                             limits_.fixed ? "exactly " : "1 to ", limits_.frames));
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0 || lengths[i] > t)
      return fail(ErrorCode::kInvalidArgument,
                  concat("the length of lane ", i, " is ", lengths[i], " mel frames; it must be from 0 to t, ", t));
  const int64_t features = model().config.mel.features;
  if (static_cast<int64_t>(mel.size()) != b * features * t)
    return fail(ErrorCode::kInvalidArgument,
                concat("mel has ", mel.size(), " elements; [", b, ", ", features, ", ", t, "] has ", b * features * t));
  if (const auto bad = find_non_finite(mel))
    return fail(ErrorCode::kNonFinite,
                concat("mel holds ", mel[*bad], " at element ", *bad, "; the recording or its log-mel is damaged"));
  return {};
}

Result<RecognizedBatch> GigaAmRecognizer::recognize(std::span<const float> mel, std::span<const int32_t> lengths,
                                                    int64_t t) {
  if (auto checked = check(mel, lengths, t); !checked) return tl::unexpected<JitError>(checked.error());
  const auto b = static_cast<int64_t>(lengths.size());
  TANDEM_TRY(mel_buffer, jit_.mel_mut());
  TANDEM_TRY(lengths_buffer, jit_.lengths_mut());
  if (auto done = mel_buffer.copy_from(mel, {b, model().config.mel.features, t}); !done)
    return tl::unexpected<JitError>(done.error());
  if (auto done = lengths_buffer.copy_from(lengths, {b}); !done) return tl::unexpected<JitError>(done.error());
  if (auto done = jit_.execute_bound(b, t); !done) return tl::unexpected<JitError>(done.error());
  TANDEM_TRY(encoded, jit_.encoded());
  TANDEM_TRY(encoded_lengths, jit_.encoded_lengths());
  TANDEM_TRY(scores, jit_.scores());
  RecognizedBatch batch;
  batch.frames = encoded.shape()[1];
  batch.width = encoded.shape()[2];
  batch.score_width = scores.shape()[2];
  batch.encoded = *encoded.to_vector<float>();
  batch.encoded_lengths = *encoded_lengths.to_vector<int32_t>();
  batch.scores = *scores.to_vector<float>();
  if (auto decoded = decode(batch); !decoded) return tl::unexpected<JitError>(decoded.error());
  return batch;
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
