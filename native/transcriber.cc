#include "native/transcriber.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "native/resample.h"

namespace tandem {

Result<Transcriber> Transcriber::create(SpeechModel model, TranscriberOptions options, const PrepareConfig& config) {
  if (auto checked = options.split.validate(); !checked) return tl::unexpected<JitError>(checked.error());
  options.recognizer.longest_s = std::max(options.split.limit_s, options.longest_whole_s);
  TANDEM_TRY(recognizer, PieceRecognizer::create(model.model, options.recognizer, config));
  return Transcriber(std::move(recognizer), std::move(model.vocabulary), std::move(options), config);
}

Result<std::vector<double>> Transcriber::speech_probabilities(std::span<const float> samples) {
  if (!detector_) {
    TANDEM_TRY(loaded, RecordingDetector::create(options_.vad_version, recognizer_.sample_rate(), options_.vad_weights,
                                                 config_));
    detector_.emplace(std::move(loaded));
  }
  return detector_->probabilities(samples);
}

Result<std::vector<SpeechPiece>> Transcriber::split(std::span<const float> samples, const OnProgress& on_progress) {
  const auto count = static_cast<int64_t>(samples.size());
  const int64_t rate = recognizer_.sample_rate();
  if (static_cast<double>(count) <= options_.longest_whole_s * static_cast<double>(rate)) {
    std::vector<SpeechPiece> whole;
    if (count > 0) whole.push_back({0, count, 0, count});
    return whole;
  }
  on_progress(0, count);
  TANDEM_TRY(probabilities, speech_probabilities(samples));
  return split_speech(probabilities, count, rate, options_.split);
}

void Transcriber::add(Sound sound, TranscriptReport& report, const OnProgress& on_progress) {
  report.sample_rate = sound.sample_rate;
  report.samples = static_cast<int64_t>(sound.samples.size());
  const auto fail_with = [&](const JitError& error) { report.failure = error; };
  if (sound.sample_rate != recognizer_.sample_rate() && !sound.samples.empty()) {
    auto resampled = resample(sound.samples, sound.sample_rate, recognizer_.sample_rate());
    if (!resampled) return fail_with(resampled.error());
    sound.samples = std::move(*resampled);
  }
  const auto pieces = split(sound.samples, on_progress);
  if (!pieces) return fail_with(pieces.error());
  const double duration = static_cast<double>(report.samples) / static_cast<double>(report.sample_rate);
  Recording& recording = recordings_.emplace_back();
  recording.report = &report;
  recording.left = pieces->size();
  recording.clock = {recognizer_.sample_rate(), recognizer_.samples_per_frame(), duration};
  for (const SpeechPiece& piece : *pieces) recording.pieces.push_back({piece, {}});
  for (size_t i = 0; i < pieces->size(); ++i) {
    const SpeechPiece& piece = (*pieces)[i];
    waiting_.push_back({&recording, i, {sound.samples.begin() + piece.start, sound.samples.begin() + piece.end}});
    if (static_cast<int64_t>(waiting_.size()) < recognizer_.lanes()) continue;
    recognize_waiting();
    on_progress(piece.to, static_cast<int64_t>(sound.samples.size()));
    if (report.failure) return;
  }
}

void Transcriber::recognize_waiting() {
  if (waiting_.empty()) return;
  const std::vector<Waiting> batch = std::exchange(waiting_, {});
  std::vector<std::span<const float>> clips;
  for (const Waiting& piece : batch) clips.emplace_back(piece.samples);
  auto sequences = recognizer_.recognize(clips);
  for (size_t i = 0; i < batch.size(); ++i) {
    Recording& recording = *batch[i].recording;
    if (!sequences) {
      recording.report->failure = sequences.error();
      continue;
    }
    recording.pieces[batch[i].piece].sequence = std::move((*sequences)[i]);
    if (--recording.left == 0) complete(recording);
  }
}

void Transcriber::complete(Recording& recording) {
  auto segments = assemble_transcript(recording.pieces, vocabulary_, recording.clock);
  if (segments)
    recording.report->segments = std::move(*segments);
  else
    recording.report->failure = segments.error();
}

void Transcriber::finish() { recognize_waiting(); }

}  // namespace tandem
