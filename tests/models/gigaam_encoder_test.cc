#include <gtest/gtest.h>

#include "core/models/conformer.h"
#include "tests/support/gigaam_golden.h"

namespace tandem {
namespace {

using testing::elements_of;
using testing::GigaAmGolden;
using testing::row_difference;

class GigaAmEncoder : public ::testing::TestWithParam<const char*> {};

TEST_P(GigaAmEncoder, EveryStageIsThatOfTheReference) {
  const GigaAmGolden golden(GetParam());
  const std::vector<int64_t> mel_shape = golden.shape("input.mel");
  const Conformer encoder(*golden.config.encoder, golden.weights());
  testing::GigaAmCase test;
  test.inputs = {"input.mel", "input.mel_lengths"};
  test.outputs = {"encoded", "encoded_lengths", "pre_encode"};
  for (const char* stage : {"after_ff1", "after_attn", "after_conv", "after_ff2", "out"})
    test.outputs.push_back(std::string("layer0.") + stage);
  test.outputs.emplace_back("layer1.out");
  test.build = [&](const std::vector<Tensor>& inputs) {
    std::vector<Tensor> trace;
    const EncodedBatch batch = encoder.forward_batch(inputs[0], inputs[1], mel_shape[0], mel_shape[2], &trace);
    std::vector<Tensor> outputs = {batch.encoded, batch.lengths};
    outputs.insert(outputs.end(), trace.begin(), trace.end());
    return outputs;
  };
  const auto expected_lengths = golden.values<int32_t>("expected.encoded_lengths");
  const int64_t frames = golden.shape("expected.encoded")[1];
  EXPECT_EQ(golden.config.encoder->encoded_frames(mel_shape[2]), frames);
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    auto outputs = testing::run_gigaam(golden, test, target);
    EXPECT_EQ(elements_of<int32_t>(outputs["encoded_lengths"]), expected_lengths);
    for (const std::string& name : test.outputs) {
      if (name == "encoded_lengths" || golden.file.find("expected." + name) == nullptr) continue;
      const double error = row_difference(elements_of<float>(outputs[name]), golden.values<float>("expected." + name),
                                          expected_lengths, frames);
      EXPECT_LE(error, 2e-5) << name;
      if (name == "encoded") RecordProperty(target.name, std::to_string(error));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GigaAmEncoder, ::testing::Values("ctc_tiny", "ctc_tiny_v2", "rnnt_tiny"));

}  // namespace
}  // namespace tandem
