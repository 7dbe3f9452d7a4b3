// The commands of the tool and their results.

#include <sys/stat.h>

#include <cmath>

#include "tests/support/tool_fixture.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::golden_clip;
using testing::kGoForward;
using testing::Outcome;
using testing::Tool;

TEST_F(Tool, JsonOfARawRecordingIsWhatTheReferenceSays) {
  for (const std::string version : {"v5", "v6"}) {
    const json golden = golden_clip("silero/" + version + "_16k.json", "p16-goforward");
    const Outcome outcome =
        run("vad --format json --probabilities --raw s16le:16000 --model " + version + " - <" + kGoForward);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
    const json found = json::parse(outcome.out);
    EXPECT_EQ(found["file"], "-");
    EXPECT_EQ(found["sample_rate"], 16000);
    EXPECT_EQ(found["samples"], 44580);
    EXPECT_EQ(found["model"], version);
    EXPECT_EQ(found["model_rate"], 16000);
    const json& expected = golden["segments"]["default"]["timestamps"];
    ASSERT_EQ(found["segments"].size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found["segments"][i]["start_sample"], expected[i][0]);
      EXPECT_EQ(found["segments"][i]["end_sample"], expected[i][1]);
      EXPECT_EQ(found["segments"][i]["start"], expected[i][0].get<double>() / 16000);
      EXPECT_EQ(found["segments"][i]["end"], expected[i][1].get<double>() / 16000);
    }
    ASSERT_EQ(found["probabilities"].size(), golden["probs"].size());
    for (size_t i = 0; i < golden["probs"].size(); ++i) {
      const double value = found["probabilities"][i];
      EXPECT_NEAR(value, golden["probs"][i].get<double>(), 2e-5);
      EXPECT_EQ(value, static_cast<double>(static_cast<float>(value)));
    }
    EXPECT_NE(outcome.error.find("real-time factor"), std::string::npos) << outcome.error;
  }
}

TEST_F(Tool, SavedProbabilitiesAreSegmentedAgainWithoutTheModel) {
  const Outcome first = run("vad --format json --probabilities --raw s16le:16000 " + kGoForward + " --threshold 0.3");
  ASSERT_EQ(first.exit_code, 0) << first.error;
  write("saved.json", first.out);
  const Outcome again = run("segment --format json --min-silence-ms 500 --speech-pad-ms 100 " + path("saved.json"),
                            "TANDEM_WEIGHTS_DIR=/nonexistent");
  ASSERT_EQ(again.exit_code, 0) << again.error;
  const json expected = golden_clip("silero/v6_16k.json", "p16-goforward")["segments"]["sil500_pad100"]["timestamps"];
  const json found = json::parse(again.out);
  ASSERT_EQ(found["segments"].size(), 1u);
  EXPECT_EQ(found["segments"][0]["start_sample"], expected[0][0]);
  EXPECT_EQ(found["segments"][0]["end_sample"], expected[0][1]);
  write("rate.json", R"({"sample_rate": 44100, "samples": 512, "probs": [0.5]})");
  expect_refused("segment " + path("rate.json"), "44100");
  write("broken.json", "{");
  expect_refused("segment " + path("broken.json"), "is not valid JSON");
}

TEST_F(Tool, TargetsAndInstructionSetsGiveTheSameBitsWhenReproducible) {
  const std::string common =
      "vad --format json --probabilities --numerics reproducible --raw s16le:16000 " + kGoForward;
  const Outcome native = run(common);
  ASSERT_EQ(native.exit_code, 0) << native.error;
  for (const char* other : {" --target wasm", " --isa sse", " --target interpreter"}) {
    const Outcome outcome = run(common + other);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
    EXPECT_EQ(outcome.out, native.out) << other;
  }
}

TEST_F(Tool, RunsModelsOnTensorsByName) {
  write_samples("in.safetensors", testing::silero_clip("p8-tidigits-dhd"), "samples");
  const std::string files = " --inputs " + path("in.safetensors") + " --outputs " + path("out.safetensors");
  const Outcome outcome = run("run silero-v6-8k" + files);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  EXPECT_EQ(outcome.out, "");
  const auto results = read_weight_file(path("out.safetensors"));
  ASSERT_TRUE(results.has_value()) << results.error().text();
  const json golden = golden_clip("silero/v6_8k.json", "p8-tidigits-dhd");
  const auto probabilities = *results->find("probabilities")->values<float>();
  ASSERT_EQ(probabilities.size(), golden["probs"].size());
  for (size_t i = 0; i < probabilities.size(); ++i)
    EXPECT_NEAR(probabilities[i], golden["probs"][i].get<double>(), 2e-5);
  for (const std::string name : {"h", "c"}) {
    const auto state = *results->find(name)->values<float>();
    ASSERT_EQ(state.size(), 128u);
    for (size_t i = 0; i < 8; ++i) {
      const double expected = golden["state_after_last_frame"][name + "8"][i];
      EXPECT_NEAR(state[i], expected, 5e-4 + 1e-5 * std::fabs(expected));
    }
  }
  expect_refused("run silero-v9" + files, "unknown model \"silero-v9\"; there are silero-v5-16k");
  expect_refused("run silero-v6-16k --outputs x", "--inputs is missing");
  write("options.json", R"({"beam": 4})");
  expect_refused("run silero-v6-16k --config " + path("options.json") + files, "\"beam\"");
  expect_refused("run gigaam-ctc" + files, "--weights is missing");
  write_samples("in.safetensors", std::vector<float>(600, 0.0f), "audio");
  expect_refused("run silero-v6-16k" + files, "samples");
  std::vector<float> bad(1000, 0.0f);
  bad[777] = NAN;
  write_samples("in.safetensors", bad, "samples");
  expect_refused("run silero-v6-16k" + files, "777");
}

TEST_F(Tool, ConvertedWeightsGiveTheSameProbabilities) {
  const Outcome converted = run("convert " + testing::silero_onnx_path("v5") + " " + path("v5.safetensors"));
  ASSERT_EQ(converted.exit_code, 0) << converted.error;
  const std::string common = "vad --model v5 --format json --probabilities --raw s16le:16000 " + kGoForward;
  EXPECT_EQ(run(common + " --weights " + path("v5.safetensors")).out, run(common).out);
  expect_refused("convert " + path("v5.safetensors"), "OUT is missing");
  expect_refused("convert " + path("nothing.onnx") + " " + path("x"), "nothing.onnx");
  write("broken.safetensors", std::string(1000, '\x5a'));
  expect_refused("convert " + path("broken.safetensors") + " " + path("x"), "is not a usable safetensors file");
  write("noise.onnx", std::string(1000, '\x5a'));
  expect_refused("convert " + path("noise.onnx") + " " + path("x"), "noise.onnx");
}

TEST_F(Tool, OptionsStandAboveTheirVariables) {
  const std::string arguments = "vad --format json --raw s16le:16000 " + kGoForward;
  expect_refused(arguments, "TANDEM_NUMERICS is \"foo\"", 2, "TANDEM_NUMERICS=foo");
  const Outcome outcome = run(arguments + " --numerics fast --target native --isa sse",
                              "TANDEM_NUMERICS=foo TANDEM_BACKEND=x TANDEM_ISA=y");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  EXPECT_NE(outcome.error.find("native sse, fast"), std::string::npos) << outcome.error;
  EXPECT_EQ(run("--version").out.rfind("tandem ", 0), 0u);
}

TEST_F(Tool, OutputsGoIntoPipesThroughLinksAndToStandardOutput) {
  const std::string from = "convert " + testing::silero_onnx_path("v5") + " ";
  ASSERT_EQ(run(from + path("plain.safetensors")).exit_code, 0);
  const std::string expected = read(path("plain.safetensors"));
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(run(from + "-").out, expected);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(run(from + path("pipe"), "cat " + path("pipe") + " >" + path("piped") + " &").exit_code, 0);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  for (int i = 0; i < 1000 && fs::file_size(path("piped")) < expected.size(); ++i) ::usleep(10000);
  EXPECT_EQ(read(path("piped")), expected);
  fs::create_symlink("linked.safetensors", path("link"));
  EXPECT_EQ(run(from + path("link")).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("linked.safetensors")), expected);
  EXPECT_EQ(run(from + path("link")).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  expect_refused(from + "/dev/full", "cannot write /dev/full", 1);
}

TEST_F(Tool, NoInputIsOverwrittenWhateverItsName) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  fs::create_directories(path("model"));
  for (const char* copy : {"in.safetensors", "model/model.safetensors"}) fs::copy_file(golden, path(copy));
  const std::string before = read(golden);
  fs::create_symlink("in.safetensors", path("link"));
  fs::create_hard_link(path("in.safetensors"), path("twin"));
  const std::string words = " is an input";
  for (const std::string out : {"in.safetensors", "link", "twin", "model/../in.safetensors"}) {
    expect_refused("convert " + path("in.safetensors") + " " + path(out), "the output " + path(out) + words);
    expect_refused("run gigaam-ctc --inputs " + path("in.safetensors") + " --outputs " + path(out), words);
  }
  expect_refused("convert " + path("link") + " " + path("in.safetensors"), words + ", " + path("link") + ": it would");
  // Weights, also those that only a folder names, and the configuration.
  const std::string run_model =
      "run gigaam-ctc --inputs " + golden + " --weights " + path("model") + " --outputs " + path("model/");
  expect_refused(run_model + "model.safetensors", words);
  write("model/config.json", json::parse(read_weight_file(golden)->metadata().at("config")).dump());
  expect_refused(run_model + "config.json --config " + path("model/config.json"), words);
  for (const char* copy : {"in.safetensors", "model/model.safetensors"}) EXPECT_EQ(read(path(copy)), before);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  // Another file beside them is fine, and so is one that is there already.
  EXPECT_EQ(run(run_model + "out.safetensors").exit_code, 0) << read(path("error"));
  EXPECT_EQ(run(run_model + "out.safetensors").exit_code, 0) << read(path("error"));
}

TEST_F(Tool, ShowsTheStagesOfAModel) {
  const std::pair<const char*, const char*> stages[] = {{"graph", "= input f32[1, 288]"},
                                                        {"rewritten", "outputs %"},
                                                        {"schedule", "contract"},
                                                        {"kernel", "kernel"},
                                                        {"c", "void"},
                                                        {"asm", ".text"}};
  for (const auto& [stage, words] : stages) {
    const Outcome outcome = run(std::string("show silero-v5-8k --stage ") + stage);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
    EXPECT_NE(outcome.out.find(words), std::string::npos) << stage;
  }
  const Outcome module = run("show silero-v5-8k --stage wasm");
  EXPECT_EQ(module.exit_code, 0) << module.error;
  EXPECT_EQ(module.out.substr(0, 4), std::string("\0asm", 4));
  const Outcome text = run("show silero-v5-8k --stage wat");
  EXPECT_EQ(text.exit_code, 0) << text.error;
  EXPECT_NE(text.out.find("(export \"step\" (func $step))"), std::string::npos) << text.out.substr(0, 1000);
  const Outcome profile = run("profile silero-v5-8k --steps 3");
  EXPECT_EQ(profile.exit_code, 0) << profile.error;
  EXPECT_NE(profile.out.find("us in kernels"), std::string::npos) << profile.out;
  expect_refused("show silero-v5-8k --stage wasm --target native", "needs --target wasm");
  expect_refused("show silero-v5-8k --stage wat --target interpreter", "needs --target wasm");
  expect_refused("show silero-v5-8k --stage c --target wasm", "needs --target native");
  expect_refused("show silero-v5-8k --stage soul", "soul");
  expect_refused("show silero-v5-8k", "--stage is missing");
  const Outcome list = run("profile silero-v5-8k --steps 3 --format json");
  ASSERT_EQ(list.exit_code, 0) << list.error;
  double share = 0;
  for (const json& call : json::parse(list.out)) share += call["share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-9);
  const Outcome trace = run("profile silero-v5-8k --steps 3 --format trace");
  ASSERT_EQ(trace.exit_code, 0) << trace.error;
  EXPECT_EQ(json::parse(trace.out)["traceEvents"].size(), json::parse(list.out).size() + 1);
  EXPECT_NE(trace.out.find("\"origin\": \"conv2 / conv1d\""), std::string::npos) << trace.out;
  expect_refused("profile silero-v5-8k --format yaml", "--format is \"yaml\": use table, json or trace");
  expect_refused("profile silero-v5-8k --vars t", "--vars has \"t\"");
  expect_refused("profile silero-v5-8k --vars t=3,b=x", "--vars has \"b=x\"");
  expect_refused("profile silero-v5-8k --vars t=3", "--vars names \"t\", but silero-v5-8k has no variables");
  const std::string recogniser =
      "profile gigaam-ctc --weights '" TANDEM_SOURCE_DIR "/tests/golden/gigaam/ctc_tiny.safetensors'";
  EXPECT_EQ(run(recogniser + " --steps 2 --vars b=2,t=61").exit_code, 0);
  expect_refused(recogniser + " --vars u=2", "--vars names \"u\"");
  expect_refused("profile silero-v5-8k --steps 0", "--steps is 0");
}

}  // namespace
}  // namespace tandem
