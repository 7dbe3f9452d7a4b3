#include "core/base/byte_size.h"

namespace tandem {

int64_t parse_number(std::string_view text) {
  if (text.empty() || text.size() > 18) return -1;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

int64_t parse_bytes(std::string_view text) {
  if (text.empty()) return -1;
  int shift = 0;
  switch (text.back()) {
    case 'K':
    case 'k':
      shift = 10;
      break;
    case 'M':
    case 'm':
      shift = 20;
      break;
    case 'G':
    case 'g':
      shift = 30;
      break;
    default:
      break;
  }
  const int64_t number = parse_number(shift ? text.substr(0, text.size() - 1) : text);
  return number < 0 || number > (INT64_MAX >> shift) ? -1 : number << shift;
}

}  // namespace tandem
