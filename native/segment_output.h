#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/audio/segmentation.h"
#include "core/base/error.h"

namespace tandem {

/// Why there is nothing of a file: the name of an error's code, which is stable, and its sentence.
struct FileFailure {
  std::string code;
  std::string message;
};

/// What was found in one file.
struct SegmentReport {
  std::string file;
  std::optional<FileFailure> failure;   ///< If set, only `file` counts beside it.
  int64_t sample_rate = 0;              ///< of the file
  int64_t samples = 0;                  ///< of the file, per channel
  std::string model;                    ///< name of the model; empty when not known
  int64_t model_rate = 0;               ///< rate at which the model saw the samples
  std::vector<SpeechSegment> segments;  ///< at the file's rate
  std::vector<double> probabilities;    ///< one per window; NaN is written as null
};

enum class SegmentFormat : uint8_t { kText, kJson, kSrt, kCsv };

/// "text", "json", "srt" or "csv"; kInvalidArgument lists them.
Result<SegmentFormat> parse_segment_format(std::string_view name);

/// Can this many reports stand in one text of this format? kInvalidArgument for several in srt, whose numbers and times
/// count from one start.
Result<void> check_report_count(size_t count, SegmentFormat format);

/// What the reader of a text expects.
struct OutputForm {
  SegmentFormat format = SegmentFormat::kText;
  bool list = false;           ///< json: an array, even of one report. It must follow the question, never the answer.
  bool probabilities = false;  ///< json: with the probability of each window.
};

/// The complete output for all files, ending with a newline.
///
/// - json: an object with file, sample_rate, samples, model, model_rate, segments [{start_sample, end_sample, start,
///   end}] (samples at the file's rate, seconds) and, on request, probabilities; in a list, an array of such objects
///   in the order of the reports. A file that failed is {file, error {code, message}}. A probability is the exact
///   double of the model's f32; bytes of a name that are not UTF-8 become U+FFFD.
/// - srt: one numbered subtitle per segment; the text is "speech". One recording only, see `check_report_count`.
/// - csv: a header line, then file, start_sample, end_sample, start, end (RFC 4180 quoting, newline line ends). Files
///   without speech and files that failed have no lines.
/// - text: a line per file, then an indented line per segment, in seconds; control characters of a name are escaped.
///   Files that failed have no lines.
std::string format_segments(std::span<const SegmentReport> reports, const OutputForm& form);

/// Probabilities as another run, or another program, has saved them.
struct SavedProbabilities {
  std::string file;                    ///< from the JSON, else the given name
  std::optional<FileFailure> failure;  ///< what that run said instead; nothing else is set then
  std::string model;
  int64_t sample_rate = 0;
  int64_t samples = 0;
  std::optional<int64_t> model_rate;
  std::vector<double> probabilities;
};

/// The recordings of one text.
struct SavedList {
  std::vector<SavedProbabilities> recordings;
  bool list = false;  ///< the text is an array
};

/// Reads JSON text: an object, or an array of objects, each with `sample_rate`, `samples`, and `probabilities` or
/// `probs` (numbers; null is NaN). `file`, `model` and `model_rate` may be there; all else is ignored. An object with
/// `error` instead of probabilities is a file that failed then. kInvalidFormat names the text and the field.
Result<SavedList> read_saved_probabilities(std::string_view text, const std::string& name);

/// Finds the segments of saved probabilities. Where the model's rate is known, windows are at that rate and positions
/// are mapped to the file's. Otherwise 8000 and 16000 stand for themselves, and k * 16000 means that the model saw
/// every k-th sample. kInvalidArgument for any other rate, a bad option, or a number of probabilities that does not fit
/// the length; kInvalidFormat for a file that failed then.
Result<SegmentReport> segment_saved(const SavedProbabilities& saved, const SegmentationOptions& options);

}  // namespace tandem
