#include <gtest/gtest.h>

#include "core/models/gigaam_config.h"
#include "core/models/gigaam_weights.h"
#include "tests/support/gigaam_generator.h"

namespace tandem {
namespace {

const std::string kSmall =
    R"({"encoder":{"n_layers":1,"d_model":8,"n_heads":2,"subsampling":"conv1d","conv_norm_type":"layer_norm"},)"
    R"("head":{"type":"ctc","num_classes":5}})";

GigaAmConfig config_of(const std::string& json) {
  auto config = parse_gigaam_config(json, "test.json");
  if (!config) throw std::runtime_error(config.error().text());
  return *config;
}

int64_t parameters(const GigaAmConfig& config) {
  int64_t total = 0;
  for (const WeightNeed& need : gigaam_weight_needs(config)) {
    int64_t count = 1;
    for (const int64_t extent : need.shape) count *= extent;
    total += count;
  }
  return total;
}

TEST(GigaAmConfigs, HaveTheParametersOfThePublishedModels) {
  const std::string v3 =
      R"("preprocessor":{"n_fft":320,"win_length":320,"center":false},"encoder":{"subsampling":"conv1d",)"
      R"("subs_kernel_size":5,"conv_kernel_size":5,"conv_norm_type":"layer_norm","flash_attn":false})";
  EXPECT_EQ(parameters(config_of(R"({"encoder":{},"head":{"type":"ctc"}})")), 232610338);
  EXPECT_EQ(parameters(config_of(R"({"encoder":{},"head":{"type":"rnnt"}})")), 233776546);
  EXPECT_EQ(parameters(config_of("{" + v3 + R"(,"head":{"type":"ctc"}})")), 220707874);
  EXPECT_EQ(parameters(config_of("{" + v3 + R"(,"head":{"type":"ctc","num_classes":257}})")), 220879361);
  EXPECT_EQ(
      parameters(config_of(R"({"model":{"cfg":{)" + v3 +
                           R"(,"head":{"_target_":"x","decoder":{"num_classes":1025},"joint":{"joint_hidden":320,)"
                           R"("enc_hidden":768,"pred_hidden":320,"num_classes":1025}}}}})")),
      222509313);
}

TEST(GigaAmConfigs, RefuseWhatTheyDoNotKnowByName) {
  struct Wrong {
    const char* json;
    ErrorCode code;
    const char* part;
  };
  const Wrong all[] = {
      {"nonsense", ErrorCode::kInvalidFormat, "not valid JSON"},
      {"[1]", ErrorCode::kInvalidFormat, "not a JSON object"},
      {"{}", ErrorCode::kInvalidFormat, "neither"},
      {R"({"encoder":3})", ErrorCode::kInvalidFormat, "\"encoder\" is not a JSON object"},
      {R"({"encoder":{"n_layers":"16"}})", ErrorCode::kInvalidFormat, "\"encoder.n_layers\" is \"16\""},
      {R"({"encoder":{"n_layers":0}})", ErrorCode::kInvalidArgument, "\"encoder.n_layers\" is 0"},
      {R"({"encoder":{"n_layers":18446744073709551615}})", ErrorCode::kInvalidArgument, "18446744073709551615"},
      {R"({"encoder":{"d_model":100}})", ErrorCode::kInvalidArgument, "n_heads"},
      {R"({"encoder":{"conv_kernel_size":4}})", ErrorCode::kInvalidArgument, "must be odd"},
      {R"({"encoder":{"subsampling_factor":3}})", ErrorCode::kInvalidArgument, "power of two"},
      {R"({"encoder":{"subsampling":"vggnet"}})", ErrorCode::kUnsupported, "conv1d and conv2d"},
      {R"({"encoder":{"conv_norm_type":"group_norm"}})", ErrorCode::kUnsupported, "\"group_norm\""},
      {R"({"encoder":{"self_attention_model":"rel_pos"}})", ErrorCode::kUnsupported, "\"rel_pos\""},
      {R"({"encoder":{"n_heds":16}})", ErrorCode::kUnsupported, "\"encoder.n_heds\""},
      {R"({"encoder":{},"preprocesor":{"n_fft":320}})", ErrorCode::kUnsupported, "it takes \"preprocessor\""},
      {R"({"encoder":{},"haed":{"type":"ctc"}})", ErrorCode::kUnsupported, "\"haed\" is {\"type\":\"ctc\"}"},
      {R"({"encoders":{}})", ErrorCode::kUnsupported, "it takes \"encoder\""},
      {R"({"encoder":{},"lebels":["a"]})", ErrorCode::kUnsupported, "it takes \"labels\""},
      {R"({"encoder":{},"head":{"type":"aed"}})", ErrorCode::kUnsupported, "\"aed\""},
      {R"({"preprocessor":{"n_fft":512,"win_length":400}})", ErrorCode::kUnsupported, "win_length"},
      {R"({"preprocessor":{"features":80},"encoder":{}})", ErrorCode::kInvalidArgument, "feat_in"},
  };
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  const auto nested = parse_gigaam_config(R"({"encoder":{"d_model":)" + deep + "}}", "test.json");
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().message, "test.json cannot be read as JSON: it is nested deeper than 64 levels");
  // A long value is cut between characters.
  const std::string letters = "\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438";
  std::string many;
  for (int i = 0; i < 100; i++) many += letters;
  const auto cut = parse_gigaam_config(R"({"encoder":{},"labels":[["a)" + many + R"("]]})", "test.json");
  EXPECT_NE(cut.error().message.find("[\"a" + letters + letters + letters + letters.substr(0, 8) + "...; a text"),
            std::string::npos)
      << cut.error().message;
  for (const Wrong& wrong : all) {
    const auto config = parse_gigaam_config(wrong.json, "test.json");
    ASSERT_FALSE(config) << wrong.json;
    EXPECT_EQ(config.error().code, wrong.code) << wrong.json << ": " << config.error().message;
    EXPECT_NE(config.error().message.find(wrong.part), std::string::npos) << config.error().message;
    EXPECT_NE(config.error().message.find("test.json"), std::string::npos) << config.error().message;
  }
}

TEST(GigaAmConfig, NullIsAsGoodAsNothingAndStrangersBesideTheObjectsAreIgnored) {
  const GigaAmConfig usual = config_of(R"({"encoder": {}, "labels": ["a", "b"]})");
  const GigaAmConfig nulls = config_of(R"({"encoder": {"n_layers": null}, "preprocessor": null, "head": null,
      "sample_rate": null, "labels": ["a", "b"], "decoding": {"vocabulary": null},
      "optimizer": {"lr": 1}, "name": null, "decoder": {}, "heads": null, "encoders": 1})");
  EXPECT_EQ(nulls.mel.n_fft, usual.mel.n_fft);
  EXPECT_EQ(nulls.encoder->n_layers, usual.encoder->n_layers);
  EXPECT_FALSE(nulls.head);
  EXPECT_EQ(nulls.vocabulary, usual.vocabulary);
  EXPECT_TRUE(config_of(R"({"encoder": {}, "labels": null, "decoding": null})").vocabulary.empty());
  EXPECT_EQ(config_of(R"({"encoder": null, "cfg": {"encoder": {"n_layers": 3}}})").encoder->n_layers, 3);
  for (const char* nothing : {R"({"encoder": null})", R"({"encoder": null, "preprocessor": null, "model": null})"}) {
    const auto config = parse_gigaam_config(nothing, "test.json");
    ASSERT_FALSE(config) << nothing;
    EXPECT_NE(config.error().message.find("test.json has neither \"encoder\" nor"), std::string::npos);
  }
}

TEST(GigaAmWeightNames, MayHaveTheWrapperPrefixAndStrangersBesideThem) {
  const GigaAmConfig config = config_of(kSmall);
  const WeightFile plain = testing::generate_gigaam_weights(config, 3);
  WeightFile file("wrapped");
  for (WeightTensor tensor : plain.tensors()) {
    tensor.name = "model." + tensor.name;
    ASSERT_TRUE(file.add(tensor));
  }
  WeightTensor extra = plain.tensors().front();
  for (const char* name : {"model.preprocessor.window", "model.encoder.layers.9.norm_out.weight"}) {
    extra.name = name;
    ASSERT_TRUE(file.add(extra));
  }
  EXPECT_TRUE(GigaAmWeights::find(file, config));
  const GigaAmWeightCheck check = check_gigaam_weights(file, config);
  EXPECT_TRUE(check.fits());
  EXPECT_EQ(check.surplus, std::vector<std::string>{"model.encoder.layers.9.norm_out.weight"});
}

TEST(GigaAmWeightNames, MissingAndWrongOnesAreListed) {
  const GigaAmConfig config = config_of(kSmall);
  const WeightFile plain = testing::generate_gigaam_weights(config, 3);
  WeightFile missing("missing"), wrong("wrong");
  for (const WeightTensor& tensor : plain.tensors()) {
    if (tensor.name != "head.decoder_layers.0.bias") {
      ASSERT_TRUE(missing.add(tensor));
    }
    WeightTensor changed = tensor;
    if (tensor.name == "encoder.layers.0.self_attn.linear_q.weight") changed.shape = {64};
    ASSERT_TRUE(wrong.add(changed));
  }
  const auto first = GigaAmWeights::find(missing, config);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kNotFound);
  EXPECT_NE(first.error().message.find("\"head.decoder_layers.0.bias\" f32 [5]"), std::string::npos);
  const auto second = GigaAmWeights::find(wrong, config);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInvalidFormat);
  EXPECT_NE(second.error().message.find("is f32 [64]; the configuration asks for f32 [8, 8]"), std::string::npos)
      << second.error().message;
}

}  // namespace
}  // namespace tandem
