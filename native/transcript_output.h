#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/models/transcript.h"

namespace tandem {

/// What was said in one recording.
struct TranscriptReport {
  std::string file;
  std::optional<JitError> failure;  ///< If set, only `file` counts beside it.
  int64_t sample_rate = 0;          ///< Of the file.
  int64_t samples = 0;              ///< Of the file, per channel.
  std::vector<TranscriptSegment> segments;
};

enum class TranscriptFormat : uint8_t { kText, kJson, kSrt, kVtt };

/// "text", "json", "srt" or "vtt"; kInvalidArgument lists them.
Result<TranscriptFormat> parse_transcript_format(std::string_view name);

/// Can this many recordings stand in one text of this format? kInvalidArgument for several in srt and vtt, whose times
/// count from one start.
Result<void> check_transcript_count(size_t count, TranscriptFormat format);

/// The complete output, ending with a newline. `list`: several files were asked for.
///
/// - text: a line per segment that says something; in a list, "FILE:" stands before the lines of each file (control
///   characters escaped).
/// - json: {file, sample_rate, samples, duration, text, segments [{start, end, text, words [{start, end, text}], tokens
///   [{start, end, text, id}]}]}. Times are seconds from the beginning of the file, to the millisecond. In a list, an
///   array of such objects in the order of the files; one that failed is {file, error {code, message}}. Bytes of a name
///   that are not UTF-8 become U+FFFD.
/// - srt, vtt: the subtitles of `subtitles_of`. In vtt the characters &, < and > are written as entities.
std::string format_transcripts(std::span<const TranscriptReport> reports, TranscriptFormat format, bool list);

}  // namespace tandem
