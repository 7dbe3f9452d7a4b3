#include "core/base/json_input.h"

#include <new>

#include "core/base/text.h"

namespace tandem {
namespace {

using nlohmann::json;

constexpr int kDeepestJson = 64;
constexpr size_t kLongestExcerpt = 60;
/// The parser's message ends with what it read last, which can be as long as the text.
constexpr size_t kLongestReason = 200;

/// What was wrong, without the tag that the library sets before it ("[json.exception.parse_error.101] ").
std::string_view without_tag(std::string_view message) {
  const size_t end = message.find("] ");
  return message.starts_with("[json.exception.") && end != std::string_view::npos ? message.substr(end + 2) : message;
}

/// The beginning of UTF-8 text that is longer than `most` bytes, cut between characters.
std::string shortened(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u) --most;
  text.resize(most);
  return text + "...";
}

}  // namespace

Result<json> parse_json(std::string_view text, const std::string& origin) {
  const auto watch = [](int depth, json::parse_event_t event, json&) {
    if ((event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) &&
        depth >= kDeepestJson)
      throw TensorError(concat("it is nested deeper than ", kDeepestJson, " levels"));
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& error) {
    return fail(ErrorCode::kInvalidFormat, concat(origin, " is not valid JSON: ", json_reason(error)));
  } catch (const TensorError& error) {
    return fail(ErrorCode::kInvalidFormat, concat(origin, " cannot be read as JSON: ", error.what()));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit,
                concat(origin, ": not enough memory for this JSON text of ", text.size(), " bytes"));
  }
}

std::string json_reason(const json::exception& error) {
  return shortened(std::string(without_tag(error.what())), kLongestReason);
}

std::string json_excerpt(const json& value) {
  return shortened(value.dump(-1, ' ', false, json::error_handler_t::replace), kLongestExcerpt);
}

}  // namespace tandem
