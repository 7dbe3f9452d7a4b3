#include "native/number_option.h"

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "core/base/text.h"
#include "native/printable.h"

namespace tandem {
namespace {

/// The number that the whole text is, in any locale; nothing if it is none or does not fit the type.
template <typename Number>
std::optional<Number> parse(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "--threshold is 1.5" for a number, `--threshold is "abc"` for other text.
[[noreturn]] void refuse(const std::string& name, const std::string& text, bool is_number, const std::string& allowed) {
  constexpr size_t kShown = 40;
  std::string shown = printable(text.substr(0, kShown));
  if (text.size() > kShown) shown += "...";
  const char* quote = is_number ? "" : "\"";
  throw CLI::ValidationError(concat(name, " is ", quote, shown, quote, ": it must be ", allowed));
}

std::string text_of(OptionRange range) {
  if (range.high < std::numeric_limits<double>::infinity())
    return concat("a number from ", range.low, " to ", range.high);
  return concat("a number from ", range.low, " on, or inf");
}

}  // namespace

CLI::Option* add_number(CLI::App& command, const std::string& name, double& value, OptionRange range,
                        const std::string& help) {
  const auto take = [&value, name, range](const std::string& text) {
    const auto number = parse<double>(text);
    if (!number || !(*number >= range.low && *number <= range.high))
      refuse(name, text, number.has_value(), text_of(range));
    value = *number;
  };
  CLI::Option* option = command.add_option_function<std::string>(name, take, help);
  return option->type_name("NUMBER")->default_str(number_text(value));
}

CLI::Option* add_whole_number(CLI::App& command, const std::string& name, const std::function<void(int64_t)>& take,
                              int64_t low, int64_t high, const std::string& help) {
  const auto check = [take, name, low, high](const std::string& text) {
    const auto number = parse<int64_t>(text);
    if (!number || *number < low || *number > high)
      refuse(name, text, parse<double>(text).has_value(), concat("a whole number from ", low, " to ", high));
    take(*number);
  };
  return command.add_option_function<std::string>(name, check, help)->type_name("NUMBER");
}

CLI::Option* add_whole_number(CLI::App& command, const std::string& name, int64_t& value, int64_t low, int64_t high,
                              const std::string& help) {
  const auto take = [&value](int64_t number) { value = number; };
  return add_whole_number(command, name, take, low, high, help)->default_str(std::to_string(value));
}

}  // namespace tandem
