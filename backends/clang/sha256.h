#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

/// SHA-256 (FIPS 180-4), for cache keys and checksums.
class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  void bytes(const void* data, size_t size);
  /// A text with its length before it, so that neighbouring fields can't run into each other.
  void field(std::string_view text);

  /// The digest; the object is spent.
  Digest finish();
  /// The digest as 64 hexadecimal digits; the object is spent.
  std::string finish_text();

 private:
  void block(const uint8_t* data);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t size_ = 0;
  std::array<uint8_t, 64> pending_{};
};

}  // namespace tandem
