#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tandem {

/// Shortest of the usual decimal forms that reads back to the same value ("0.1", "1e-07", "inf", "nan").
std::string number_text(double value);
/// The same for f32: up to nine digits.
std::string number_text(float value);

namespace text_detail {
inline void append(std::string& out, std::string_view value) { out += value; }
inline void append(std::string& out, const std::string& value) { out += value; }
inline void append(std::string& out, const char* value) { out += value; }
inline void append(std::string& out, char value) { out += value; }
inline void append(std::string& out, bool value) { out += value ? "true" : "false"; }
inline void append(std::string& out, double value) { out += number_text(value); }
inline void append(std::string& out, float value) { out += number_text(value); }
template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, bool>)
void append(std::string& out, T value) {
  out += std::to_string(value);
}
}  // namespace text_detail

/// Joins texts and numbers into one string. The core's only formatter: std::format is missing on the web target and fmt
/// is larger than everything that it would print.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (text_detail::append(out, parts), ...);
  return out;
}

/// "1, 64, 300": the elements of any range that `concat` takes, with a separator.
template <typename Range>
std::string join(const Range& range, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += separator;
    first = false;
    text_detail::append(out, element);
  }
  return out;
}

}  // namespace tandem
