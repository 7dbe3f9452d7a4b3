#include "core/audio/vad_iterator.h"

#include <algorithm>

#include "core/audio/option_check.h"
#include "core/audio/segmentation.h"

namespace tandem {

Result<void> VadIteratorOptions::validate() const {
  if (auto ok = check_option("threshold", threshold, kThresholdRange); !ok) return ok;
  if (auto ok = check_option("min_silence_duration_ms", min_silence_duration_ms, kMillisecondsRange); !ok) return ok;
  return check_option("speech_pad_ms", speech_pad_ms, kMillisecondsRange);
}

Result<VadIterator> VadIterator::create(int64_t sample_rate, const VadIteratorOptions& options) {
  TANDEM_TRY(window, window_samples(sample_rate));
  if (auto valid = options.validate(); !valid) return tl::unexpected<JitError>(valid.error());
  return VadIterator(sample_rate, window, options);
}

VadIterator::VadIterator(int64_t sample_rate, int64_t window, const VadIteratorOptions& options)
    : threshold_(options.threshold),
      min_silence_(static_cast<double>(sample_rate) * options.min_silence_duration_ms / 1000),
      pad_(static_cast<double>(sample_rate) * options.speech_pad_ms / 1000),
      window_(window) {}

std::optional<SpeechEvent> VadIterator::add(double probability) {
  current_ += window_;
  const bool speech = probability >= threshold_;
  if (speech) silence_end_ = 0;
  if (speech && !triggered_) {
    triggered_ = true;
    const double start = static_cast<double>(current_) - pad_ - static_cast<double>(window_);
    return SpeechEvent{SpeechEvent::Kind::kStart, static_cast<int64_t>(std::max(0.0, start))};
  }
  if (!(probability < threshold_ - 0.15) || !triggered_) return std::nullopt;
  if (silence_end_ == 0) silence_end_ = current_;
  if (static_cast<double>(current_ - silence_end_) < min_silence_) return std::nullopt;
  const double end = static_cast<double>(silence_end_) + pad_ - static_cast<double>(window_);
  silence_end_ = 0;
  triggered_ = false;
  return SpeechEvent{SpeechEvent::Kind::kEnd, static_cast<int64_t>(end)};
}

void VadIterator::reset() {
  current_ = silence_end_ = 0;
  triggered_ = false;
}

}  // namespace tandem
