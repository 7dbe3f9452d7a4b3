#include "native/sound_file.h"

#include <sndfile.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>

#include "core/base/text.h"
#include "native/byte_input.h"
#include "native/counted.h"
#include "native/ogg_check.h"
#include "native/read_limit.h"
#include "native/resample.h"
#include "native/wav_check.h"

namespace tandem {
namespace {

constexpr int kMostChannels = 1024;
constexpr sf_count_t kBlockSamples = 16384;

std::string shown_name(const std::string& path) { return path == "-" ? "standard input" : path; }

/// What libsndfile's callbacks see of an input.
struct Cursor {
  const ByteInput* input;
  sf_count_t position = 0;
};

sf_count_t cursor_length(void* user) { return static_cast<sf_count_t>(static_cast<Cursor*>(user)->input->size()); }

sf_count_t cursor_seek(sf_count_t offset, int whence, void* user) {
  Cursor& cursor = *static_cast<Cursor*>(user);
  const sf_count_t base = whence == SEEK_CUR ? cursor.position : whence == SEEK_END ? cursor_length(user) : 0;
  sf_count_t target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target < 0) return -1;
  cursor.position = target;
  return target;
}

sf_count_t cursor_read(void* target, sf_count_t count, void* user) {
  Cursor& cursor = *static_cast<Cursor*>(user);
  if (count <= 0) return 0;
  const std::span<std::byte> bytes(static_cast<std::byte*>(target), static_cast<size_t>(count));
  const auto done = static_cast<sf_count_t>(cursor.input->read_at(static_cast<uint64_t>(cursor.position), bytes));
  cursor.position += done;
  return done;
}

sf_count_t cursor_write(const void*, sf_count_t, void*) { return 0; }

sf_count_t cursor_tell(void* user) { return static_cast<Cursor*>(user)->position; }

struct CloseSound {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using SoundHandle = std::unique_ptr<SNDFILE, CloseSound>;

tl::unexpected<JitError> open_error(const std::string& name) {
  const int code = sf_error(nullptr);
  const ErrorCode kind = code == SF_ERR_UNSUPPORTED_ENCODING ? ErrorCode::kUnsupported : ErrorCode::kInvalidFormat;
  return fail(kind, concat(name, " is not a sound file that can be read: ", sf_strerror(nullptr),
                           " Samples without a header need --raw s16le:RATE or --raw s16le:RATE:CHANNELS."));
}

tl::unexpected<JitError> non_finite_error(const std::string& name, size_t index, double value, int64_t rate) {
  return fail(ErrorCode::kNonFinite,
              concat(name, ": sample ", index, " (at ", static_cast<double>(index) / static_cast<double>(rate),
                     " s) is ", value, "; samples must be finite 32-bit floats"));
}

Result<void> check_samples(const std::string& name, uint64_t samples, const ReadLimit& limit) {
  return check_read_limit(concat("the sound of ", name), samples * sizeof(float), limit);
}

/// Reads all frames and mixes them.
Result<void> read_frames(SNDFILE* file, const SF_INFO& info, const std::string& name, uint64_t bytes, Sound& sound) {
  TANDEM_TRY(limit, read_limit());
  const auto channels = static_cast<size_t>(info.channels);
  std::vector<double> block(static_cast<size_t>(std::max<sf_count_t>(kBlockSamples / info.channels, 1)) * channels);
  // A header may promise anything: memory follows the file's size, and then what was really read.
  if (info.frames > 0) {
    const uint64_t likely = std::min<uint64_t>(static_cast<uint64_t>(info.frames), bytes);
    if (auto fits = check_samples(name, likely, limit); !fits) return fits;
    sound.samples.reserve(likely);
  }
  for (;;) {
    if (auto fits = check_samples(name, sound.samples.size(), limit); !fits) return fits;
    const sf_count_t frames = sf_readf_double(file, block.data(), static_cast<sf_count_t>(block.size() / channels));
    if (frames <= 0) break;
    for (size_t frame = 0; frame < static_cast<size_t>(frames); ++frame) {
      double sum = 0;
      for (size_t channel = 0; channel < channels; ++channel) sum += block[frame * channels + channel];
      const auto mean = static_cast<float>(sum / static_cast<double>(channels));
      if (!std::isfinite(mean)) return non_finite_error(name, sound.samples.size(), mean, sound.sample_rate);
      sound.samples.push_back(mean);
    }
  }
  if (sf_error(file) != SF_ERR_NO_ERROR) {
    return fail(ErrorCode::kInvalidFormat,
                concat(name, " is damaged after ", counted(sound.samples.size(), "frame"), ": ", sf_strerror(file)));
  }
  const bool guessed = (info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_MPEG || info.frames == SF_COUNT_MAX;
  if (!guessed && static_cast<sf_count_t>(sound.samples.size()) < info.frames) {
    return fail(ErrorCode::kInvalidFormat, concat(name, " is truncated: its header promises ", info.frames, " frames, ",
                                                  sound.samples.size(), " could be read"));
  }
  return {};
}

Result<Sound> read_sound(const ByteInput& input, const std::string& name) {
  if (input.size() == 0)
    return fail(ErrorCode::kInvalidFormat, concat(name, " is empty (0 bytes): it is not a sound file"));
  TANDEM_TRY(note, check_wav_header(input, name));
  if (note.empty()) note = ogg_end_note(input, name);
  Cursor cursor{&input};
  SF_VIRTUAL_IO callbacks{cursor_length, cursor_seek, cursor_read, cursor_write, cursor_tell};
  SF_INFO info{};
  const SoundHandle file(sf_open_virtual(&callbacks, SFM_READ, &info, &cursor));
  if (!file) return open_error(name);
  if (info.channels < 1 || info.channels > kMostChannels || info.samplerate < 1) {
    return fail(ErrorCode::kInvalidFormat,
                concat(name, " claims ", counted(info.channels, "channel"), " at ", info.samplerate, " Hz"));
  }
  Sound sound;
  sound.sample_rate = info.samplerate;
  sound.channels = info.channels;
  sound.note = std::move(note);
  try {
    if (auto ok = read_frames(file.get(), info, name, input.size(), sound); !ok)
      return tl::unexpected<JitError>(ok.error());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit, concat(name, ": not enough memory after ", sound.samples.size(), " samples"));
  }
  return sound;
}

/// A whole number with nothing around it, or -1.
int64_t whole_number(std::string_view text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

}  // namespace

Result<RawFormat> parse_raw_format(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::kInvalidArgument,
                concat("raw format \"", text,
                       "\": expected s16le:RATE or s16le:RATE:CHANNELS, for instance s16le:16000, with a "
                       "rate from ",
                       kLowestSampleRate, " to ", kHighestSampleRate, " and 1 to ", kMostChannels, " channels"));
  };
  constexpr std::string_view kPrefix = "s16le:";
  if (text.substr(0, kPrefix.size()) != kPrefix) return refuse();
  const std::string_view rest = text.substr(kPrefix.size());
  const size_t colon = rest.find(':');
  RawFormat format;
  format.sample_rate = whole_number(rest.substr(0, colon));
  const int64_t channels = colon == std::string_view::npos ? 1 : whole_number(rest.substr(colon + 1));
  if (format.sample_rate < kLowestSampleRate || format.sample_rate > kHighestSampleRate || channels < 1 ||
      channels > kMostChannels)
    return refuse();
  format.channels = static_cast<int>(channels);
  return format;
}

Result<Sound> read_sound_file(const std::string& path) {
  TANDEM_TRY(input, open_input(path));
  return read_sound(*input, shown_name(path));
}

Result<Sound> read_sound_bytes(std::span<const std::byte> bytes, const std::string& name) {
  return read_sound(*memory_input(bytes), name);
}

Result<Sound> read_raw_file(const std::string& path, const RawFormat& format) {
  TANDEM_TRY(bytes, read_all_bytes(path));
  return read_raw_bytes(bytes, format, shown_name(path));
}

Result<Sound> read_raw_bytes(std::span<const std::byte> bytes, const RawFormat& format, const std::string& name) {
  const auto channels = static_cast<size_t>(format.channels);
  const size_t frames = bytes.size() / (2 * channels);
  Sound sound;
  sound.sample_rate = format.sample_rate;
  sound.channels = format.channels;
  if (const size_t rest = bytes.size() % (2 * channels); rest != 0) {
    sound.note =
        concat(name, " ends with ", counted(rest, "byte"), rest == 1 ? " that is" : " that are", " no whole frame");
  }
  TANDEM_TRY(limit, read_limit());
  if (auto fits = check_samples(name, frames, limit); !fits) return tl::unexpected<JitError>(fits.error());
  try {
    sound.samples.reserve(frames);
    for (size_t frame = 0; frame < frames; ++frame) {
      double sum = 0;
      for (size_t channel = 0; channel < channels; ++channel) {
        const size_t i = 2 * (frame * channels + channel);
        const auto bits =
            static_cast<uint16_t>(static_cast<unsigned>(bytes[i]) | static_cast<unsigned>(bytes[i + 1]) << 8);
        sum += static_cast<int16_t>(bits) / 32768.0;
      }
      sound.samples.push_back(static_cast<float>(sum / static_cast<double>(channels)));
    }
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit, concat(name, ": not enough memory for ", frames, " samples"));
  }
  return sound;
}

}  // namespace tandem
