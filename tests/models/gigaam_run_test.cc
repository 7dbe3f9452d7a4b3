// Every golden file through the models of the tool, on every target: names, shapes, element types and values.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "native/built_in_models.h"
#include "tests/support/gigaam_target.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

using testing::GigaAmGolden;
using testing::row_difference;
using testing::value_or_throw;

struct Case {
  const char* model;
  const char* file;
  std::vector<std::string> outputs;
};

const std::vector<std::string> kCtcOutputs = {"encoded", "encoded_lengths", "log_probs",
                                              "tokens",  "frames",          "token_counts"};

std::vector<Case> cases() {
  std::vector<std::string> rnnt = kCtcOutputs, speech = kCtcOutputs;
  rnnt.erase(rnnt.begin() + 2);
  speech.emplace_back("log_mel");
  return {{"gigaam-mel", "mel_v3_goforward", {"log_mel"}},
          {"gigaam-mel", "mel_v2_cards001", {"log_mel"}},
          {"gigaam-mel", "e2e_tiny", {"log_mel"}},
          {"gigaam-encoder", "ctc_tiny", {"encoded", "encoded_lengths"}},
          {"gigaam-encoder", "rnnt_tiny", {"encoded", "encoded_lengths"}},
          {"gigaam-ctc", "ctc_tiny", kCtcOutputs},
          {"gigaam-ctc", "ctc_tiny_v2", kCtcOutputs},
          {"gigaam-ctc", "e2e_tiny", kCtcOutputs},
          {"gigaam-rnnt", "rnnt_tiny", rnnt},
          {"gigaam-e2e", "e2e_tiny", speech}};
}

double tolerance_of(const std::string& output) {
  if (output == "log_mel") return 1e-5;
  return output == "encoded" ? 2e-5 : 5e-5;
}

void compare(const GigaAmGolden& golden, const WeightFile& results, const std::string& name) {
  SCOPED_TRACE(name);
  const WeightTensor* found = results.find(name);
  ASSERT_NE(found, nullptr);
  const WeightTensor& expected = **golden.file.get("expected." + name);
  EXPECT_EQ(found->type_text(), expected.type_text());
  if (found->dtype == DType::kI32) {
    EXPECT_EQ(*found->values<int32_t>(), *expected.values<int32_t>());
    return;
  }
  std::vector<int32_t> lengths = {static_cast<int32_t>(expected.shape[0])};
  int64_t frames = expected.shape[0];
  if (expected.shape.size() == 3) {
    lengths = golden.values<int32_t>("expected.encoded_lengths");
    frames = expected.shape[1];
  }
  EXPECT_LE(row_difference(*found->values<float>(), *expected.values<float>(), lengths, frames), tolerance_of(name));
}

TEST(GigaAmRun, EveryGoldenFileRunsOnEveryTarget) {
  const nlohmann::json no_options;
  for (const Case& test : cases()) {
    const GigaAmGolden golden(test.file);
    const BuiltInModel& model = *value_or_throw(find_model(test.model));
    for (const test::Target& target : test::all_targets()) {
      SCOPED_TRACE(std::string(test.model) + " on " + test.file + ", " + target.name);
      const WeightFile results =
          value_or_throw(model.run({"", no_options, testing::config_for(target)}, golden.file)).tensors;
      EXPECT_EQ(results.tensors().size(), test.outputs.size());
      for (const std::string& name : test.outputs) compare(golden, results, name);
    }
  }
}

TEST(GigaAmRun, ClipsWithoutAFrameHaveAnEmptyTranscript) {
  const GigaAmGolden golden("e2e_tiny");
  const std::vector<int16_t> samples(319, 100);
  WeightTensor tensor;
  tensor.name = "pcm";
  tensor.dtype = DType::kI16;
  tensor.shape = {319};
  tensor.bytes = std::as_bytes(std::span<const int16_t>(samples));
  WeightFile inputs("short clip");
  for (const WeightTensor& weight : golden.file.tensors())
    if (weight.name != "input.pcm") ASSERT_TRUE(inputs.add(weight));
  ASSERT_TRUE(inputs.add(tensor));
  inputs.metadata() = golden.file.metadata();
  const nlohmann::json no_options;
  const PrepareConfig config = testing::config_for(test::all_targets().front());
  const WeightFile results =
      value_or_throw(value_or_throw(find_model("gigaam-e2e"))->run({"", no_options, config}, inputs)).tensors;
  EXPECT_EQ(results.find("tokens")->type_text(), "i32 [1, 0]");
  EXPECT_EQ(results.find("log_mel")->type_text(), "f32 [64, 0]");
  EXPECT_EQ(*results.find("encoded_lengths")->values<int32_t>(), std::vector<int32_t>{0});
}

TEST(GigaAmRun, WrongRequestsNameWhatIsWrong) {
  const GigaAmGolden golden("ctc_tiny");
  const PrepareConfig config = testing::config_for(test::all_targets().front());
  const auto expect = [&](const char* model, const nlohmann::json& options, ErrorCode code, const std::string& part) {
    const auto result = value_or_throw(find_model(model))->run({"", options, config}, golden.file);
    ASSERT_FALSE(result) << model;
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  };
  nlohmann::json options = nlohmann::json::parse(golden.file.metadata().at("config"));
  expect("gigaam-e2e", {}, ErrorCode::kNotFound, "input.pcm");
  expect("gigaam-rnnt", {}, ErrorCode::kInvalidArgument, "gigaam-rnnt needs \"rnnt\"");
  options["encoder"]["self_attention_model"] = "rel_pos";
  expect("gigaam-ctc", options, ErrorCode::kUnsupported, "\"encoder.self_attention_model\" is \"rel_pos\"");
  options["encoder"]["self_attention_model"] = "rotary";
  options["encoder"]["n_layers"] = 3;
  expect("gigaam-ctc", options, ErrorCode::kNotFound, "encoder.layers.2.norm_feed_forward1.weight");
  options["encoder"]["n_layers"] = 2;
  options["head"]["num_classes"] = 35;
  expect("gigaam-ctc", options, ErrorCode::kInvalidFormat, "f32 [35, 64, 1]");
  expect("gigaam-encoder", nlohmann::json::object(), ErrorCode::kInvalidFormat, "not the configuration");
  expect("gigaam-encoder", {{"something", 1}}, ErrorCode::kInvalidFormat, "not the configuration of a GigaAM model");
}

}  // namespace
}  // namespace tandem
