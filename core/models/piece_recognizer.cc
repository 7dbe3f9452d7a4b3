#include "core/models/piece_recognizer.h"

#include <algorithm>
#include <cmath>

#include "core/audio/finite.h"
#include "core/audio/option_check.h"
#include "core/base/text.h"

namespace tandem {
namespace {

constexpr double kMostBeams = 10000;
constexpr double kLongestClip = 600;

Result<void> check_options(const GigaAmModel& model, const PieceRecognizerOptions& options) {
  if (auto checked = check_option("lanes", static_cast<double>(options.lanes), 1, 64); !checked) return checked;
  if (auto checked = check_option("longest_s", options.longest_s, 1, kLongestClip); !checked) return checked;
  if (auto checked = check_option("beam_width", static_cast<double>(options.beam_width), 0, kMostBeams); !checked)
    return checked;
  if (options.beam_width > 0 && model.rnnt)
    return fail(ErrorCode::kInvalidArgument,
                concat("beam_width is ", options.beam_width, ": an RN-T head has no beam search; leave it out"));
  return {};
}

}  // namespace

Result<PieceRecognizer> PieceRecognizer::create(const std::shared_ptr<const GigaAmModel>& model,
                                                const PieceRecognizerOptions& options, const PrepareConfig& config) {
  if (auto checked = check_options(*model, options); !checked) return tl::unexpected<JitError>(checked.error());
  const MelConfig& mel_config = model->config.mel;
  const auto longest = std::max<int64_t>(std::llround(options.longest_s * static_cast<double>(mel_config.sample_rate)),
                                         mel_config.fewest_samples());
  const int64_t frames = mel_config.frames(longest), most_frames = model->config.encoder->most_frames();
  if (frames > most_frames)
    return fail(ErrorCode::kUnsupported, concat("clips of ", options.longest_s, " s have ", frames,
                                                " mel frames, but the positions of this model (\"pos_emb_max_len\" ",
                                                model->config.encoder->pos_emb_max_len, ") reach only ", most_frames));
  TANDEM_TRY(recognizer, GigaAmRecognizer::create(model, {options.lanes, frames, false}, config));
  GigaAmMelJit mel{MelFrontEnd(mel_config)};
  mel.with_n_bound(longest);
  if (auto done = mel.prepare_with_config(f32({longest}), config); !done) return tl::unexpected<JitError>(done.error());
  return PieceRecognizer(std::move(mel), std::move(recognizer), options, longest);
}

int64_t PieceRecognizer::samples_per_frame() const {
  return model().config.mel.hop_length * model().config.encoder->subsampling_factor;
}

Result<void> PieceRecognizer::check(std::span<const std::span<const float>> clips) const {
  if (static_cast<int64_t>(clips.size()) > options_.lanes)
    return fail(ErrorCode::kInvalidArgument,
                concat(clips.size(), " clips were given; this recogniser is prepared for ", options_.lanes));
  for (size_t i = 0; i < clips.size(); ++i) {
    if (static_cast<int64_t>(clips[i].size()) > longest_)
      return fail(ErrorCode::kInvalidArgument, concat("clip ", i, " has ", clips[i].size(), " samples; at most ",
                                                      longest_, " are possible: split it at its silences"));
    if (const auto bad = find_non_finite(clips[i]))
      return fail(ErrorCode::kNonFinite, concat("clip ", i, " holds ", clips[i][*bad], " at sample ", *bad));
  }
  return {};
}

Result<std::vector<float>> PieceRecognizer::log_mel(std::span<const float> clip) {
  if (auto checked = check({&clip, 1}); !checked) return tl::unexpected<JitError>(checked.error());
  return run_front_end(clip);
}

Result<std::vector<float>> PieceRecognizer::run_front_end(std::span<const float> clip) {
  const auto n = static_cast<int64_t>(clip.size());
  if (model().config.mel.frames(n) == 0) return std::vector<float>();
  TANDEM_TRY(samples, mel_.samples_mut());
  if (auto done = samples.copy_from(clip, {n}); !done) return tl::unexpected<JitError>(done.error());
  if (auto done = mel_.execute_bound(n); !done) return tl::unexpected<JitError>(done.error());
  TANDEM_TRY(output, mel_.log_mel());
  return output.to_vector<float>();
}

Result<std::vector<TokenSequence>> PieceRecognizer::recognize(std::span<const std::span<const float>> clips) {
  if (auto checked = check(clips); !checked) return tl::unexpected<JitError>(checked.error());
  const int64_t features = model().config.mel.features;
  std::vector<std::vector<float>> mels;
  std::vector<int32_t> lengths;
  for (const std::span<const float> clip : clips) {
    TANDEM_TRY(mel, run_front_end(clip));
    lengths.push_back(static_cast<int32_t>(static_cast<int64_t>(mel.size()) / features));
    mels.push_back(std::move(mel));
  }
  const int64_t t = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  if (t == 0) return std::vector<TokenSequence>(clips.size());
  std::vector<float> batch_mel(clips.size() * static_cast<size_t>(features * t));
  for (size_t lane = 0; lane < mels.size(); ++lane)
    for (int64_t row = 0; row < features; ++row)
      std::copy_n(mels[lane].begin() + row * lengths[lane], lengths[lane],
                  batch_mel.begin() + (static_cast<int64_t>(lane) * features + row) * t);
  TANDEM_TRY(batch, recognizer_.recognize({batch_mel, lengths, t}));
  if (options_.beam_width > 0) return search(batch);
  return std::move(batch.sequences);
}

Result<std::vector<TokenSequence>> PieceRecognizer::search(const RecognizedBatch& batch) const {
  std::vector<TokenSequence> sequences;
  const std::span<const float> scores = batch.scores;
  for (size_t lane = 0; lane < batch.encoded_lengths.size(); ++lane) {
    const auto begin = lane * static_cast<size_t>(batch.frames * batch.score_width);
    const auto count = static_cast<size_t>(batch.encoded_lengths[lane] * batch.score_width);
    TANDEM_TRY(found, ctc_beam_search({scores.subspan(begin, count), batch.score_width}, options_.beam_width));
    sequences.push_back(std::move(found.front().sequence));
  }
  return sequences;
}

}  // namespace tandem
