#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "tests/support/gigaam_generator.h"
#include "tests/support/gigaam_target.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

using testing::GigaAmGolden;
using testing::row_difference;
using testing::value_or_throw;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The generator against the probes that came with the expectations.
void expect_probes(const WeightFile& file) {
  const nlohmann::json probes = testing::golden_json("gigaam/real_v3_ctc_expected.json")["weight_probe"];
  ASSERT_GT(probes.size(), 4u);
  for (const auto& [name, probe] : probes.items()) {
    const auto values = value_or_throw(value_or_throw(file.get(name))->values<float>());
    for (size_t i = 0; i < probe["first"].size(); ++i) EXPECT_EQ(values[i], probe["first"][i].get<float>()) << name;
    EXPECT_EQ(values.back(), probe["last"].get<float>()) << name;
    double sum = 0;
    for (const float value : values) sum += value;
    EXPECT_NEAR(sum, probe["sum_f64"].get<double>(), 1e-6) << name;
  }
}

TEST(GigaAmRealSlow, SixteenLayersOfThePublishedSizesGiveTheReference) {
  const GigaAmGolden golden("real_v3_ctc_expected");
  const WeightFile weights = testing::generate_gigaam_weights(golden.config, 1);
  expect_probes(weights);
  const auto model = value_or_throw(GigaAmModel::make(weights, golden.config));
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const int64_t t = golden.shape("input.mel")[2];
  for (const test::Target& target : test::all_targets()) {
    if (target.name.find("native") == std::string::npos) continue;
    SCOPED_TRACE(target.name);
    const auto start = std::chrono::steady_clock::now();
    GigaAmRecognizer recognizer = value_or_throw(
        GigaAmRecognizer::create(model, {static_cast<int64_t>(lengths.size()), t, true}, testing::config_for(target)));
    const double prepare = seconds_since(start);
    const auto begin = std::chrono::steady_clock::now();
    const RecognizedBatch batch = value_or_throw(recognizer.recognize({mel, lengths, t}));
    const double run = seconds_since(begin);
    const Plan& plan = *recognizer.jit().session().plan();
    const size_t kernels = plan.program().kernels.size();
    const double encoded_error =
        row_difference(batch.encoded, golden.values<float>("expected.encoded"), batch.encoded_lengths, batch.frames);
    const double score_error =
        row_difference(batch.scores, golden.values<float>("expected.log_probs"), batch.encoded_lengths, batch.frames);
    std::printf(
        "%s: %zu kernels, prepare %.2f s (schedule %.2f, compile %.2f, constants %.2f), run %.3f s, encoded %.2g, "
        "log-probs %.2g, arena %.0f MB, temporary %.0f MB\n",
        target.name.c_str(), kernels, prepare, plan.statistics().schedule_ms / 1e3, plan.statistics().compile_ms / 1e3,
        plan.statistics().prepare_ms / 1e3, run, encoded_error, score_error,
        static_cast<double>(plan.statistics().arena_bytes) / 1e6,
        static_cast<double>(plan.statistics().temporary_bytes) / 1e6);
    EXPECT_LT(kernels, 40u);
    EXPECT_LE(encoded_error, 2e-5);
    EXPECT_LE(score_error, 5e-5);
    const auto expected = testing::expected_sequences(golden);
    for (size_t lane = 0; lane < expected.size(); ++lane) {
      EXPECT_EQ(batch.sequences[lane].tokens, expected[lane].tokens);
      EXPECT_EQ(batch.sequences[lane].frames, expected[lane].frames);
    }
  }
}

}  // namespace
}  // namespace tandem
