#include "native/transcript_output.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "native/printable.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

double to_milliseconds(double seconds) { return std::round(seconds * 1000) / 1000; }

ordered_json json_of(const TimedText& part) {
  return {{"start", to_milliseconds(part.start)}, {"end", to_milliseconds(part.end)}, {"text", part.text}};
}

ordered_json json_of(const TranscriptSegment& segment) {
  ordered_json object = json_of(TimedText{segment.start, segment.end, segment.text});
  object["words"] = ordered_json::array();
  for (const TimedText& word : segment.words) object["words"].push_back(json_of(word));
  object["tokens"] = ordered_json::array();
  for (size_t i = 0; i < segment.tokens.size(); ++i) {
    object["tokens"].push_back(json_of(segment.tokens[i]));
    object["tokens"].back()["id"] = segment.ids[i];
  }
  return object;
}

ordered_json json_of(const TranscriptReport& report) {
  ordered_json object;
  object["file"] = report.file;
  if (report.failure) {
    object["error"] = {{"code", name_of(report.failure->code)}, {"message", report.failure->message}};
    return object;
  }
  object["sample_rate"] = report.sample_rate;
  object["samples"] = report.samples;
  object["duration"] = to_milliseconds(static_cast<double>(report.samples) / static_cast<double>(report.sample_rate));
  object["text"] = full_text(report.segments);
  object["segments"] = ordered_json::array();
  for (const TranscriptSegment& segment : report.segments) object["segments"].push_back(json_of(segment));
  return object;
}

std::string json_text(std::span<const TranscriptReport> reports, bool list) {
  ordered_json document = ordered_json::array();
  for (const TranscriptReport& report : reports) document.push_back(json_of(report));
  if (!list) document = ordered_json(document.at(0));
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string plain_text(std::span<const TranscriptReport> reports, bool list) {
  std::string text;
  for (const TranscriptReport& report : reports) {
    if (report.failure) continue;
    if (list) text += concat(printable(report.file), ":\n");
    for (const TranscriptSegment& segment : report.segments)
      if (!segment.text.empty()) text += concat(segment.text, "\n");
  }
  return text;
}

/// "01:02:03,456"
std::string clock_text(double seconds, char point) {
  const auto milliseconds = static_cast<long long>(std::llround(seconds * 1000));
  char text[64];
  std::snprintf(text, sizeof text, "%02lld:%02d:%02d%c%03d", milliseconds / 3600000,
                static_cast<int>(milliseconds / 60000 % 60), static_cast<int>(milliseconds / 1000 % 60), point,
                static_cast<int>(milliseconds % 1000));
  return text;
}

std::string with_entities(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

std::string subtitle_text(std::span<const TranscriptReport> reports, bool is_vtt) {
  std::string text = is_vtt ? "WEBVTT\n\n" : "";
  int64_t number = 0;
  for (const TranscriptReport& report : reports)
    for (const TranscriptSegment& segment : report.segments)
      for (const TimedText& subtitle : subtitles_of(segment)) {
        if (!is_vtt) text += concat(++number, "\n");
        const char point = is_vtt ? '.' : ',';
        text += concat(clock_text(subtitle.start, point), " --> ", clock_text(subtitle.end, point), "\n",
                       is_vtt ? with_entities(subtitle.text) : subtitle.text, "\n\n");
      }
  return text;
}

}  // namespace

Result<TranscriptFormat> parse_transcript_format(std::string_view name) {
  if (name == "text") return TranscriptFormat::kText;
  if (name == "json") return TranscriptFormat::kJson;
  if (name == "srt") return TranscriptFormat::kSrt;
  if (name == "vtt") return TranscriptFormat::kVtt;
  return fail(ErrorCode::kInvalidArgument, concat("unknown format \"", name, "\": use text, json, srt or vtt"));
}

Result<void> check_transcript_count(size_t count, TranscriptFormat format) {
  if (count <= 1 || format == TranscriptFormat::kText || format == TranscriptFormat::kJson) return {};
  return fail(ErrorCode::kInvalidArgument,
              concat("--format ", format == TranscriptFormat::kSrt ? "srt" : "vtt", " takes one recording, not ", count,
                     ": its times count from one start; use one command for each, or text or json"));
}

std::string format_transcripts(std::span<const TranscriptReport> reports, TranscriptFormat format, bool list) {
  switch (format) {
    case TranscriptFormat::kText:
      return plain_text(reports, list);
    case TranscriptFormat::kJson:
      return json_text(reports, list);
    case TranscriptFormat::kSrt:
      return subtitle_text(reports, false);
    case TranscriptFormat::kVtt:
      return subtitle_text(reports, true);
  }
  return "";
}

}  // namespace tandem
