#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace tandem {

/// A recording, mixed to one channel: the mean of all channels, computed in double and rounded once. Full scale of
/// integer formats is 1.0 (-32768 in 16 bits is -1.0 exactly); float formats keep their values. All samples are finite.
struct Sound {
  int64_t sample_rate = 0;
  int channels = 0;  ///< of the file
  std::vector<float> samples;
  std::string note;  ///< what a person should know, for instance that the file ends early; else empty
};

/// Headerless PCM: little-endian signed 16-bit samples, channels interleaved.
struct RawFormat {
  int64_t sample_rate = 16000;
  int channels = 1;
};

/// Parses "s16le:16000" or "s16le:44100:2" (rate, channels). kInvalidArgument shows the allowed forms and ranges.
Result<RawFormat> parse_raw_format(std::string_view text);

/// Reads a file in any format that libsndfile knows by its contents (the name's ending means nothing), in blocks,
/// without ever trusting a size in a header. Pipes and devices are read to their end first. "-" is standard input.
///
/// A WAV file whose data chunk claims more than the file holds gives what is there and says so in `note`; a compressed
/// file that ends early is an error. A valid header with no frames gives no samples. Errors: kNotFound (missing, a
/// folder, not readable), kInvalidFormat (empty, no sound file, contradictory or truncated header), kUnsupported (an
/// encoding that libsndfile lacks), kNonFinite (with the index of the frame), kMemoryLimit. All name the file.
Result<Sound> read_sound_file(const std::string& path);

/// The same from bytes; `name` stands in error texts.
Result<Sound> read_sound_bytes(std::span<const std::byte> bytes, const std::string& name);

/// Reads headerless PCM from a file or from standard input ("-"). Bytes after the last whole frame are ignored and
/// noted.
Result<Sound> read_raw_file(const std::string& path, const RawFormat& format);

/// The same from bytes.
Result<Sound> read_raw_bytes(std::span<const std::byte> bytes, const RawFormat& format, const std::string& name);

}  // namespace tandem
