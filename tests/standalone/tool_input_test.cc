// What the tool does with several files, and with input that is not right.

#include <cmath>

#include "tests/support/tool_fixture.h"
#include "tests/support/wav_writer.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::kGoForward;
using testing::Outcome;
using testing::Tool;

TEST_F(Tool, BadInputIsRefusedInOneSentenceThatNamesIt) {
  const std::string raw = " --raw s16le:16000 " + kGoForward;
  expect_refused("", "command is missing");
  expect_refused("listen", "listen");
  expect_refused("vad", "FILE is missing");
  expect_refused("vad --frobnicate x.wav", "--frobnicate");
  expect_refused("vad " + path("missing.wav"), "missing.wav");
  expect_refused("vad --format xml" + raw, "xml");
  expect_refused("vad --model v4" + raw, "v4");
  expect_refused("vad --target gpu" + raw, "gpu");
  expect_refused("vad --isa neon" + raw, "neon");
  expect_refused("vad --numerics exact" + raw, "exact");
  expect_refused("vad --raw f64:16000 " + kGoForward, "f64:16000");
  expect_refused("vad --weights /nonexistent" + raw, "/nonexistent");
  expect_refused("vad --frobnicate x.wav", "see tandem vad --help");
  expect_refused("vad --raw s16le:16000 --format srt a.raw b.raw", "--format srt takes one recording, not 2");
  expect_refused("vad --raw s16le:999 " + kGoForward, "rate from 1000 to 10000000");
  expect_refused("vad" + raw, "TANDEM_CACHE is \"maybe\"", 2, "TANDEM_CACHE=maybe");
  expect_refused("vad" + raw, "silero_vad_v6.onnx has 2327524 bytes, and 2097152 are read at most", 1,
                 "TANDEM_MEMORY_LIMIT=2M");
  expect_refused("vad ''", "the name of a file is empty");
  expect_refused("vad" + raw, "TANDEM_ISA is \"mmx\"", 2, "TANDEM_ISA=mmx");
  write("garbage.wav", "this is no sound");
  expect_refused("vad " + path("garbage.wav"), "garbage.wav");
  const std::string weights = read(testing::silero_onnx_path("v6"));
  write("cut.onnx", weights.substr(0, weights.size() / 2));
  expect_refused("vad --weights " + path("cut.onnx") + raw, "cut.onnx");
  expect_refused("vad --target wasm" + raw, "/nonexistent/node", 1, "TANDEM_NODE=/nonexistent/node");
}

TEST_F(Tool, NumbersAreRefusedWithOptionTextAndRange) {
  const std::string raw = " --raw s16le:16000 " + kGoForward;
  const std::pair<const char*, const char*> wrong[] = {
      {"--threshold abc", "--threshold is \"abc\": it must be a number from 0 to 1"},
      {"--threshold nan", "--threshold is nan: it must be a number from 0 to 1"},
      {"--threshold ''", "--threshold: the value is empty"},
      {"--threshold ' 0.5'", "--threshold is \" 0.5\": it must be a number"},
      {"--threshold 0,5", "--threshold is \"0,5\": it must be a number"},
      {"--threshold 0x1", "--threshold is \"0x1\": it must be a number"},
      {"--threshold 1.5", "--threshold is 1.5: it must be a number from 0 to 1"},
      {"--threshold -inf", "--threshold is -inf: it must be a number from 0 to 1"},
      {"--threshold +-1", "--threshold is \"+-1\": it must be a number"},
      {"--neg-threshold -1.01", "--neg-threshold is -1.01: it must be a number from -1 to 1"},
      {"--min-speech-ms 1e999", "--min-speech-ms is \"1e999\": it must be a number from 0 to 1e+12"},
      {"--min-speech-ms -1", "--min-speech-ms is -1: it must be a number from 0 to 1e+12"},
      {"--min-silence-ms inf", "--min-silence-ms is inf: it must be a number from 0 to 1e+12"},
      {"--speech-pad-ms 1e13", "--speech-pad-ms is 1e13: it must be a number from 0 to 1e+12"},
      {"--max-speech-s -1", "--max-speech-s is -1: it must be a number from 0 on, or inf"},
      {"--max-speech-s 0", "--max-speech-s is 0: it must be above 0; inf never cuts"},
      {"--threshold $(printf '1\\033[2J%0100d')", "--threshold is \"1\\x1b[2J0000"},
  };
  for (const auto& [option, words] : wrong) expect_refused(std::string("vad ") + option + raw, words);
  const std::pair<const char*, const char*> whole[] = {
      {"--threads -1", "--threads is -1: it must be a whole number from 0 to 1024"},
      {"--threads 100000", "--threads is 100000: it must be a whole number from 0 to 1024"},
      {"--steps 1000001", "--steps is 1000001: it must be a whole number from 1 to 1000000"},
      {"--steps 99999999999999999999", "--steps is 99999999999999999999: it must be a whole number from 1 to 1000000"},
      {"--steps 2.5", "--steps is 2.5: it must be a whole number"},
      {"--steps 1e3", "--steps is 1e3: it must be a whole number"},
      {"--steps ten", "--steps is \"ten\": it must be a whole number"},
  };
  for (const auto& [option, words] : whole) expect_refused(std::string("bench silero-v6-16k ") + option, words);
  expect_refused("profile silero-v6-16k --steps 1000001", "--steps is 1000001");
  for (const char* right : {"--threshold +0.5", "--threshold 5e-1", "--max-speech-s inf", "--max-speech-s 1e300"})
    EXPECT_EQ(run(std::string("vad ") + right + raw).exit_code, 0) << right;
}

TEST_F(Tool, SamplesThatOverflowTheNetworkAreAnError) {
  std::vector<float> samples(16000, 0.01f);
  samples[5000] = 3e38f;
  write_samples("in.safetensors", samples, "samples");
  expect_refused(
      "run silero-v6-16k --inputs " + path("in.safetensors") + " --outputs " + path("out.safetensors"),
      "window 9 (from sample 4608 on) has no finite probability: the network overflows, and its samples reach 3e+38");
}

TEST_F(Tool, JsonOfSeveralFilesHasAnEntryForEachInTheirOrder) {
  const std::string three =
      "vad --raw s16le:16000 " + path("missing.raw") + " " + kGoForward + " " + path("absent.raw");
  const Outcome outcome = run(three + " --format json");
  EXPECT_EQ(outcome.exit_code, 2);
  const json found = json::parse(outcome.out);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]["file"], path("missing.raw"));
  EXPECT_EQ(found[0]["error"]["code"], "NotFound");
  EXPECT_NE(found[0]["error"]["message"].get<std::string>().find("No such file"), std::string::npos);
  EXPECT_EQ(found[1]["segments"][0]["start_sample"], 7712);
  EXPECT_FALSE(found[1].contains("error"));
  EXPECT_EQ(found[2]["file"], path("absent.raw"));
  EXPECT_NE(outcome.error.find("missing.raw"), std::string::npos);
  EXPECT_NE(outcome.error.find("absent.raw"), std::string::npos);
  const Outcome csv = run(three + " --format csv");
  EXPECT_EQ(csv.exit_code, 2);
  EXPECT_EQ(csv.out.find("file,start_sample"), 0u);
  EXPECT_EQ(csv.out.find("missing"), std::string::npos);
  EXPECT_NE(csv.out.find(kGoForward + ",7712,"), std::string::npos) << csv.out;
  const Outcome text = run(three);
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_EQ(text.out.find(kGoForward + ": 1 segment, "), 0u) << text.out;
}

TEST_F(Tool, JsonOfOneFileIsAnObjectAlsoWhenItFails) {
  const Outcome one = run("vad --format json " + path("missing.wav"));
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_EQ(json::parse(one.out)["error"]["code"], "NotFound");
  const Outcome two = run("vad --format json " + path("missing.wav") + " " + path("absent.wav"));
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_EQ(json::parse(two.out).size(), 2u);
}

TEST_F(Tool, AModelThatFailsIsToldOnceAndEveryFileNamed) {
  const Outcome outcome =
      run("vad --weights /nonexistent --raw s16le:16000 --format json " + kGoForward + " " + kGoForward);
  EXPECT_EQ(outcome.exit_code, 2);
  const json found = json::parse(outcome.out);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["error"]["code"], "NotFound");
  EXPECT_EQ(found[1]["error"]["code"], "NotFound");
  EXPECT_NE(outcome.error.find("goforward.raw: the weights /nonexistent do not exist"), std::string::npos);
  EXPECT_NE(outcome.error.find("goforward.raw: the model for 16000 Hz could not be loaded"), std::string::npos);
}

TEST_F(Tool, SegmentKeepsTheFormOfItsFileAndTheFailuresInIt) {
  const std::string good = R"({"file": "a.wav", "sample_rate": 16000, "samples": 512, "probs": [0.1]})";
  const std::string wrong = R"({"file": "b.wav", "sample_rate": 44100, "samples": 512, "probs": [0.5]})";
  const std::string failed = R"({"file": "c.wav", "error": {"code": "InvalidFormat", "message": "c.wav is odd"}})";
  write("one.json", "[" + good + "]");
  const Outcome one = run("segment --format json " + path("one.json"));
  EXPECT_EQ(one.exit_code, 0) << one.error;
  EXPECT_TRUE(json::parse(one.out).is_array());
  write("three.json", "[" + wrong + "," + good + "," + failed + "]");
  const Outcome three = run("segment --format json " + path("three.json"));
  EXPECT_EQ(three.exit_code, 2);
  const json found = json::parse(three.out);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]["error"]["code"], "InvalidArgument");
  EXPECT_EQ(found[1]["segments"], json::array());
  EXPECT_EQ(found[2], json::parse(failed));
  EXPECT_NE(three.error.find("b.wav: a sample rate of 44100 Hz"), std::string::npos) << three.error;
  EXPECT_NE(three.error.find("c.wav is odd"), std::string::npos) << three.error;
  expect_refused("segment --format srt " + path("three.json"), "--format srt takes one recording, not 3");
}

TEST_F(Tool, AFileWithoutSpeechInheritsNothingFromTheOneBefore) {
  write("quiet.raw", std::string(100000, '\0'));
  const std::string common = "vad --format json --probabilities --raw s16le:16000 ";
  const json alone = json::parse(run(common + path("quiet.raw")).out);
  EXPECT_EQ(alone["segments"], json::array());
  const json both = json::parse(run(common + kGoForward + " " + path("quiet.raw") + " " + kGoForward).out);
  EXPECT_EQ(both[0]["segments"].size(), 1u);
  EXPECT_EQ(both[1], alone);
  EXPECT_EQ(both[2], both[0]);
}

TEST_F(Tool, RatesAndChannelsOfAllKindsAreReadOrRefusedByName) {
  // A second of a tone in 64 channels; a library may resample it, but never crash or hang.
  for (const unsigned rate : {1u, 999u, 1000u, 8000u, 11025u, 22050u, 44100u, 96000u, 192000u, 768000u}) {
    SCOPED_TRACE(rate);
    testing::WavFormat format;
    format.rate = rate;
    format.channels = rate == 8000 ? 64 : 1;
    write("t.wav", testing::wav(format, std::string(2 * format.channels * std::max(rate, 100u), '\1')));
    const Outcome outcome = run("vad --format json " + path("t.wav"));
    const json found = json::parse(outcome.out);
    if (rate < 1000) {
      EXPECT_EQ(outcome.exit_code, 2);
      EXPECT_EQ(found["error"]["code"], "Unsupported");
      EXPECT_NE(outcome.error.find("t.wav: a sample rate of " + std::to_string(rate) + " Hz"), std::string::npos);
    } else {
      EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
      EXPECT_EQ(found["sample_rate"], rate);
      EXPECT_EQ(found["samples"], rate);
      EXPECT_EQ(found["model_rate"], rate == 8000 ? 8000 : 16000);
    }
  }
}

TEST_F(Tool, MoreThanTheMemoryLimitIsRefusedBeforeItIsRead) {
  write("huge.raw", "");
  fs::resize_file(path("huge.raw"), uintmax_t{30} << 30);
  const std::string huge = path("huge.raw");
  for (const std::string& arguments :
       {"vad --raw s16le:16000 " + huge, "vad " + huge, "segment " + huge, "convert " + huge + " " + path("x"),
        "run silero-v6-16k --inputs " + huge + " --outputs " + path("x")})
    expect_refused(arguments, "huge.raw has 32212254720 bytes, and ", 1);
  fs::resize_file(path("huge.raw"), 4000000);
  const std::string raw = "vad --raw s16le:16000 " + path("huge.raw");
  expect_refused(raw, "huge.raw has 4000000 bytes, and 3145728 are read at most (TANDEM_MEMORY_LIMIT)", 1,
                 "TANDEM_MEMORY_LIMIT=3M");
  expect_refused(raw, "the sound of " + path("huge.raw") + " needs 8000000 bytes of memory; the limit is 5242880", 1,
                 "TANDEM_MEMORY_LIMIT=5M");
  expect_refused("vad --raw s16le:1000 " + path("huge.raw"),
                 "huge.raw: the sound at 16000 Hz needs 128000000 bytes of memory; the limit is 67108864", 1,
                 "TANDEM_MEMORY_LIMIT=64M");
  expect_refused("vad --raw s16le:16000 /dev/zero",
                 "/dev/zero does not end after so many bytes: 8388608 are read at most", 1, "TANDEM_MEMORY_LIMIT=8M");
  expect_refused("convert " + path("huge.raw") + " " + path("x"), "TANDEM_MEMORY_LIMIT is \"lots\"", 2,
                 "TANDEM_MEMORY_LIMIT=lots");
}

TEST_F(Tool, NamesThatAreNoWordsStayWhole) {
  const std::string name = "a \"b\"\n,\x1b[2J\xFF.raw";
  fs::copy_file(kGoForward, path(name));
  const std::string quoted = " '" + path(name) + "'";
  const json found = json::parse(run("vad --raw s16le:16000 --format json" + quoted).out);
  EXPECT_EQ(found["file"], path("a \"b\"\n,\x1b[2J\xEF\xBF\xBD.raw"));
  const std::string csv = run("vad --raw s16le:16000 --format csv" + quoted).out;
  EXPECT_NE(csv.find("\"" + path("a \"\"b\"\"\n,\x1b[2J\xFF.raw") + "\",7712,"), std::string::npos) << csv;
  const Outcome wrong = run("vad" + quoted);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.error.find('\x1b'), std::string::npos) << wrong.error;
  EXPECT_NE(wrong.error.find("\\x1b[2J"), std::string::npos) << wrong.error;
}

TEST_F(Tool, NoFramesAreAnEmptyResult) {
  const Outcome outcome = run("vad --format json --probabilities --raw s16le:8000 - </dev/null");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found["samples"], 0);
  EXPECT_EQ(found["segments"], json::array());
  EXPECT_EQ(found["probabilities"], json::array());
}

TEST_F(Tool, WorksWhereTheCacheCannotBeWrittenOrIsDamaged) {
  const std::string arguments = "vad --format json --raw s16le:16000 " + kGoForward;
  write("file", "");
  const Outcome without = run(arguments, "TANDEM_CACHE_DIR=" + path("file") + "/cache");
  EXPECT_EQ(without.exit_code, 0) << without.error;
  EXPECT_NE(without.error.find("note: "), std::string::npos) << without.error;
  const std::string cache = "TANDEM_CACHE_DIR=" + path("cache");
  const Outcome first = run(arguments, cache);
  EXPECT_EQ(first.exit_code, 0) << first.error;
  int damaged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path("cache"))) {
    if (!entry.is_regular_file() || entry.file_size() < 1000) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(700);
    file.write("damage", 6);
    damaged++;
  }
  EXPECT_GT(damaged, 0);
  const Outcome second = run(arguments, cache);
  EXPECT_EQ(second.exit_code, 0) << second.error;
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(without.out, first.out);
}

}  // namespace
}  // namespace tandem
