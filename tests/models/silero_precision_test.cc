// Silero VAD with matrices in f16 and bf16, against the goldens of the models as they are published.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/audio/segmentation.h"
#include "core/models/silero_offline.h"
#include "core/models/silero_vad.h"
#include "tests/support/golden.h"
#include "tests/support/native_kernels.h"
#include "tests/support/silero_stepper.h"
#include "tests/support/value_or_throw.h"

namespace tandem {
namespace {

using testing::value_or_throw;

/// Start and end of every segment, in samples.
std::vector<std::pair<int64_t, int64_t>> segments_of(std::span<const double> probabilities, size_t samples,
                                                     int64_t rate) {
  std::vector<std::pair<int64_t, int64_t>> segments;
  for (const auto& segment :
       value_or_throw(speech_timestamps(probabilities, static_cast<int64_t>(samples), rate, SegmentationOptions())))
    segments.emplace_back(segment.start, segment.end);
  return segments;
}

/// The largest difference of a probability from the golden, over all clips of a model, streamed and as a whole;
/// `same_segments`: segments must not change.
double largest_difference(const std::string& version, int64_t rate, DType kept, bool same_segments) {
  SileroWeights weights = testing::silero_weights(version, rate);
  weights.kept = kept;
  SileroVad vad = value_or_throw(SileroVad::create(weights, test::uncached_config()));
  SileroOffline detector = value_or_throw(SileroOffline::create(weights, test::uncached_config()));
  const nlohmann::json golden = testing::golden_json("silero/" + version + (rate == 16000 ? "_16k.json" : "_8k.json"));
  double largest = 0;
  for (const nlohmann::json& clip : golden["clips"]) {
    const std::string name = clip["id"];
    const std::vector<float> samples = testing::silero_clip(name);
    const std::vector<double> expected = testing::numbers_of(clip["probs"]);
    std::vector<float> streamed;
    EXPECT_TRUE(vad.reset() && vad.push(samples, streamed) && vad.flush(streamed)) << name;
    for (const std::vector<float>& found : {streamed, value_or_throw(detector.probabilities(samples))}) {
      EXPECT_GE(found.size(), expected.size()) << name;
      for (size_t i = 0; i < std::min(found.size(), expected.size()); i++)
        largest = std::max(largest, std::fabs(static_cast<double>(found[i]) - expected[i]));
      const std::vector<double> probabilities(found.begin(), found.end());
      if (same_segments && found.size() == expected.size())
        EXPECT_EQ(segments_of(probabilities, samples.size(), rate), segments_of(expected, samples.size(), rate))
            << name;
    }
  }
  return largest;
}

TEST(SileroPrecision, HalvesStayNearTheGoldens) {
  for (const char* version : {"v5", "v6"})
    for (const int64_t rate : {16000, 8000})
      for (const DType kept : {DType::kF16, DType::kBF16}) {
        const double difference = largest_difference(version, rate, kept, kept == DType::kF16);
        std::printf("    %s %d %s: %.2g\n", version, static_cast<int>(rate), std::string(name_of(kept)).c_str(),
                    difference);
        EXPECT_GT(difference, 2e-5) << "the weights were not rounded";
        EXPECT_LE(difference, kept == DType::kF16 ? 1e-2 : 3e-2);
      }
}

TEST(SileroPrecision, OtherTypesAreRefused) {
  SileroWeights weights = testing::silero_weights("v6", 16000);
  weights.kept = DType::kI8;
  const auto vad = SileroVad::create(weights, test::uncached_config());
  ASSERT_FALSE(vad.has_value());
  EXPECT_NE(vad.error().message.find("can't be kept as i8; f32, f16 and bf16"), std::string::npos);
  EXPECT_FALSE(SileroOffline::create(weights, test::uncached_config()).has_value());
}

}  // namespace
}  // namespace tandem
