#include "native/sound_file.h"

#include <gtest/gtest.h>
#include <sndfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>

#include "tests/support/wav_writer.h"

namespace tandem {
namespace {

using testing::chunk;
using testing::extension;
using testing::le;
using testing::pcm;
using testing::riff;
using testing::wav;
using testing::WavFormat;

Result<Sound> read(const std::string& file) {
  return read_sound_bytes(std::as_bytes(std::span<const char>(file)), "t.wav");
}

Sound read_ok(const std::string& file) {
  auto sound = read(file);
  EXPECT_TRUE(sound.has_value()) << sound.error().text();
  return sound ? *sound : Sound();
}

void expect_error(const std::string& file, const std::string& part, ErrorCode code = ErrorCode::kInvalidFormat) {
  const auto sound = read(file);
  ASSERT_FALSE(sound.has_value()) << "expected: " << part;
  EXPECT_EQ(sound.error().code, code) << sound.error().text();
  EXPECT_NE(sound.error().message.find(part), std::string::npos) << sound.error().message;
  EXPECT_NE(sound.error().message.find("t.wav"), std::string::npos) << sound.error().message;
}

const std::vector<int16_t> kSamples{100, -200, 16384, -32768, 32767};
const std::vector<float> kFloats{100 / 32768.0f, -200 / 32768.0f, 0.5f, -1.0f, 32767 / 32768.0f};

TEST(SoundFile, ReadsPlainPcm) {
  const Sound sound = read_ok(wav({}, pcm(kSamples)));
  EXPECT_EQ(sound.samples, kFloats);
  EXPECT_EQ(sound.sample_rate, 16000);
  EXPECT_EQ(sound.channels, 1);
  EXPECT_EQ(sound.note, "");
}

TEST(SoundFile, OddDataSizeGivesWholeFrames) {
  EXPECT_EQ(read_ok(wav({}, pcm(kSamples) + "x")).samples, kFloats);
  // The same without the pad byte at the end of the file, and with a chunk after the padded data.
  const std::string data = pcm(kSamples) + "x";
  EXPECT_EQ(read_ok(riff(chunk("fmt ", WavFormat{}.body()) + "data" + le(data.size(), 4) + data)).samples, kFloats);
  EXPECT_EQ(read_ok(riff(chunk("fmt ", WavFormat{}.body()) + chunk("data", data) + chunk("LIST", "INFO"))).samples,
            kFloats);
}

TEST(SoundFile, SizesOfPipesAreClampedToTheBytesPresent) {
  for (const uint64_t size : {0xFFFFFFFFu, 0xFFFF1000u, 0xFFFFFFFEu, 0x7FFFFFFFu, 0x7FFFF000u}) {
    for (const uint64_t riff_size : {uint64_t{0xFFFFFFFF}, size, uint64_t{0}}) {
      const std::string file =
          "RIFF" + le(riff_size, 4) + "WAVE" + chunk("fmt ", WavFormat{}.body()) + "data" + le(size, 4) + pcm(kSamples);
      const Sound sound = read_ok(file);
      EXPECT_EQ(sound.samples, kFloats) << std::hex << size << " " << riff_size;
      EXPECT_EQ(sound.note, "");
    }
  }
}

TEST(SoundFile, DataSizeBeyondTheFileIsClampedAndNoted) {
  const std::string file = riff(chunk("fmt ", WavFormat{}.body()) + "data" + le(1000, 4) + pcm(kSamples));
  const Sound sound = read_ok(file);
  EXPECT_EQ(sound.samples, kFloats);
  EXPECT_EQ(sound.note, "t.wav ends early: its header promises 1000 bytes of sound, 10 are there");
}

TEST(SoundFile, ExtensibleWith24BitsAndTwoChannels) {
  WavFormat format{0xFFFE, 2, 48000, 24, -1, -1};
  const std::string data =
      le(0x400000, 3) + le(0x200000, 3) + le(0x800000, 3) + le(0x800000, 3) + le(0xFFFFFF, 3) + le(1, 3);
  const Sound sound = read_ok(riff(chunk("fmt ", format.body() + extension(1, 24, 3)) + chunk("data", data)));
  EXPECT_EQ(sound.samples, (std::vector<float>{0.375f, -1.0f, 0.0f}));
  EXPECT_EQ(sound.channels, 2);
  EXPECT_EQ(sound.sample_rate, 48000);
}

TEST(SoundFile, ExtensibleFloat) {
  WavFormat format{0xFFFE, 1, 16000, 32, -1, -1};
  const std::string data = pcm<float>({0.25f, -1.5f});
  EXPECT_EQ(read_ok(riff(chunk("fmt ", format.body() + extension(3, 32, 4)) + chunk("data", data))).samples,
            (std::vector<float>{0.25f, -1.5f}));
}

TEST(SoundFile, ExtensibleWithoutItsExtensionIsRefused) {
  const WavFormat format{0xFFFE, 1, 16000, 16, -1, -1};
  const auto file = [&](const std::string& rest) {
    return riff(chunk("fmt ", format.body() + rest) + chunk("data", pcm(kSamples)));
  };
  expect_error(file(""), "extension is missing or short: 16 bytes");
  expect_error(file(le(0, 2)), "extension is missing or short: 18 bytes");
  expect_error(file(extension(1, 16, 4).substr(0, 20)), "extension is missing or short: 36 bytes");
  expect_error(file(le(0, 2) + extension(1, 16, 4).substr(2)), "extension is missing or short");
  EXPECT_EQ(read_ok(file(extension(1, 16, 4))).samples, kFloats);
}

TEST(SoundFile, AcceptsTheFormatSizeOf18) {
  EXPECT_EQ(read_ok(riff(chunk("fmt ", WavFormat{}.body() + le(0, 2)) + chunk("data", pcm(kSamples)))).samples,
            kFloats);
}

TEST(SoundFile, SkipsUnknownChunksOfAnySizeAnywhere) {
  const std::string format = chunk("fmt ", WavFormat{}.body());
  const std::string data = chunk("data", pcm(kSamples));
  for (const std::string tag : {"JUNK", "FLLR", "LIST", "bext", "abcd"}) {
    for (const size_t size : {0u, 1u, 3u, 28u, 5001u}) {
      const std::string extra = chunk(tag, std::string(size, 'z'));
      EXPECT_EQ(read_ok(riff(extra + format + data)).samples, kFloats) << tag << size;
      EXPECT_EQ(read_ok(riff(format + extra + data)).samples, kFloats) << tag << size;
      EXPECT_EQ(read_ok(riff(extra + format + extra + data + extra)).samples, kFloats) << tag << size;
    }
  }
}

TEST(SoundFile, RefusesImpossibleFormats) {
  const std::string data = pcm(kSamples);
  expect_error(wav({1, 0, 16000, 16, 2, -1}, data), "0 channels");
  expect_error(wav({1, 1, 0, 16, -1, -1}, data), "sample rate is 0");
  expect_error(wav({1, 1, 16000, 0, 2, -1}, data), "0 bits");
  expect_error(wav({1, 65535, 16000, 16, -1, -1}, data), "block size is 65534 bytes, but 65535 channels");
  expect_error(wav({1, 32000, 16000, 16, -1, -1}, data), "channel");
}

TEST(SoundFile, BlockSizeMustFitAndByteRateIsIgnored) {
  expect_error(wav({1, 2, 16000, 16, 2, -1}, pcm(kSamples)), "block size is 2 bytes, but 2 channels of 16 bits make 4");
  expect_error(wav({1, 1, 16000, 16, 3, -1}, pcm(kSamples)), "block size is 3 bytes");
  expect_error(wav({1, 1, 16000, 16, 0, -1}, pcm(kSamples)), "block size is 0 bytes");
  EXPECT_EQ(read_ok(wav({1, 1, 16000, 16, -1, 7}, pcm(kSamples))).samples, kFloats);
  EXPECT_EQ(read_ok(wav({1, 1, 16000, 16, -1, 0}, pcm(kSamples))).samples, kFloats);
}

TEST(SoundFile, EightBitsAreUnsigned) {
  EXPECT_EQ(read_ok(wav({1, 1, 8000, 8, -1, -1}, std::string("\x80\x80\x00\xFF\xC0\x40", 6))).samples,
            (std::vector<float>{0, 0, -1, 127 / 128.0f, 0.5f, -0.5f}));
}

TEST(SoundFile, IntegersOf24And32Bits) {
  EXPECT_EQ(read_ok(wav({1, 1, 16000, 24, -1, -1}, le(0x800000, 3) + le(1, 3) + le(0xC00000, 3))).samples,
            (std::vector<float>{-1, 1 / 8388608.0f, -0.5f}));
  EXPECT_EQ(
      read_ok(wav({1, 1, 16000, 32, -1, -1}, pcm<int32_t>({std::numeric_limits<int32_t>::min(), 1 << 30, 3}))).samples,
      (std::vector<float>{-1, 0.5f, 3 / 2147483648.0f}));
}

TEST(SoundFile, FloatsOf32And64Bits) {
  const Sound sound = read_ok(wav({3, 1, 8000, 32, -1, -1}, pcm<float>({0.1f, -1.0f, 1.0f, 0.0f})));
  EXPECT_EQ(sound.samples, (std::vector<float>{0.1f, -1.0f, 1.0f, 0.0f}));
  EXPECT_EQ(sound.sample_rate, 8000);
  EXPECT_EQ(read_ok(wav({3, 1, 8000, 64, -1, -1}, pcm<double>({0.1, -2.5, 1.0}))).samples,
            (std::vector<float>{0.1f, -2.5f, 1.0f}));
}

TEST(SoundFile, MuLaw) {
  // ITU-T G.711: 0xFF and 0x7F are zero, 0x00 is -8031 and 0x80 is +8031 of 8192 (in 16 bits 32124 of 32768).
  EXPECT_EQ(read_ok(wav({7, 1, 8000, 8, -1, -1}, "\xFF\x7F\x80" + std::string(1, '\0'))).samples,
            (std::vector<float>{0, 0, 32124 / 32768.0f, -32124 / 32768.0f}));
}

TEST(SoundFile, Rf64WithItsSizeElsewhere) {
  const std::string data = pcm(kSamples);
  const std::string format = chunk("fmt ", WavFormat{}.body());
  const uint64_t riff_size = 4 + 8 + 28 + format.size() + 8 + data.size();
  const std::string file = "RF64" + le(0xFFFFFFFF, 4) + "WAVE" +
                           chunk("ds64", le(riff_size, 8) + le(data.size(), 8) + le(kSamples.size(), 8) + le(0, 4)) +
                           format + "data" + le(0xFFFFFFFF, 4) + data;
  EXPECT_EQ(read_ok(file).samples, kFloats);
}

TEST(SoundFile, OtherBytesNamedWavAreJudgedByTheirContents) {
  expect_error("OggS" + std::string(200, '\0'), "not a sound file");
  expect_error(std::string(1000, 'a'), "not a sound file");
  expect_error("RIFF", "not a sound file");
  expect_error("{\"json\": true}", "not a sound file");
  expect_error(riff("").substr(0, 8) + "AVI " + std::string(100, 'x'), "not a sound file");
}

TEST(SoundFile, EmptyAndTruncatedFiles) {
  expect_error("", "is empty (0 bytes)");
  const std::string whole = wav({}, pcm(kSamples));
  // Header alone: with no frames declared it is an empty recording, with frames declared an early end.
  const Sound empty = read_ok(wav({}, ""));
  EXPECT_TRUE(empty.samples.empty());
  EXPECT_EQ(empty.sample_rate, 16000);
  EXPECT_EQ(empty.note, "");
  // A header that was never finished: 0 bytes, and sound behind it. A whole chunk behind it is nothing to note.
  EXPECT_NE(read_ok(wav({}, "") + pcm(kSamples)).note.find("its header states 0 bytes, and 10 bytes follow"),
            std::string::npos);
  EXPECT_EQ(read_ok(wav({}, "") + chunk("LIST", "abcd")).note, "");
  const Sound header = read_ok(whole.substr(0, 44));
  EXPECT_TRUE(header.samples.empty());
  EXPECT_NE(header.note.find("promises 10 bytes of sound, 0 are there"), std::string::npos);
  for (size_t length = 1; length < 44; ++length) {
    const auto sound = read(whole.substr(0, length));
    ASSERT_FALSE(sound.has_value()) << length;
    EXPECT_EQ(sound.error().code, ErrorCode::kInvalidFormat) << sound.error().text();
  }
  for (size_t length = 45; length < whole.size(); ++length) {
    const Sound sound = read_ok(whole.substr(0, length));
    EXPECT_EQ(sound.samples,
              std::vector<float>(kFloats.begin(), kFloats.begin() + static_cast<std::ptrdiff_t>(length - 44) / 2));
    EXPECT_NE(sound.note, "");
  }
  expect_error(riff(chunk("fmt ", WavFormat{}.body())), "ends before the data chunk");
  expect_error(riff(chunk("data", pcm(kSamples)) + chunk("fmt ", WavFormat{}.body())), "before any format chunk");
  expect_error(riff(chunk("fmt ", WavFormat{}.body().substr(0, 14)) + chunk("data", pcm(kSamples))), "has 14 bytes");
  expect_error(riff("fmt " + le(0xFFFFFFF0, 4) + WavFormat{}.body()), "claims 4294967280 bytes");
}

TEST(SoundFile, DamagedHeadersNeverCrash) {
  const std::string whole =
      riff(chunk("JUNK", "abc") + chunk("fmt ", WavFormat{}.body()) + chunk("data", pcm(kSamples)));
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const auto sound = read(damaged);
      if (sound) {
        EXPECT_LE(sound->samples.size(), whole.size());
      } else {
        EXPECT_FALSE(sound.error().message.empty());
      }
    }
  }
}

TEST(SoundFile, ChannelsAreAveragedInDouble) {
  const std::vector<int16_t> stereo{32767, -32768, 1, 2, -32768, -32768};
  EXPECT_EQ(read_ok(wav({1, 2, 16000, 16, -1, -1}, pcm(stereo))).samples,
            (std::vector<float>{-1 / 65536.0f, 3 / 65536.0f, -1.0f}));
  // 0.1f + 0.2f + 0.3f rounds in float; the mean is of the exact values.
  const std::vector<float> three{0.1f, 0.2f, 0.3f, 1e30f, 1.0f, -1e30f};
  const auto mean = [&](size_t i) {
    return static_cast<float>(
        (static_cast<double>(three[i]) + static_cast<double>(three[i + 1]) + static_cast<double>(three[i + 2])) / 3);
  };
  EXPECT_EQ(read_ok(wav({3, 3, 16000, 32, -1, -1}, pcm(three))).samples, (std::vector<float>{mean(0), mean(3)}));
}

TEST(SoundFile, NonFiniteSamplesAreNamedByIndex) {
  std::vector<float> samples(20000, 0.0f);
  samples[17000] = std::numeric_limits<float>::quiet_NaN();
  expect_error(wav({3, 1, 16000, 32, -1, -1}, pcm(samples)), "sample 17000 (at 1.0625 s) is nan",
               ErrorCode::kNonFinite);
  samples[17000] = 0;
  samples[4] = std::numeric_limits<float>::infinity();
  expect_error(wav({3, 2, 16000, 32, -1, -1}, pcm(samples)), "sample 2 (at 0.000125 s) is inf", ErrorCode::kNonFinite);
  // A double that no float can hold.
  expect_error(wav({3, 1, 16000, 64, -1, -1}, pcm<double>({0, 1e300})), "sample 1 ", ErrorCode::kNonFinite);
}

/// A file of another kind, written by libsndfile.
std::string encoded(int format, const std::vector<float>& samples, int channels = 1) {
  const std::string path = ::testing::TempDir() + "tandem_encoded_" + std::to_string(getpid());
  SF_INFO info{};
  info.samplerate = 16000;
  info.channels = channels;
  info.format = format;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  EXPECT_NE(file, nullptr) << sf_strerror(nullptr);
  if (file == nullptr) return "";
  sf_write_float(file, samples.data(), static_cast<sf_count_t>(samples.size()));
  sf_close(file);
  std::string bytes;
  std::FILE* in = std::fopen(path.c_str(), "rb");
  char block[4096];
  for (size_t n = 0; (n = std::fread(block, 1, sizeof block, in)) > 0;) bytes.append(block, n);
  std::fclose(in);
  std::remove(path.c_str());
  return bytes;
}

TEST(SoundFile, ReadsOtherFormats) {
  std::vector<float> tone(16000);
  for (size_t i = 0; i < tone.size(); ++i)
    tone[i] = static_cast<float>(std::lround(std::sin(0.17 * static_cast<double>(i)) * 9000)) / 32768;
  for (const int format :
       {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_AIFF | SF_FORMAT_PCM_16, SF_FORMAT_AU | SF_FORMAT_PCM_16,
        SF_FORMAT_W64 | SF_FORMAT_PCM_16, SF_FORMAT_CAF | SF_FORMAT_PCM_16}) {
    EXPECT_EQ(read_ok(encoded(format, tone)).samples, tone) << std::hex << format;
  }
  const Sound ogg = read_ok(encoded(SF_FORMAT_OGG | SF_FORMAT_VORBIS, tone));
  ASSERT_EQ(ogg.samples.size(), tone.size());
  double error = 0;
  for (size_t i = 0; i < tone.size(); ++i) error += std::fabs(ogg.samples[i] - tone[i]);
  EXPECT_LT(error / static_cast<double>(tone.size()), 0.02);
}

TEST(SoundFile, OpusUnderTheNameOfAWavFileIsRead) {
  std::vector<float> tone(16000);
  for (size_t i = 0; i < tone.size(); ++i) tone[i] = 0.3f * static_cast<float>(std::sin(0.17 * static_cast<double>(i)));
  const Sound sound = read_ok(encoded(SF_FORMAT_OGG | SF_FORMAT_OPUS, tone));
  ASSERT_EQ(sound.samples.size(), tone.size());
  EXPECT_EQ(sound.sample_rate, 16000);
  double error = 0, power = 0;
  for (size_t i = 2000; i < tone.size(); ++i) {
    error += std::pow(static_cast<double>(sound.samples[i]) - static_cast<double>(tone[i]), 2);
    power += std::pow(static_cast<double>(tone[i]), 2);
  }
  EXPECT_LT(error / power, 0.01) << "it must be the tone, in its place";
}

TEST(SoundFile, TruncatedCompressedFileIsAnError) {
  std::vector<float> tone(48000);
  for (size_t i = 0; i < tone.size(); ++i)
    tone[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i % 700 * i % 900)));
  const std::string flac = encoded(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, tone);
  for (size_t cut = 1; cut < flac.size(); cut += flac.size() / 23) {
    const auto sound = read(flac.substr(0, flac.size() - cut));
    EXPECT_FALSE(sound.has_value()) << cut;
  }
}

TEST(SoundFile, AnOggFileWithoutItsEndIsNoted) {
  std::vector<float> tone(96000);
  for (size_t i = 0; i < tone.size(); ++i)
    tone[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i % 700 * i % 900)));
  for (const int kind : {SF_FORMAT_VORBIS, SF_FORMAT_OPUS}) {
    const std::string whole = encoded(SF_FORMAT_OGG | kind, tone);
    EXPECT_EQ(read_ok(whole).note, "");
    // In the middle of a page, in the head of the last one, and right before it.
    const size_t last = whole.rfind("OggS");
    size_t noted = 0;
    for (const size_t size : {whole.size() / 2, whole.size() - 1, last + 40, last + 10, last}) {
      const auto sound = read(whole.substr(0, size));
      if (!sound) continue;
      EXPECT_LT(sound->samples.size(), tone.size());
      EXPECT_NE(sound->note.find("ends before the last page of its stream: it may be truncated"), std::string::npos)
          << size << " of " << whole.size() << " bytes: " << sound->note;
      ++noted;
    }
    EXPECT_GE(noted, 3u);
  }
}

/// A file in the temporary folder, removed at the end.
class TempFile {
 public:
  explicit TempFile(const std::string& contents)
      : path_(::testing::TempDir() + "tandem_sound_" + std::to_string(getpid())) {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    std::fwrite(contents.data(), 1, contents.size(), file);
    std::fclose(file);
  }
  ~TempFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(SoundFile, ReadsFromAPath) {
  const TempFile file(wav({}, pcm(kSamples)));
  const auto sound = read_sound_file(file.path());
  ASSERT_TRUE(sound.has_value()) << sound.error().text();
  EXPECT_EQ(sound->samples, kFloats);
  const auto missing = read_sound_file(file.path() + ".none");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos) << missing.error().message;
  EXPECT_NE(read_sound_file("/").error().message.find("it is a folder"), std::string::npos);
}

TEST(SoundFile, ReadsFromAPipe) {
  const std::string path = ::testing::TempDir() + "tandem_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::vector<int16_t> many(100000, 1000);
  std::thread writer([&] {
    std::FILE* pipe = std::fopen(path.c_str(), "wb");
    const std::string contents = wav({}, pcm(many));
    std::fwrite(contents.data(), 1, contents.size(), pipe);
    std::fclose(pipe);
  });
  const auto sound = read_sound_file(path);
  writer.join();
  std::remove(path.c_str());
  ASSERT_TRUE(sound.has_value()) << sound.error().text();
  EXPECT_EQ(sound->samples, std::vector<float>(many.size(), 1000 / 32768.0f));
}

TEST(RawSound, ReadsSamplesAndIgnoresHalfOnes) {
  const TempFile file(pcm(kSamples) + "x");
  const auto sound = read_raw_file(file.path(), {8000, 1});
  ASSERT_TRUE(sound.has_value());
  EXPECT_EQ(sound->samples, kFloats);
  EXPECT_EQ(sound->sample_rate, 8000);
  EXPECT_NE(sound->note.find("ends with 1 byte that is no"), std::string::npos);
  const std::string four = pcm<int16_t>({32767, -32768, 2, 4});
  const auto stereo = read_raw_bytes(std::as_bytes(std::span<const char>(four)), {16000, 2}, "x");
  EXPECT_EQ(stereo->samples, (std::vector<float>{-1 / 65536.0f, 3 / 32768.0f}));
  EXPECT_TRUE(read_raw_bytes({}, {}, "x")->samples.empty());
}

TEST(RawSound, ParsesItsFormat) {
  EXPECT_EQ(parse_raw_format("s16le:16000")->sample_rate, 16000);
  EXPECT_EQ(parse_raw_format("s16le:16000")->channels, 1);
  EXPECT_EQ(parse_raw_format("s16le:44100:2")->channels, 2);
  for (const char* text : {"", "s16le", "s16le:", "s16le:x", "s16le:0", "s16le:999", "s16le:10000001", "s16le:-8000",
                           "s16le:16000:", "s16le:16000:0", "s16be:16000", "f32le:16000", "s16le:99999999999999999999",
                           "s16le:16000:2:2", "s16le: 8000"}) {
    const auto format = parse_raw_format(text);
    ASSERT_FALSE(format.has_value()) << text;
    EXPECT_EQ(format.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(format.error().message.find("expected s16le:RATE"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem
