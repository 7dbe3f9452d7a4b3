#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"

namespace tandem {

/// Samples that one speech probability stands for: 512 at 16 kHz, 256 at 8 kHz (32 ms in both cases).
/// Fails with kInvalidArgument for any other rate.
Result<int64_t> window_samples(int64_t model_rate);

/// Number of windows that `sample_count` samples fill, the last one zero-padded. `window` must be positive.
int64_t window_count(int64_t sample_count, int64_t window);

/// Parameters of `speech_timestamps`, with the defaults of Silero VAD 6. Durations may be fractions of a millisecond.
struct SegmentationOptions {
  /// A window counts as speech when its probability is at least this. In [0, 1].
  double threshold = 0.5;
  /// A window counts as silence when its probability is below this; in between nothing changes.
  /// In [-1, 1]; absent means max(threshold - 0.15, 0.01).
  std::optional<double> neg_threshold;
  /// Speech must last longer than this (strictly) to be kept. At least 0 ms.
  double min_speech_duration_ms = 250;
  /// Longer speech is cut. Above 0 s; infinity never cuts.
  double max_speech_duration_s = std::numeric_limits<double>::infinity();
  /// Silence must last this long to end a segment. At least 0 ms.
  double min_silence_duration_ms = 100;
  /// Added on both sides of a segment; two neighbours share a gap that is too small for both. At least 0 ms.
  double speech_pad_ms = 30;
  /// Only silence longer than this (strictly) is a candidate for the cut of speech that is too long. At least 0 ms.
  double min_silence_at_max_speech_ms = 98;
  /// Cut at the longest candidate (the first of equals); otherwise at the last one.
  bool use_longest_silence_at_max_speech = true;

  /// kInvalidArgument that names the parameter, its value and its range.
  Result<void> validate() const;
};

/// Half-open range of samples [start, end).
struct SpeechSegment {
  int64_t start = 0;
  int64_t end = 0;

  friend bool operator==(const SpeechSegment& a, const SpeechSegment& b) {
    return a.start == b.start && a.end == b.end;
  }
};

/// The same range in seconds.
struct SpeechSegmentSeconds {
  double start = 0;
  double end = 0;
};

/// Finds the speech segments of a finished recording from one probability per window, with the semantics of Silero's
/// `get_speech_timestamps`.
///
/// `sample_rate` is 8000, 16000 or a multiple of 16000. A multiple k * 16000 means that the probabilities were computed
/// on every k-th sample: positions are counted there and multiplied by k at the end. Any other rate is refused.
/// `sample_count` is the length at `sample_rate`; there must be exactly one probability per window of it.
/// A probability of NaN compares false with both thresholds, so it keeps the state as it is.
/// Errors: kInvalidArgument (rate, option, negative length, wrong number of probabilities).
Result<std::vector<SpeechSegment>> speech_timestamps(std::span<const double> probabilities, int64_t sample_count,
                                                     int64_t sample_rate, const SegmentationOptions& options = {});

/// As `speech_timestamps`, in seconds rounded to `time_resolution` decimals (0 to 15), ties of the exact binary value
/// to even. An end past the recording's length is set to that length, which is not rounded.
Result<std::vector<SpeechSegmentSeconds>> speech_timestamps_seconds(std::span<const double> probabilities,
                                                                    int64_t sample_count, int64_t sample_rate,
                                                                    const SegmentationOptions& options = {},
                                                                    int time_resolution = 1);

/// Segments of a recording that was resampled to the model's rate before: `probabilities` belong to windows at
/// `model_rate` (8000 or 16000), `sample_count` and the result to `sample_rate`, to which positions are mapped by
/// `map_position`. With equal rates the same as `speech_timestamps`. Resamplers round the length in different ways, so
/// that one window more or less than `sample_count` makes is accepted when the rates differ. Errors as
/// `speech_timestamps`; `sample_rate` may be any positive number below 2^31.
Result<std::vector<SpeechSegment>> resampled_speech_timestamps(std::span<const double> probabilities,
                                                               int64_t sample_count, int64_t sample_rate,
                                                               int64_t model_rate,
                                                               const SegmentationOptions& options = {});

/// `value` rounded to that many decimals, correctly from its exact binary value, ties to even.
double round_decimals(double value, int decimals);

/// Position `position` at `from_rate`, counted at `to_rate`: round(position * to_rate / from_rate), halves up, clamped
/// to [0, length]. Rates must be positive and below 2^31; exact for every position below 2^62.
int64_t map_position(int64_t position, int64_t from_rate, int64_t to_rate, int64_t length);

}  // namespace tandem
