#pragma once

#include <cstddef>
#include <string_view>

namespace tandem {

/// Bytes of the UTF-8 character at the beginning of `text`; 0 when there is none: an empty text, a byte that begins no
/// character, a character that is cut, longer than it needs to be, a surrogate, or beyond U+10FFFF.
size_t utf8_length(std::string_view text);

/// Is all of it UTF-8?
bool is_utf8(std::string_view text);

}  // namespace tandem
