#include "native/segment_output.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/json_input.h"
#include "core/base/text.h"
#include "native/printable.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

double seconds(int64_t sample, int64_t rate) { return static_cast<double>(sample) / static_cast<double>(rate); }

ordered_json json_of(const SegmentReport& report, bool with_probabilities) {
  ordered_json object;
  object["file"] = report.file;
  if (report.failure) {
    object["error"] = {{"code", report.failure->code}, {"message", report.failure->message}};
    return object;
  }
  object["sample_rate"] = report.sample_rate;
  object["samples"] = report.samples;
  object["model"] = report.model.empty() ? ordered_json(nullptr) : ordered_json(report.model);
  object["model_rate"] = report.model_rate;
  object["segments"] = ordered_json::array();
  for (const SpeechSegment& segment : report.segments) {
    object["segments"].push_back({{"start_sample", segment.start},
                                  {"end_sample", segment.end},
                                  {"start", seconds(segment.start, report.sample_rate)},
                                  {"end", seconds(segment.end, report.sample_rate)}});
  }
  // The library writes NaN as null, which is what the readers of such files expect.
  if (with_probabilities) object["probabilities"] = report.probabilities;
  return object;
}

std::string json_text(std::span<const SegmentReport> reports, const OutputForm& form) {
  ordered_json document = ordered_json::array();
  for (const SegmentReport& report : reports) document.push_back(json_of(report, form.probabilities));
  if (!form.list && document.size() == 1) document = ordered_json(document[0]);
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

/// "01:02:03,456", rounded to the millisecond.
std::string srt_time(int64_t sample, int64_t rate) {
  const int64_t milliseconds = sample / rate * 1000 + (sample % rate * 2000 + rate) / (2 * rate);
  char text[64];
  std::snprintf(text, sizeof text, "%02lld:%02d:%02d,%03d", static_cast<long long>(milliseconds / 3600000),
                static_cast<int>(milliseconds / 60000 % 60), static_cast<int>(milliseconds / 1000 % 60),
                static_cast<int>(milliseconds % 1000));
  return text;
}

std::string srt_text(std::span<const SegmentReport> reports) {
  std::string text;
  int64_t number = 0;
  for (const SegmentReport& report : reports) {
    for (const SpeechSegment& segment : report.segments) {
      text += concat(++number, "\n", srt_time(segment.start, report.sample_rate), " --> ",
                     srt_time(segment.end, report.sample_rate), "\nspeech\n\n");
    }
  }
  return text;
}

std::string csv_field(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_text(std::span<const SegmentReport> reports) {
  std::string text = "file,start_sample,end_sample,start,end\n";
  for (const SegmentReport& report : reports) {
    for (const SpeechSegment& segment : report.segments) {
      text += concat(csv_field(report.file), ",", segment.start, ",", segment.end, ",",
                     seconds(segment.start, report.sample_rate), ",", seconds(segment.end, report.sample_rate), "\n");
    }
  }
  return text;
}

std::string fixed(double value, int decimals) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string plain_text(std::span<const SegmentReport> reports) {
  std::string text;
  for (const SegmentReport& report : reports) {
    if (report.failure) continue;
    double speech = 0;
    for (const SpeechSegment& segment : report.segments)
      speech += seconds(segment.end - segment.start, report.sample_rate);
    const size_t count = report.segments.size();
    text += concat(printable(report.file), ": ", count, count == 1 ? " segment, " : " segments, ", fixed(speech, 2),
                   " s of speech in ", fixed(seconds(report.samples, report.sample_rate), 2), " s\n");
    for (const SpeechSegment& segment : report.segments) {
      text += concat("  ", fixed(seconds(segment.start, report.sample_rate), 3), " - ",
                     fixed(seconds(segment.end, report.sample_rate), 3), " s\n");
    }
  }
  return text;
}

/// Reads the fields of one JSON object; every problem is a TensorError with the text of `where`.
class SavedReader {
 public:
  SavedReader(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  SavedProbabilities read(const std::string& name) const {
    if (!object_.is_object()) invalid("is not a JSON object");
    SavedProbabilities saved;
    saved.file = text("file", name);
    const bool has_list = object_.contains("probabilities") || object_.contains("probs");
    if (const auto error = object_.find("error"); error != object_.end() && !has_list) {
      const SavedReader failure(*error, where_);
      saved.failure = {failure.text("code", name_of(ErrorCode::kRuntime)),
                       failure.text("message", "no reason is saved")};
      return saved;
    }
    saved.model = text("model", "");
    saved.sample_rate = number("sample_rate", 1);
    saved.samples = number("samples", 0);
    if (const auto found = object_.find("model_rate"); found != object_.end() && !found->is_null()) {
      saved.model_rate = number("model_rate", 1);
    }
    const char* key = object_.contains("probabilities") ? "probabilities" : "probs";
    const auto list = object_.find(key);
    if (!has_list) invalid("has neither \"probabilities\" nor \"probs\"");
    if (!list->is_array()) invalid(concat("\"", key, "\" is not a list"));
    saved.probabilities.reserve(list->size());
    for (const nlohmann::json& value : *list) {
      if (!value.is_number() && !value.is_null()) {
        invalid(concat("element ", saved.probabilities.size(), " of \"", key, "\" is neither a number nor null"));
      }
      const double probability = value.is_null() ? std::nan("") : value.get<double>();
      // NaN stands for a window without a probability, which keeps the state as it is.
      if (probability < 0 || probability > 1)
        invalid(concat("element ", saved.probabilities.size(), " of \"", key, "\" is ", probability,
                       ": it must be from 0 to 1, or null"));
      saved.probabilities.push_back(probability);
    }
    return saved;
  }

 private:
  [[noreturn]] void invalid(const std::string& reason) const {
    throw TensorError(concat(where_, ": ", reason), ErrorCode::kInvalidFormat);
  }

  std::string text(const char* key, const std::string& otherwise) const {
    const auto found = object_.find(key);
    return found != object_.end() && found->is_string() ? found->get<std::string>() : otherwise;
  }

  int64_t number(const char* key, int64_t least) const {
    // 2^53: every whole number up to here is exact in the JSON of any program.
    constexpr int64_t kMost = int64_t{1} << 53;
    const auto found = object_.find(key);
    if (found == object_.end()) invalid(concat("has no \"", key, "\""));
    if (found->is_number()) {
      const double value = found->get<double>();
      if (value == std::floor(value) && value >= static_cast<double>(least) && value <= static_cast<double>(kMost)) {
        return static_cast<int64_t>(value);
      }
    }
    invalid(concat("\"", key, "\" is ", json_excerpt(*found), ": it must be a whole number from ", least));
  }

  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace

Result<SegmentFormat> parse_segment_format(std::string_view name) {
  if (name == "text") return SegmentFormat::kText;
  if (name == "json") return SegmentFormat::kJson;
  if (name == "srt") return SegmentFormat::kSrt;
  if (name == "csv") return SegmentFormat::kCsv;
  return fail(ErrorCode::kInvalidArgument, concat("unknown format \"", name, "\": use text, json, srt or csv"));
}

Result<void> check_report_count(size_t count, SegmentFormat format) {
  if (format != SegmentFormat::kSrt || count <= 1) return {};
  return fail(ErrorCode::kInvalidArgument,
              concat("--format srt takes one recording, not ", count,
                     ": its numbers and times count from one start; use one command for each, or csv or json"));
}

std::string format_segments(std::span<const SegmentReport> reports, const OutputForm& form) {
  switch (form.format) {
    case SegmentFormat::kText:
      return plain_text(reports);
    case SegmentFormat::kJson:
      return json_text(reports, form);
    case SegmentFormat::kSrt:
      return srt_text(reports);
    case SegmentFormat::kCsv:
      return csv_text(reports);
  }
  return "";
}

Result<SavedList> read_saved_probabilities(std::string_view text, const std::string& name) {
  TANDEM_TRY(document, parse_json(text, name));
  try {
    SavedList saved;
    saved.list = document.is_array();
    if (!saved.list) {
      saved.recordings.push_back(SavedReader(document, name).read(name));
      return saved;
    }
    for (const nlohmann::json& object : document) {
      const std::string where = concat(name, ", entry ", saved.recordings.size());
      saved.recordings.push_back(SavedReader(object, where).read(where));
    }
    return saved;
  } catch (const TensorError& error) {
    return tl::unexpected<JitError>(error.to_error());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit,
                concat(name, ": not enough memory for the probabilities in ", text.size(), " bytes of JSON"));
  }
}

Result<SegmentReport> segment_saved(const SavedProbabilities& saved, const SegmentationOptions& options) {
  if (saved.failure)
    return fail(ErrorCode::kInvalidFormat,
                concat(saved.file, " has no saved probabilities, only an error: ", saved.failure->message));
  SegmentReport report;
  report.file = saved.file;
  report.sample_rate = saved.sample_rate;
  report.samples = saved.samples;
  report.model = saved.model;
  report.model_rate = saved.model_rate.value_or(saved.sample_rate == 8000 ? 8000 : 16000);
  report.probabilities = saved.probabilities;
  auto segments = saved.model_rate ? resampled_speech_timestamps(saved.probabilities, saved.samples, saved.sample_rate,
                                                                 *saved.model_rate, options)
                                   : speech_timestamps(saved.probabilities, saved.samples, saved.sample_rate, options);
  if (!segments) return fail(segments.error().code, concat(saved.file, ": ", segments.error().message));
  report.segments = std::move(*segments);
  return report;
}

}  // namespace tandem
