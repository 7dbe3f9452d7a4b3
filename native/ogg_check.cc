#include "native/ogg_check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/base/text.h"

namespace tandem {
namespace {

/// A page: magic, version, flags, position, serial, number, checksum, how many segments; then a byte for each with its
/// length, and the segments.
constexpr size_t kHeaderSize = 27;
constexpr size_t kFlagsAt = 5;
constexpr size_t kCountAt = 26;
constexpr uint8_t kLastPage = 4;

}  // namespace

std::string ogg_end_note(const ByteInput& input, const std::string& name) {
  std::string cut = concat(name, " ends before the last page of its stream: it may be truncated");
  bool ended = true;
  for (uint64_t at = 0; at < input.size();) {
    std::array<uint8_t, kHeaderSize + 255> page{};
    const size_t there = input.read_at(at, std::as_writable_bytes(std::span(page)));
    // Something else, or damage that decoders step over: its end says nothing.
    if (std::memcmp(page.data(), "OggS", std::min<size_t>(there, 4)) != 0) return "";
    const size_t header = kHeaderSize + page[kCountAt];
    if (there < kHeaderSize || there < header) return at == 0 ? "" : cut;
    const uint64_t end =
        std::accumulate(page.begin() + kHeaderSize, page.begin() + static_cast<ptrdiff_t>(header), at + header);
    if (end > input.size()) return cut;
    ended = (page[kFlagsAt] & kLastPage) != 0;
    at = end;
  }
  return ended ? "" : cut;
}

}  // namespace tandem
