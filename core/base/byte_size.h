#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

/// A whole decimal number of at most 18 digits; negative for anything else.
int64_t parse_number(std::string_view text);

/// A number of bytes with an optional suffix K, M or G (powers of 1024): "512M". Negative for anything else.
int64_t parse_bytes(std::string_view text);

/// What `parse_bytes` takes, for errors.
inline constexpr const char* kByteSizes = "bytes, or a number with K, M or G (powers of 1024)";

}  // namespace tandem
