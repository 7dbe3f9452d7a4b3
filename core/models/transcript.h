#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/audio/speech_pieces.h"
#include "core/models/ctc.h"
#include "core/text/vocabulary.h"

namespace tandem {

/// Text and when it was said, in seconds from the beginning of the recording.
struct TimedText {
  double start = 0, end = 0;
  std::string text;
};

/// A stretch of a recording without a longer silence.
struct TranscriptSegment {
  double start = 0, end = 0;
  std::string text;               ///< Without spaces at its ends; may be empty.
  std::vector<int32_t> ids;       ///< The tokens as classes,
  std::vector<TimedText> tokens;  ///< as their shares of the text before its spaces were cut off: one for each id. A
                                  ///< token lasts for the encoder frame that decided for it.
  std::vector<TimedText> words;   ///< What stands between spaces, from the first to the last of its tokens.
};

/// What was said in a piece of a recording. Frame f of the sequence begins at sample `piece.start + f *
/// samples_per_frame`.
struct RecognizedPiece {
  SpeechPiece piece;
  TokenSequence sequence;
};

/// Where the pieces' samples lie in time.
struct PieceClock {
  int64_t sample_rate = 16000;  ///< Of the positions in the pieces.
  int64_t samples_per_frame = 640;
  double duration = 0;  ///< Of the recording, in seconds: no time is later.
};

/// Puts the pieces of a recording, in their order, together. Pieces that continue each other become one segment: of
/// what both heard around their cut, the first gives what comes before it and the second the rest; the seam lies in
/// the longest run of tokens that both gave at the same times (to two frames), if there is one. Errors:
/// kInvalidArgument for a token that the vocabulary doesn't have.
Result<std::vector<TranscriptSegment>> assemble_transcript(std::span<const RecognizedPiece> pieces,
                                                           const Vocabulary& vocabulary, const PieceClock& clock);

/// The texts of all segments, separated by spaces.
std::string full_text(std::span<const TranscriptSegment> segments);

/// Subtitles of a segment: its words in lines of at most `longest_text` characters that last at most `longest_s`; a
/// silence of more than a second begins a new one. A word that is longer stands alone.
std::vector<TimedText> subtitles_of(const TranscriptSegment& segment, size_t longest_text = 80, double longest_s = 7);

}  // namespace tandem
