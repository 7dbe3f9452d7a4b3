#pragma once

#include <vector>

#include "core/audio/segmentation.h"

namespace tandem {

/// A stretch of a recording that a recogniser hears at once: samples [start, end). What it says counts in [from, to),
/// which no other piece has; where speech goes on over a cut, both pieces hear what lies around it.
struct SpeechPiece {
  int64_t start = 0, end = 0;
  int64_t from = 0, to = 0;

  /// Speech goes on from the piece before: the cut between the two lies inside of it.
  bool continues() const { return start < from; }
  friend bool operator==(const SpeechPiece& a, const SpeechPiece& b) {
    return a.start == b.start && a.end == b.end && a.from == b.from && a.to == b.to;
  }
};

/// How `split_speech` cuts. The defaults for joining and the limit are those of the GigaAM project.
struct SpeechSplitOptions {
  /// What is speech. Its `max_speech_duration_s` must be infinite: this function cuts.
  SegmentationOptions speech;
  /// A piece of more than this ends at the next silence of more than `new_piece_silence_s`.
  double shortest_s = 15;
  /// Speech that would make a piece longer than this begins a new one.
  double longest_s = 22;
  /// Speech without a silence is cut before it gets longer than this.
  double limit_s = 30;
  double new_piece_silence_s = 0.2;
  /// How far both pieces hear past a cut inside of speech.
  double overlap_s = 0.5;

  /// kInvalidArgument that names the parameter, its value and its range: 0 <= overlap <= shortest < longest,
  /// longest + 2 overlap <= limit, and those of `speech`.
  Result<void> validate() const;
};

/// Splits a finished recording into pieces for a recogniser, from one speech probability per window (NaN counts as "as
/// before"). The speech segments that lie close together are joined to pieces of `shortest_s` to `longest_s`; silence
/// that is left between pieces belongs to none. Speech of more than `limit_s` is cut between `shortest_s` and
/// `longest_s` after its beginning or its last cut, at the lowest probability (a window and half of its neighbours,
/// the last of equals). No piece hears more than `limit_s`.
///
/// `sample_rate` is 8000 or 16000, and positions count at this rate. Errors: kInvalidArgument (rate, option, negative
/// length, wrong number of probabilities).
Result<std::vector<SpeechPiece>> split_speech(std::span<const double> probabilities, int64_t sample_count,
                                              int64_t sample_rate, const SpeechSplitOptions& options = {});

}  // namespace tandem
