#include <gtest/gtest.h>

#include <cmath>

#include "core/models/mel.h"
#include "tests/support/gigaam_golden.h"

namespace tandem {
namespace {

using testing::elements_of;
using testing::GigaAmGolden;

double largest_difference(const std::vector<float>& values, const std::vector<float>& expected) {
  if (values.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(values[i]) - expected[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

class GigaAmMel : public ::testing::TestWithParam<const char*> {};

TEST_P(GigaAmMel, TablesAndSpectrumAreThoseOfTheReference) {
  const GigaAmGolden golden(GetParam());
  const MelFrontEnd mel(golden.config.mel);
  EXPECT_EQ(golden.config.mel.frames(golden.shape("input.pcm")[0]), golden.shape("expected.log_mel")[1]);
  const testing::GigaAmCase test = {
      {"input.pcm"}, {"log_mel", "window", "filterbank"}, [&](const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{mel.forward(inputs[0]), hann_window(golden.config.mel.n_fft).cast(DType::kF32),
                                   mel_filterbank(golden.config.mel).cast(DType::kF32)};
      }};
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    auto outputs = testing::run_gigaam(golden, test, target);
    // The reference is f64 rounded to f32, and so are these.
    const double error =
        largest_difference(elements_of<float>(outputs["log_mel"]), golden.values<float>("expected.log_mel"));
    EXPECT_LE(error, 1e-5);
    RecordProperty(target.name, std::to_string(error));
    EXPECT_LE(largest_difference(elements_of<float>(outputs["window"]), golden.values<float>("expected.window")), 6e-8);
    EXPECT_LE(
        largest_difference(elements_of<float>(outputs["filterbank"]), golden.values<float>("expected.filterbank")),
        1.2e-7);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GigaAmMel, ::testing::Values("mel_v3_goforward", "mel_v2_cards001"));

TEST(GigaAmMelErrors, RefuseClipsThatAreTooShortForAFrame) {
  MelConfig config;
  config.n_fft = 320;
  config.center = false;
  EXPECT_EQ(config.frames(319), 0);
  EXPECT_EQ(config.frames(320), 1);
  EXPECT_EQ(config.frames(479), 1);
  EXPECT_EQ(config.frames(480), 2);
  const auto graph = std::make_shared<Graph>();
  const Tensor samples = Tensor::input(graph, 0, "pcm", DType::kF32, {319});
  try {
    MelFrontEnd(config).forward(samples);
    FAIL() << "no error";
  } catch (const TensorError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTooShort);
    EXPECT_NE(std::string(error.what()).find("at least 320 samples"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tandem
