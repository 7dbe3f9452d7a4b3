// `tandem weights` and `tandem bench` as a user runs them.

#include <regex>

#include "native/seeded_weights.h"
#include "tests/support/tool_fixture.h"

namespace tandem {
namespace {

using nlohmann::json;

constexpr const char* kConfig =
    R"({"encoder": {"n_layers": 1, "d_model": 64, "n_heads": 2, "subsampling": "conv1d", "subs_kernel_size": 5,
        "conv_norm_type": "layer_norm", "conv_kernel_size": 5}, "head": {"type": "ctc", "num_classes": 5}})";

class ToolWeights : public testing::Tool {
 protected:
  void SetUp() override {
    Tool::SetUp();
    write("config.json", kConfig);
  }
};

TEST_F(ToolWeights, AreListedWithWhatAModelMissesAndDoesNotWant) {
  const auto config = parse_gigaam_config(kConfig, "test");
  ASSERT_TRUE(config);
  const auto weights = seeded_gigaam_weights(*config, 1);
  ASSERT_TRUE(weights);
  std::vector<WeightTensor> tensors = weights->tensors();
  ASSERT_TRUE(write_safetensors_file(path("good.safetensors"), tensors, {{"config", kConfig}}));
  EXPECT_EQ(run("weights '" + path("good.safetensors") + "'").exit_code, 0) << read(path("error"));
  std::string out = read(path("out"));
  EXPECT_NE(out.find("encoder.pre_encode.conv.0.weight f32 [64, 64, 5] 81920 bytes\n"), std::string::npos) << out;
  EXPECT_NE(out.find(std::to_string(tensors.size()) + " tensors, "), std::string::npos);
  EXPECT_NE(out.find("Missing: 0\nWrong: 0\nSurplus: 0\nThe weights fit the configuration\n"), std::string::npos)
      << out;

  std::vector<WeightTensor> more = tensors;
  for (const char* name : {"encoder.layers.1.a", "head.b"}) {
    more.push_back(tensors.front());
    more.back().name = name;
  }
  ASSERT_TRUE(write_safetensors_file(path("more.safetensors"), more, {{"config", kConfig}}));
  EXPECT_EQ(run("weights '" + path("more.safetensors") + "'").exit_code, 0);
  out = read(path("out"));
  EXPECT_NE(
      out.find("Surplus: 2\n  encoder.layers.1.a\n  head.b\nThe weights have all that the configuration needs; it "
               "leaves 2 tensors unused"),
      std::string::npos)
      << out;

  std::erase_if(tensors, [](const WeightTensor& tensor) { return tensor.name == "encoder.layers.0.norm_out.bias"; });
  for (WeightTensor& tensor : tensors) {
    if (tensor.name == "encoder.layers.0.conv.batch_norm.weight") tensor.name = "model.encoder.layers.0.strange.weight";
    if (tensor.name == "head.decoder_layers.0.bias") tensor.shape = {5, 1};
  }
  std::filesystem::create_directory(path("bare"));  // Where no config.json lies beside the weights.
  ASSERT_TRUE(write_safetensors_file(path("bare/bad.safetensors"), tensors));
  EXPECT_EQ(run("weights '" + path("bare/bad.safetensors") + "'").exit_code, 0);
  EXPECT_NE(read(path("out")).find("No configuration"), std::string::npos);
  EXPECT_EQ(run("weights '" + path("bare/bad.safetensors") + "' --config '" + path("config.json") + "'").exit_code, 0);
  out = read(path("out"));
  EXPECT_NE(out.find("Missing: 2\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\"encoder.layers.0.norm_out.bias\" f32 [64]"), std::string::npos);
  EXPECT_NE(out.find("Wrong: 1\n  \"head.decoder_layers.0.bias\" is f32 [5, 1]"), std::string::npos);
  EXPECT_NE(out.find("Surplus: 1\n  model.encoder.layers.0.strange.weight\n"), std::string::npos);
  EXPECT_NE(out.find("The weights do not fit"), std::string::npos);
}

TEST_F(ToolWeights, RunSaysWhatItDoesNotRead) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  auto file = read_weight_file(golden);
  ASSERT_TRUE(file);
  std::vector<WeightTensor> tensors = file->tensors();
  const WeightTensor bias = **file->get("head.decoder_layers.0.bias");
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    tensors.push_back(bias);
    tensors.back().name = std::string("encoder.layers.7.") + name;
  }
  ASSERT_TRUE(write_safetensors_file(path("deep.safetensors"), tensors, file->metadata()));
  const auto notes = [&](const std::string& weights, const std::string& inputs) {
    const testing::Outcome done = run("run gigaam-encoder --weights '" + weights + "' --inputs '" + inputs +
                                      "' --outputs '" + path("out.safetensors") + "'");
    EXPECT_EQ(done.exit_code, 0) << done.error;
    return done.error;
  };
  const std::string surplus = notes(path("deep.safetensors"), golden);
  EXPECT_NE(surplus.find("deep.safetensors has 5 tensors that the configuration in "), std::string::npos) << surplus;
  EXPECT_NE(surplus.find("does not use: encoder.layers.7.a, encoder.layers.7.b, encoder.layers.7.c, encoder.layers.7.d "
                         "and 1 more\n"),
            std::string::npos)
      << surplus;
  EXPECT_EQ(notes(golden, golden).find("does not use"), std::string::npos);

  std::vector<WeightTensor> inputs = {**file->get("input.mel"), **file->get("input.mel_lengths")};
  ASSERT_TRUE(write_safetensors_file(path("mel.safetensors"), inputs));
  EXPECT_EQ(notes(golden, path("mel.safetensors")), "");
  const std::vector<int16_t> silence(1600);
  inputs.push_back({});
  inputs.back().name = "pcm";
  inputs.back().dtype = DType::kI16;
  inputs.back().shape = {1600};
  inputs.back().bytes = std::as_bytes(std::span(silence));
  ASSERT_TRUE(write_safetensors_file(path("both.safetensors"), inputs));
  EXPECT_NE(notes(golden, path("both.safetensors"))
                .find("both.safetensors has \"input.mel\" and \"pcm\": \"input.mel\" is used, \"pcm\" is not read\n"),
            std::string::npos)
      << read(path("error"));
}

TEST_F(ToolWeights, DevicesAreNoFiles) {
  for (const std::string command :
       {"weights /dev/zero", "convert /dev/zero out.safetensors",
        "run silero-v6-16k --weights /dev/zero --inputs x --outputs y",
        "run silero-v6-16k --inputs /dev/zero --outputs y", "bench silero-v6-16k --weights /dev/zero"})
    expect_refused(command,
                   command.find("inputs x") == std::string::npos ? "/dev/zero: it is a device; name a file" : "x");
  // A pipe ends.
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  EXPECT_EQ(run("weights /dev/stdin", "cat '" + golden + "' |").exit_code, 0) << read(path("error"));
}

TEST_F(ToolWeights, BenchNamesWhatSoFewStepsSay) {
  const auto text_of = [&](const std::string& steps) {
    EXPECT_EQ(run("bench gigaam-ctc --vars b=1,t=9 --threads 1 --isa sse --steps " + steps + " --config '" +
                  path("config.json") + "'")
                  .exit_code,
              0)
        << read(path("error"));
    return read(path("out"));
  };
  EXPECT_NE(text_of("20").find(" us, slowest "), std::string::npos) << read(path("out"));
  EXPECT_NE(text_of("100").find(" us, 99 of 100 within "), std::string::npos) << read(path("out"));
}

TEST_F(ToolWeights, BenchPrintsOneJsonObject) {
  const std::string config = " --config '" + path("config.json") + "'";
  for (const char* dtype : {"f32", "f16", "bf16", "int8"}) {
    ASSERT_EQ(run("bench gigaam-ctc --json --steps 3 --vars b=2,t=31 --threads 1 --isa sse --weights-dtype " +
                  std::string(dtype) + config)
                  .exit_code,
              0)
        << read(path("error"));
    const json result = json::parse(read(path("out")));
    EXPECT_EQ(result["model"], "gigaam-ctc");
    EXPECT_EQ(result["weights"], "seeded random");
    EXPECT_EQ(result["weights_dtype"], dtype);
    EXPECT_EQ(result["vars"]["b"], 2);
    EXPECT_EQ(result["vars"]["t"], 31);
    EXPECT_EQ(result["threads"], 1);
    for (const char* key : {"median", "min", "p99"}) EXPECT_GT(result["step_us"][key].get<double>(), 0) << key;
    EXPECT_GT(result["prepare_ms"]["cold"].get<double>(), result["prepare_ms"]["warm"].get<double>());
    EXPECT_GT(result["flops"].get<int64_t>(), 1000000);
    EXPECT_GT(result["bytes"].get<int64_t>(), 100000);
    EXPECT_GT(result["peak_memory_bytes"]["warm"].get<int64_t>(), result["arena_bytes"].get<int64_t>());
  }
  expect_refused("bench gigaam-ctc --vars b=1,u=3" + config,
                 "--vars names \"u\", but gigaam-ctc has the variables b, t");
  expect_refused("bench gigaam-ctc --vars b=one" + config, "--vars has \"b=one\"");
  expect_refused("bench gigaam-ctc --vars b=1,b=2" + config, "names \"b\" twice");
  expect_refused("bench gigaam-ctc --vars t=0" + config, "t is 0; it must be from 1 to ");
  expect_refused("bench gigaam-mel --vars n=1" + config, "n is 1; it must be from 201 to 9600000 samples");
  expect_refused("bench silero-v6-16k --vars b=1", "has no variables");
  expect_refused("bench gigaam-ctc --weights-dtype i4" + config, "can be kept as f32, f16, bf16, i8");
  expect_refused("bench silero-v6-16k --weights-dtype i8", "can be kept as f32, f16, bf16");
  const std::string small = "bench gigaam-ctc --json --steps 1 --vars b=1,t=99 --threads 1 --isa sse --activations ";
  for (const std::string activations : {"f32", "bf16"}) {
    ASSERT_EQ(run(small + activations + config).exit_code, 0) << read(path("error"));
    EXPECT_EQ(json::parse(read(path("out")))["activations"], activations);
  }
}

// Without dot products the copies that are read as f32 take more than bf16 saves.
TEST_F(ToolWeights, DotProductsReadActivationsInHalfTheMemory) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  const auto intermediate_bytes = [&](const std::string& options) {
    const std::string show = "show gigaam-ctc --stage schedule --isa avx512 --weights-dtype bf16 --weights '";
    EXPECT_EQ(run(show + golden + "' " + options).exit_code, 0) << read(path("error"));
    const std::string text = read(path("out"));
    const std::regex slot(" intermediate [a-z0-9]+ ([0-9]+) bytes");
    int64_t bytes = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), slot), end; it != end; ++it) bytes += std::stoll((*it)[1]);
    return bytes;
  };
  const int64_t wide = intermediate_bytes("");
  EXPECT_GT(wide, 0);
  EXPECT_LT(intermediate_bytes("--activations bf16 --bf16-dot"), wide);
}

TEST_F(ToolWeights, BFloat16DotsAreAskedFor) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  const std::string show = "show gigaam-ctc --stage schedule --weights-dtype bf16 --weights '" + golden + "' --target ";
  const auto has_dots = [&](const std::string& options) {
    EXPECT_EQ(run(show + options).exit_code, 0) << read(path("error"));
    return read(path("out")).find("_dot_") != std::string::npos;
  };
  EXPECT_FALSE(has_dots("interpreter"));
  EXPECT_TRUE(has_dots("interpreter --bf16-dot"));
  EXPECT_TRUE(has_dots("interpreter --bf16-dot=true"));
  EXPECT_FALSE(has_dots("native --isa sse --bf16-dot"));
  expect_refused(show + "interpreter --bf16-dot=maybe",
                 "--bf16-dot is \"maybe\": use --bf16-dot, --bf16-dot=true or --bf16-dot=false");
  // What says what was used looks at what was made.
  const auto profiled = [&](const std::string& weights) {
    const testing::Outcome done =
        run("profile gigaam-ctc --steps 1 --vars b=1,t=20 --target interpreter --bf16-dot --weights '" + golden +
            "' --weights-dtype " + weights);
    EXPECT_EQ(done.exit_code, 0) << done.error;
    return std::pair(read(path("out")).find("bf16 dot products") != std::string::npos,
                     read(path("error")).find("has no effect") != std::string::npos);
  };
  EXPECT_EQ(profiled("bf16"), std::pair(true, false));
  EXPECT_EQ(profiled("f16"), std::pair(false, true));
  const std::string both = show + "interpreter --bf16-dot --numerics reproducible";
  for (const char* part :
       {"exclude each other", "--bf16-dot, TANDEM_BF16_DOT", "--numerics, TANDEM_NUMERICS", "leave one"})
    expect_refused(both, part);
  // An option wins over a variable, over that of its opponent as well.
  ASSERT_EQ(::setenv("TANDEM_BF16_DOT", "1", 1), 0);
  EXPECT_TRUE(has_dots("interpreter"));
  EXPECT_FALSE(has_dots("interpreter --bf16-dot=false"));
  EXPECT_FALSE(has_dots("interpreter --numerics reproducible"));
  ASSERT_EQ(::unsetenv("TANDEM_BF16_DOT"), 0);
  ASSERT_EQ(::setenv("TANDEM_NUMERICS", "reproducible", 1), 0);
  EXPECT_TRUE(has_dots("interpreter --bf16-dot"));
  ASSERT_EQ(::unsetenv("TANDEM_NUMERICS"), 0);
}

TEST_F(ToolWeights, RunKeepsThemAsItIsTold) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  const auto encoded = [&](const std::string& dtype, const std::string& activations = "f32") {
    EXPECT_EQ(run("run gigaam-encoder --inputs '" + golden + "' --outputs '" + path("out.safetensors") +
                  "' --weights-dtype " + dtype + " --activations " + activations)
                  .exit_code,
              0)
        << read(path("error"));
    return *(*read_weight_file(path("out.safetensors"))->get("encoded"))->values<float>();
  };
  const std::vector<float> exact = encoded("f32"), half = encoded("f16");
  ASSERT_EQ(exact.size(), half.size());
  EXPECT_NE(exact, half);
  for (size_t i = 0; i < exact.size(); i++) ASSERT_NEAR(exact[i], half[i], 0.02);
  const std::vector<float> rounded = encoded("f32", "bf16");
  EXPECT_NE(exact, rounded);
  for (size_t i = 0; i < exact.size(); i++) ASSERT_NEAR(exact[i], rounded[i], 0.05);
}

TEST_F(ToolWeights, ActivationsAreBfloat16WhereThatIsAChoice) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  const auto halves = [&](const std::string& options) {
    EXPECT_EQ(run("show gigaam-ctc --stage schedule --weights '" + golden + "'" + options).exit_code, 0)
        << read(path("error"));
    return read(path("out")).find("intermediate bf16") != std::string::npos;
  };
  EXPECT_FALSE(halves(""));
  EXPECT_FALSE(halves(" --activations f32"));
  EXPECT_TRUE(halves(" --activations bf16"));
  for (const std::string command : {"show gigaam-ctc --stage graph", "bench gigaam-ctc", "profile gigaam-ctc"})
    expect_refused(command + " --activations f16", "--activations is \"f16\": use f32 or bf16");
  expect_refused("run gigaam-ctc --inputs '" + golden + "' --outputs o --activations int8", "use f32 or bf16");
  expect_refused("transcribe x.wav --weights y --activations f64", "use f32 or bf16");
  for (const std::string model : {"silero-v6-16k", "gigaam-mel"})
    expect_refused("profile " + model + " --activations bf16", model + " has no such choice: it computes in f32");
}

TEST_F(ToolWeights, WhatAsksForTheDefaultIsTakenAndWhatHasNoEffectIsSaid) {
  const std::string golden = testing::golden_path("gigaam/e2e_tiny.safetensors");
  write_samples("samples.safetensors", std::vector<float>(600, 0.1f), "input.samples");
  const auto note_of = [&](const std::string& arguments) {
    const testing::Outcome done = run("run " + arguments + " --outputs '" + path("out.safetensors") + "'");
    EXPECT_EQ(done.exit_code, 0) << done.error;
    return done.error;
  };
  const std::string vad = "silero-v6-16k --inputs '" + path("samples.safetensors") + "'";
  const std::string model = " --inputs '" + golden + "'";
  EXPECT_EQ(note_of(vad + " --activations f32 --weights-dtype f32"), "");
  EXPECT_EQ(note_of("gigaam-mel --activations f32" + model), "");
  EXPECT_EQ(note_of("gigaam-mel --weights-dtype f16" + model),
            "tandem: note: --weights-dtype has no effect: gigaam-mel has no weights\n");
  expect_refused("run gigaam-mel --weights-dtype i4 --outputs x" + model, "--weights-dtype is \"i4\": use f32, f16");
  const std::string dots = " --target interpreter --bf16-dot";
  const std::string none = "note: --bf16-dot (TANDEM_BF16_DOT) has no effect: no long sum of products meets bf16";
  for (const std::string kind : {"encoder", "ctc", "e2e", "mel"})
    EXPECT_NE(note_of("gigaam-" + kind + model + dots).find(none), std::string::npos) << kind;
  EXPECT_NE(note_of(vad + dots).find(none), std::string::npos);
  for (const std::string kind : {"encoder", "ctc", "e2e"})
    EXPECT_EQ(note_of("gigaam-" + kind + model + dots + " --weights-dtype bf16"), "") << kind;
}

TEST_F(ToolWeights, AConfigurationBesideThemIsFoundByEveryCommand) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  const auto file = read_weight_file(golden);
  ASSERT_TRUE(file);
  std::filesystem::create_directory(path("model"));
  ASSERT_TRUE(write_safetensors_file(path("model/model.safetensors"), file->tensors()));
  write("model/config.json", json::parse(file->metadata().at("config")).dump());
  const std::string run_model = "run gigaam-ctc --outputs '" + path("out.safetensors") + "' --inputs '";
  ASSERT_EQ(run(run_model + golden + "'").exit_code, 0) << read(path("error"));
  const std::string expected = read(path("out.safetensors"));
  for (const std::string name : {"model", "model/", "model/model.safetensors"}) {
    const std::string weights = " --weights '" + path(name) + "'";
    // The inputs have no configuration of their own: it can only come from the folder.
    EXPECT_EQ(run(run_model + path("model/model.safetensors") + "'" + weights).exit_code, 0) << read(path("error"));
    EXPECT_EQ(read(path("out.safetensors")), expected);
    for (const std::string command : {"bench --steps 1 --vars t=20", "profile --steps 1", "show --stage graph"})
      EXPECT_EQ(run(command + " gigaam-ctc" + weights).exit_code, 0) << command << read(path("error"));
  }
  std::filesystem::remove(path("model/config.json"));
  expect_refused("show gigaam-ctc --stage graph --weights '" + path("model") + "'",
                 "the configuration is missing: there is no " + path("model/config.json"));
  write("empty.json", "{}");
  expect_refused(
      "show gigaam-ctc --stage graph --weights '" + path("model") + "' --config '" + path("empty.json") + "'",
      "--config has neither \"encoder\" nor \"preprocessor\"");
}

TEST_F(ToolWeights, ResultsThatAreNotFiniteAreNotWritten) {
  const auto file = read_weight_file(testing::golden_path("gigaam/e2e_tiny.safetensors"));
  ASSERT_TRUE(file);
  const std::string name = "head.decoder_layers.0.bias";
  std::vector<float> bias = *(*file->get(name))->values<float>();
  bias[3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<WeightTensor> tensors = file->tensors();
  for (WeightTensor& tensor : tensors)
    if (tensor.name == name) tensor.bytes = std::as_bytes(std::span<const float>(bias));
  ASSERT_TRUE(write_safetensors_file(path("damaged.safetensors"), tensors, file->metadata()));
  for (const std::string model : {"gigaam-ctc", "gigaam-e2e"}) {
    expect_refused(
        "run " + model + " --inputs " + path("damaged.safetensors") + " --outputs " + path("out.safetensors"),
        "the weight \"" + name + "\" holds nan at element 3");
    EXPECT_FALSE(std::filesystem::exists(path("out.safetensors")));
  }
}

TEST_F(ToolWeights, OnlyMisspeltInputsAreNotedBesideWeights) {
  const std::string golden = testing::golden_path("gigaam/ctc_tiny.safetensors");
  const auto file = read_weight_file(golden);
  ASSERT_TRUE(file);
  std::vector<WeightTensor> misspelt = file->tensors(), bare = misspelt;
  for (WeightTensor& tensor : misspelt)
    if (tensor.name == "input.mel_lengths") tensor.name = "input.mel_length";
  std::erase_if(bare, [](const WeightTensor& tensor) { return !tensor.name.starts_with("input."); });
  for (WeightTensor& tensor : bare) tensor.name = tensor.name.substr(6);
  bare.back().name = "surplus";
  ASSERT_TRUE(write_safetensors_file(path("misspelt.safetensors"), misspelt, file->metadata()));
  ASSERT_TRUE(write_safetensors_file(path("bare.safetensors"), bare));
  const auto notes = [&](const std::string& inputs, const std::string& weights) {
    const testing::Outcome done =
        run("run gigaam-ctc --inputs '" + inputs + "' --outputs '" + path("out.safetensors") + "'" + weights);
    EXPECT_EQ(done.exit_code, 0) << done.error;
    return done.error;
  };
  const std::string with_golden = " --weights '" + golden + "'";
  EXPECT_EQ(notes(golden, with_golden), "");
  EXPECT_EQ(notes(golden, ""), "");
  const std::string found = "does not use these tensors of " + path("misspelt.safetensors") + ": input.mel_length\n";
  for (const std::string& weights : {std::string(), with_golden})
    EXPECT_NE(notes(path("misspelt.safetensors"), weights).find(found), std::string::npos);
  EXPECT_NE(notes(path("bare.safetensors"), with_golden).find(": surplus\n"), std::string::npos);
}

}  // namespace
}  // namespace tandem
