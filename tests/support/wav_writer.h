#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tandem::testing {

/// Little-endian bytes of an integer.
inline std::string le(uint64_t value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

/// A chunk with its pad byte.
inline std::string chunk(const std::string& tag, const std::string& body) {
  return tag + le(body.size(), 4) + body + (body.size() % 2 != 0 ? std::string(1, '\0') : "");
}

/// Fields of a WAV format chunk; the tests change one at a time.
struct WavFormat {
  unsigned encoding = 1;
  unsigned channels = 1;
  unsigned rate = 16000;
  unsigned bits = 16;
  int block = -1;      ///< -1: what channels and bits make
  int byte_rate = -1;  ///< -1: what rate and block make

  std::string body() const {
    const unsigned b = block >= 0 ? static_cast<unsigned>(block) : channels * ((bits + 7) / 8);
    return le(encoding, 2) + le(channels, 2) + le(rate, 4) +
           le(byte_rate >= 0 ? static_cast<unsigned>(byte_rate) : rate * b, 4) + le(b, 2) + le(bits, 2);
  }
};

/// The extension of WAVEFORMATEXTENSIBLE, with the length field before it.
inline std::string extension(unsigned encoding, unsigned valid_bits, unsigned mask) {
  const unsigned char guid_end[] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80, 0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71};
  return le(22, 2) + le(valid_bits, 2) + le(mask, 4) + le(encoding, 2) + std::string(guid_end, guid_end + 14);
}

inline std::string riff(const std::string& chunks) { return "RIFF" + le(chunks.size() + 4, 4) + "WAVE" + chunks; }

/// A whole file from a format and the bytes of its samples.
inline std::string wav(const WavFormat& format, const std::string& data) {
  return riff(chunk("fmt ", format.body()) + chunk("data", data));
}

/// Little-endian bytes of the samples.
template <typename T>
std::string pcm(const std::vector<T>& samples) {
  return std::string(reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(T));
}

}  // namespace tandem::testing
