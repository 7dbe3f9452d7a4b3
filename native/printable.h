#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace tandem {

/// Text from outside in a form that stays on its line and does nothing to a terminal: control characters are escaped,
/// except for those in `kept`.
inline std::string printable(std::string_view text, std::string_view kept = "") {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= ' ' && byte != 0x7F) || kept.find(c) != std::string_view::npos) {
      shown += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    shown += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : escaped;
  }
  return shown;
}

}  // namespace tandem
