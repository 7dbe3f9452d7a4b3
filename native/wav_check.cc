#include "native/wav_check.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "core/base/text.h"
#include "native/counted.h"

namespace tandem {
namespace {

constexpr uint64_t kPcm = 1;
constexpr uint64_t kFloat = 3;
constexpr uint64_t kALaw = 6;
constexpr uint64_t kMuLaw = 7;
constexpr uint64_t kExtensible = 0xFFFE;
/// Fields of a plain format chunk, of one with the length of its extension, and of WAVEFORMATEXTENSIBLE.
constexpr uint64_t kPlainSize = 16;
constexpr uint64_t kExtensibleSize = 40;
/// Programs that write to a pipe leave sizes from here on: the largest 31-bit or 32-bit number, rounded in some way.
constexpr uint64_t kUnknownSizes[][2] = {{0x7FFF0000, 0x7FFFFFFF}, {0xFFFF0000, 0xFFFFFFFF}};
/// A header with more chunks than this before its data is not a recording.
constexpr int kMostChunks = 100000;

class WavHeader {
 public:
  WavHeader(const ByteInput& input, const std::string& name) : input_(input), name_(name) {}

  Result<std::string> check() {
    const std::string magic = tag_at(0);
    if ((magic != "RIFF" && magic != "RIFX" && magic != "RF64") || tag_at(8) != "WAVE") return std::string();
    big_endian_ = magic == "RIFX";
    bool has_format = false;
    uint64_t long_data_size = 0;
    uint64_t position = 12;
    for (int i = 0; i < kMostChunks; ++i) {
      const std::optional<uint64_t> size = number_at(position + 4, 4);
      if (!size) return invalid(has_format ? "it ends before the data chunk" : "it ends before the format chunk");
      const std::string tag = tag_at(position);
      const uint64_t begin = position + 8;
      if (tag == "data") {
        if (!has_format) return invalid("its data chunk comes before any format chunk");
        return data_note(magic == "RF64" && *size == 0xFFFFFFFF ? long_data_size : *size, begin);
      }
      if (*size > input_.size() - begin) {
        return invalid(concat("its chunk \"", printable(tag), "\" claims ", counted(*size, "byte"), ", but only ",
                              input_.size() - begin, " follow"));
      }
      if (tag == "ds64") long_data_size = number_at(begin + 8, 8).value_or(0);
      if (tag == "fmt ") {
        if (auto ok = check_format(begin, *size); !ok) return tl::unexpected<JitError>(ok.error());
        has_format = true;
      }
      position = begin + *size + *size % 2;
    }
    return invalid(concat("it has more than ", kMostChunks, " chunks before its data"));
  }

 private:
  tl::unexpected<JitError> invalid(const std::string& reason) const {
    return fail(ErrorCode::kInvalidFormat, concat(name_, " is not a usable WAV file: ", reason));
  }

  std::string tag_at(uint64_t position) const {
    std::string tag(4, '\0');
    tag.resize(input_.read_at(position, std::as_writable_bytes(std::span<char>(tag))));
    return tag;
  }

  static std::string printable(std::string text) {
    for (char& c : text) {
      if (c < ' ' || c > '~') c = '?';
    }
    return text;
  }

  /// An unsigned number of `count` bytes, or nothing when the file ends inside of it.
  std::optional<uint64_t> number_at(uint64_t position, size_t count) const {
    std::byte bytes[8];
    if (input_.read_at(position, std::span<std::byte>(bytes, count)) != count) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value |= static_cast<uint64_t>(bytes[i]) << (8 * (big_endian_ ? count - 1 - i : i));
    }
    return value;
  }

  Result<void> check_format(uint64_t begin, uint64_t size) const {
    if (size < kPlainSize)
      return invalid(concat("its format chunk has ", counted(size, "byte"), "; at least 16 are needed"));
    const auto field = [&](uint64_t offset, size_t count) { return number_at(begin + offset, count).value_or(0); };
    uint64_t encoding = field(0, 2);
    const uint64_t channels = field(2, 2);
    const uint64_t rate = field(4, 4);
    const uint64_t block = field(12, 2);
    const uint64_t bits = field(14, 2);
    if (channels == 0) return invalid("it has 0 channels");
    if (rate == 0) return invalid("its sample rate is 0");
    if (encoding == kExtensible) {
      if (size < kExtensibleSize || field(16, 2) < kExtensibleSize - kPlainSize - 2) {
        return invalid(concat("its format is extensible (0xFFFE), but the extension is missing or short: ", size,
                              " bytes of format, 40 are needed"));
      }
      encoding = field(24, 2);
    }
    if (encoding != kPcm && encoding != kFloat && encoding != kALaw && encoding != kMuLaw) return {};
    if (bits == 0) return invalid("its samples have 0 bits");
    const uint64_t expected = channels * ((bits + 7) / 8);
    if (block != expected) {
      return invalid(concat("its block size is ", counted(block, "byte"), ", but ", counted(channels, "channel"),
                            " of ", counted(bits, "bit"), channels == 1 ? " makes " : " make ", expected));
    }
    return {};
  }

  /// Does the rest of the file from here on consist of whole chunks?
  bool only_chunks_follow(uint64_t position) const {
    for (int i = 0; i < kMostChunks && position < input_.size(); ++i) {
      const std::optional<uint64_t> size = number_at(position + 4, 4);
      if (!size || *size > input_.size() - position - 8) return false;
      position += 8 + *size + *size % 2;
    }
    return position >= input_.size();
  }

  std::string data_note(uint64_t size, uint64_t begin) const {
    const uint64_t present = input_.size() - begin;
    if (size == 0 && present > 0 && !only_chunks_follow(begin)) {
      return concat(name_, " has no sound: its header states 0 bytes, and ", counted(present, "byte"),
                    present == 1 ? " follows" : " follow", " that no header describes");
    }
    if (size <= present) return "";
    for (const auto& [low, high] : kUnknownSizes) {
      if (size >= low && size <= high) return "";
    }
    return concat(name_, " ends early: its header promises ", counted(size, "byte"), " of sound, ", present,
                  present == 1 ? " is there" : " are there");
  }

  const ByteInput& input_;
  const std::string& name_;
  bool big_endian_ = false;
};

}  // namespace

Result<std::string> check_wav_header(const ByteInput& input, const std::string& name) {
  return WavHeader(input, name).check();
}

}  // namespace tandem
