#include "core/audio/speech_pieces.h"

#include <algorithm>
#include <cmath>

#include "core/audio/option_check.h"
#include "core/base/text.h"

namespace tandem {
namespace {

/// The durations of the options in samples.
struct Limits {
  int64_t shortest, longest, limit, new_piece_silence, overlap;

  Limits(const SpeechSplitOptions& options, int64_t rate) {
    const auto samples = [rate](double seconds) { return std::llround(seconds * static_cast<double>(rate)); };
    shortest = samples(options.shortest_s);
    longest = samples(options.longest_s);
    limit = samples(options.limit_s);
    new_piece_silence = samples(options.new_piece_silence_s);
    overlap = samples(options.overlap_s);
  }
};

/// Neighbouring segments as one, until it is long enough.
std::vector<SpeechSegment> join_segments(const std::vector<SpeechSegment>& segments, const Limits& limits) {
  std::vector<SpeechSegment> joined;
  for (const SpeechSegment& segment : segments) {
    const bool begins = joined.empty() || segment.end - joined.back().start > limits.longest ||
                        (joined.back().end - joined.back().start > limits.shortest &&
                         segment.start - joined.back().end > limits.new_piece_silence);
    if (begins)
      joined.push_back(segment);
    else
      joined.back().end = segment.end;
  }
  return joined;
}

/// The best place for a cut in [first, last]: the middle of the window where it is quietest.
int64_t quietest_place(std::span<const double> probabilities, int64_t window, int64_t first, int64_t last) {
  const auto count = static_cast<int64_t>(probabilities.size());
  const auto at = [&](int64_t i) { return probabilities[static_cast<size_t>(std::clamp<int64_t>(i, 0, count - 1))]; };
  const auto speech_near = [&](int64_t i) { return at(i - 1) + 2 * at(i) + at(i + 1); };
  // Windows whose middle lies in the range.
  const int64_t half = window / 2;
  int64_t best = (last - half) / window;
  for (int64_t i = best - 1; i * window + half >= first; --i)
    if (speech_near(i) < speech_near(best) || std::isnan(speech_near(best))) best = i;
  return best * window + half;
}

/// Cuts a stretch of speech until no piece hears more than the limit.
void cut(const SpeechSegment& speech, std::span<const double> probabilities, int64_t window, const Limits& limits,
         std::vector<SpeechPiece>& pieces) {
  SpeechPiece piece{speech.start, speech.end, speech.start, speech.end};
  while (piece.end - piece.start > limits.limit) {
    piece.to = quietest_place(probabilities, window, piece.from + limits.shortest, piece.from + limits.longest);
    piece.end = piece.to + limits.overlap;
    pieces.push_back(piece);
    piece = {piece.to - limits.overlap, speech.end, piece.to, speech.end};
  }
  pieces.push_back(piece);
}

}  // namespace

Result<void> SpeechSplitOptions::validate() const {
  if (auto checked = speech.validate(); !checked) return checked;
  if (!std::isinf(speech.max_speech_duration_s))
    return fail(ErrorCode::kInvalidArgument, concat("max_speech_duration_s is ", speech.max_speech_duration_s,
                                                    ": pieces are cut at limit_s, so that it must be infinite"));
  constexpr double kLongest = kLongestMilliseconds / 1000;
  if (auto checked = check_option("limit_s", limit_s, 1, kLongest); !checked) return checked;
  if (auto checked = check_option("longest_s", longest_s, 0.5, limit_s); !checked) return checked;
  // A window must fit between the two, whatever the rounding.
  if (auto checked = check_option("shortest_s", shortest_s, 0, longest_s - 0.1); !checked) return checked;
  if (auto checked = check_option("new_piece_silence_s", new_piece_silence_s, 0, kLongest); !checked) return checked;
  return check_option("overlap_s", overlap_s, 0, std::min(shortest_s, (limit_s - longest_s) / 2));
}

Result<std::vector<SpeechPiece>> split_speech(std::span<const double> probabilities, int64_t sample_count,
                                              int64_t sample_rate, const SpeechSplitOptions& options) {
  if (auto checked = options.validate(); !checked) return tl::unexpected<JitError>(checked.error());
  TANDEM_TRY(window, window_samples(sample_rate));
  TANDEM_TRY(segments, speech_timestamps(probabilities, sample_count, sample_rate, options.speech));
  const Limits limits(options, sample_rate);
  std::vector<SpeechPiece> pieces;
  for (const SpeechSegment& speech : join_segments(segments, limits))
    cut(speech, probabilities, window, limits, pieces);
  return pieces;
}

}  // namespace tandem
