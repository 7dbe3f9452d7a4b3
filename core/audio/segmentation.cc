#include "core/audio/segmentation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/audio/option_check.h"
#include "core/base/text.h"

namespace tandem {
namespace {

/// A silence inside the current speech at which it may be cut.
struct CandidateCut {
  int64_t start = 0;
  int64_t length = 0;
};

/// The limits of the options, in samples at the model's rate. They stay fractions: comparisons are made with the
/// unrounded limit.
struct Limits {
  double threshold, neg_threshold;
  double min_speech, max_speech, min_silence, pad, min_silence_at_max_speech;
  bool use_longest;
};

Limits limits_of(const SegmentationOptions& options, int64_t rate, int64_t window) {
  const double r = static_cast<double>(rate);
  Limits limits{};
  limits.threshold = options.threshold;
  limits.neg_threshold = options.neg_threshold.value_or(std::max(options.threshold - 0.15, 0.01));
  limits.min_speech = r * options.min_speech_duration_ms / 1000;
  limits.pad = r * options.speech_pad_ms / 1000;
  limits.max_speech = r * options.max_speech_duration_s - static_cast<double>(window) - 2 * limits.pad;
  limits.min_silence = r * options.min_silence_duration_ms / 1000;
  limits.min_silence_at_max_speech = r * options.min_silence_at_max_speech_ms / 1000;
  limits.use_longest = options.use_longest_silence_at_max_speech;
  return limits;
}

/// The state machine over windows. A position of 0 means "not set" in `silence_start_`, `last_cut_` and `restart_`:
/// none of them can be the first window's.
class SegmentFinder {
 public:
  explicit SegmentFinder(const Limits& limits) : limits_(limits) {}

  void add(double probability, int64_t position) {
    const bool speech = probability >= limits_.threshold;
    if (speech && silence_start_ != 0) end_silence(position);
    if (speech && !triggered_) {
      triggered_ = true;
      start_ = position;
      return;
    }
    if (triggered_ && static_cast<double>(position - start_) > limits_.max_speech && cut(position)) return;
    if (probability < limits_.neg_threshold && triggered_) add_silence(position);
  }

  std::vector<SpeechSegment> finish(int64_t length) {
    if (triggered_ && static_cast<double>(length - start_) > limits_.min_speech) found_.push_back({start_, length});
    return std::move(found_);
  }

 private:
  void end_silence(int64_t position) {
    const int64_t length = position - silence_start_;
    if (static_cast<double>(length) > limits_.min_silence_at_max_speech)
      candidates_.push_back({silence_start_, length});
    silence_start_ = 0;
    if (restart_ < last_cut_) restart_ = position;
  }

  /// Cuts speech that has become too long; true when this window needs no further look.
  bool cut(int64_t position) {
    bool done = false;
    if (limits_.use_longest && !candidates_.empty()) {
      const CandidateCut longest =
          *std::max_element(candidates_.begin(), candidates_.end(),
                            [](const CandidateCut& a, const CandidateCut& b) { return a.length < b.length; });
      found_.push_back({start_, longest.start});
      start_ = longest.start + longest.length;
    } else if (last_cut_ != 0) {
      found_.push_back({start_, last_cut_});
      if (restart_ < last_cut_) {
        triggered_ = false;
      } else {
        start_ = restart_;
      }
    } else {
      found_.push_back({start_, position});
      triggered_ = false;
      done = true;
    }
    forget();
    return done;
  }

  void add_silence(int64_t position) {
    if (silence_start_ == 0) silence_start_ = position;
    const double length = static_cast<double>(position - silence_start_);
    if (!limits_.use_longest && length > limits_.min_silence_at_max_speech) last_cut_ = silence_start_;
    if (length < limits_.min_silence) return;
    if (static_cast<double>(silence_start_ - start_) > limits_.min_speech) found_.push_back({start_, silence_start_});
    triggered_ = false;
    forget();
  }

  void forget() {
    silence_start_ = last_cut_ = restart_ = 0;
    candidates_.clear();
  }

  Limits limits_;
  std::vector<SpeechSegment> found_;
  std::vector<CandidateCut> candidates_;
  bool triggered_ = false;
  int64_t start_ = 0;          ///< of the current speech; meaningless unless triggered
  int64_t silence_start_ = 0;  ///< first silent window after speech
  int64_t last_cut_ = 0;       ///< start of the last silence that was long enough for a cut
  int64_t restart_ = 0;        ///< first speech after `last_cut_`
};

/// Widens every segment by the pad; neighbours whose gap is below two pads get half of the gap each.
void pad_segments(std::vector<SpeechSegment>& segments, double pad, int64_t length) {
  const auto earlier = [&](int64_t p) { return static_cast<int64_t>(std::max(0.0, static_cast<double>(p) - pad)); };
  const auto later = [&](int64_t p) {
    return static_cast<int64_t>(std::min(static_cast<double>(length), static_cast<double>(p) + pad));
  };
  if (segments.empty()) return;
  segments.front().start = earlier(segments.front().start);
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    SpeechSegment& left = segments[i];
    SpeechSegment& right = segments[i + 1];
    const int64_t gap = right.start - left.end;
    if (static_cast<double>(gap) < 2 * pad) {
      left.end += gap / 2;
      right.start = std::max<int64_t>(0, right.start - gap / 2);
    } else {
      left.end = later(left.end);
      right.start = earlier(right.start);
    }
  }
  segments.back().end = later(segments.back().end);
}

/// Rate and length at which the model saw the recording, and the factor back.
struct ModelTime {
  int64_t rate = 0;
  int64_t length = 0;
  int64_t step = 1;
};

Result<ModelTime> model_time(int64_t sample_count, int64_t sample_rate) {
  if (sample_count < 0) {
    return fail(ErrorCode::kInvalidArgument, concat("a recording cannot have ", sample_count, " samples"));
  }
  if (sample_rate == 8000) return ModelTime{8000, sample_count, 1};
  if (sample_rate <= 0 || sample_rate % 16000 != 0) {
    return fail(ErrorCode::kInvalidArgument,
                concat("a sample rate of ", sample_rate,
                       " Hz is not supported here: use 8000, 16000 or a multiple of 16000, or resample first"));
  }
  const int64_t step = sample_rate / 16000;
  return ModelTime{16000, sample_count / step + (sample_count % step != 0 ? 1 : 0), step};
}

Result<std::vector<SpeechSegment>> segments_at_model_rate(std::span<const double> probabilities, const ModelTime& time,
                                                          const SegmentationOptions& options) {
  if (auto valid = options.validate(); !valid) return tl::unexpected<JitError>(valid.error());
  const int64_t window = *window_samples(time.rate);
  const int64_t windows = window_count(time.length, window);
  if (static_cast<int64_t>(probabilities.size()) != windows) {
    return fail(ErrorCode::kInvalidArgument,
                concat(probabilities.size(), " probabilities do not fit ", time.length, " samples at ", time.rate,
                       " Hz: windows of ", window, " samples make ", windows));
  }
  const Limits limits = limits_of(options, time.rate, window);
  SegmentFinder finder(limits);
  int64_t position = 0;
  for (const double probability : probabilities) {
    finder.add(probability, position);
    position += window;
  }
  std::vector<SpeechSegment> segments = finder.finish(time.length);
  pad_segments(segments, limits.pad, time.length);
  return segments;
}

}  // namespace

Result<int64_t> window_samples(int64_t model_rate) {
  if (model_rate == 16000) return 512;
  if (model_rate == 8000) return 256;
  return fail(ErrorCode::kInvalidArgument,
              concat("the model works at 8000 or 16000 Hz, not at ", model_rate, " Hz: resample first"));
}

int64_t window_count(int64_t sample_count, int64_t window) {
  return sample_count / window + (sample_count % window != 0 ? 1 : 0);
}

Result<void> SegmentationOptions::validate() const {
  if (auto ok = check_option("threshold", threshold, kThresholdRange); !ok) return ok;
  if (neg_threshold) {
    if (auto ok = check_option("neg_threshold", *neg_threshold, kNegThresholdRange); !ok) return ok;
  }
  if (auto ok = check_option("min_speech_duration_ms", min_speech_duration_ms, kMillisecondsRange); !ok) return ok;
  if (auto ok = check_option("max_speech_duration_s", max_speech_duration_s, kLongestSpeechRange); !ok) return ok;
  if (max_speech_duration_s == 0) {
    return fail(ErrorCode::kInvalidArgument, "max_speech_duration_s is 0: it must be above 0 (infinity never cuts)");
  }
  if (auto ok = check_option("min_silence_duration_ms", min_silence_duration_ms, kMillisecondsRange); !ok) return ok;
  if (auto ok = check_option("speech_pad_ms", speech_pad_ms, kMillisecondsRange); !ok) return ok;
  return check_option("min_silence_at_max_speech_ms", min_silence_at_max_speech_ms, kMillisecondsRange);
}

Result<std::vector<SpeechSegment>> speech_timestamps(std::span<const double> probabilities, int64_t sample_count,
                                                     int64_t sample_rate, const SegmentationOptions& options) {
  TANDEM_TRY(time, model_time(sample_count, sample_rate));
  TANDEM_TRY(segments, segments_at_model_rate(probabilities, time, options));
  for (SpeechSegment& segment : segments) {
    segment.start *= time.step;
    segment.end *= time.step;
  }
  return std::move(segments);
}

Result<std::vector<SpeechSegmentSeconds>> speech_timestamps_seconds(std::span<const double> probabilities,
                                                                    int64_t sample_count, int64_t sample_rate,
                                                                    const SegmentationOptions& options,
                                                                    int time_resolution) {
  if (time_resolution < 0 || time_resolution > 15) {
    return fail(ErrorCode::kInvalidArgument,
                concat("time_resolution is ", time_resolution, ": it must be from 0 to 15 decimals"));
  }
  TANDEM_TRY(time, model_time(sample_count, sample_rate));
  TANDEM_TRY(segments, segments_at_model_rate(probabilities, time, options));
  const double rate = static_cast<double>(time.rate);
  const double length = static_cast<double>(time.length) / rate;
  std::vector<SpeechSegmentSeconds> seconds;
  seconds.reserve(segments.size());
  for (const SpeechSegment& segment : segments) {
    seconds.push_back({round_decimals(static_cast<double>(segment.start) / rate, time_resolution),
                       std::min(round_decimals(static_cast<double>(segment.end) / rate, time_resolution), length)});
  }
  return seconds;
}

Result<std::vector<SpeechSegment>> resampled_speech_timestamps(std::span<const double> probabilities,
                                                               int64_t sample_count, int64_t sample_rate,
                                                               int64_t model_rate, const SegmentationOptions& options) {
  TANDEM_TRY(window, window_samples(model_rate));
  if (sample_rate == model_rate) return speech_timestamps(probabilities, sample_count, sample_rate, options);
  if (sample_rate < 1 || sample_rate > std::numeric_limits<int32_t>::max()) {
    return fail(ErrorCode::kInvalidArgument, concat("a sample rate of ", sample_rate, " Hz is out of range"));
  }
  if (sample_count < 0) {
    return fail(ErrorCode::kInvalidArgument, concat("a recording cannot have ", sample_count, " samples"));
  }
  int64_t length = map_position(sample_count, sample_rate, model_rate, std::numeric_limits<int64_t>::max());
  const auto windows = static_cast<int64_t>(probabilities.size());
  if (const int64_t expected = window_count(length, window); std::abs(windows - expected) == 1) {
    length = std::clamp(length, std::max<int64_t>(0, (windows - 1) * window + 1), windows * window);
  }
  TANDEM_TRY(segments, speech_timestamps(probabilities, length, model_rate, options));
  for (SpeechSegment& segment : segments) {
    segment.start = map_position(segment.start, model_rate, sample_rate, sample_count);
    segment.end = map_position(segment.end, model_rate, sample_rate, sample_count);
  }
  return std::move(segments);
}

double round_decimals(double value, int decimals) {
  // printf and strtod are correctly rounded in every C library that the engine runs on; scaling by a power of ten is
  // not.
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return std::strtod(text, nullptr);
}

int64_t map_position(int64_t position, int64_t from_rate, int64_t to_rate, int64_t length) {
  if (from_rate == to_rate) return std::clamp<int64_t>(position, 0, length);
  // Whole multiples of from_rate first, so that no product exceeds 64 bits.
  const int64_t whole = position / from_rate;
  const int64_t rest = position % from_rate;
  if (whole > length / to_rate) return length;
  const int64_t mapped = whole * to_rate + (2 * rest * to_rate + from_rate) / (2 * from_rate);
  return std::clamp<int64_t>(mapped, 0, length);
}

}  // namespace tandem
