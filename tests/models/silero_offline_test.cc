#include "core/models/silero_offline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/audio/segmentation.h"
#include "core/models/silero_vad.h"
#include "native/recording_detector.h"
#include "tests/support/golden.h"
#include "tests/support/native_kernels.h"
#include "tests/support/silero_stepper.h"

namespace tandem {
namespace {

SileroOffline make_offline(const SileroWeights& weights) {
  auto detector = SileroOffline::create(weights, test::uncached_config());
  if (!detector) throw std::runtime_error(detector.error().text());
  return std::move(*detector);
}

std::vector<float> streamed(const SileroWeights& weights, std::span<const float> samples) {
  auto vad = SileroVad::create(weights, test::uncached_config());
  if (!vad) throw std::runtime_error(vad.error().text());
  std::vector<float> probabilities;
  if (auto pushed = vad->push(samples, probabilities); !pushed) throw std::runtime_error(pushed.error().text());
  if (auto flushed = vad->flush(probabilities); !flushed) throw std::runtime_error(flushed.error().text());
  return probabilities;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << "window " << i;
}

TEST(SileroOffline, RecordingsOfAnyLengthGiveTheProbabilitiesOfTheStream) {
  const SileroWeights weights = testing::silero_weights("v6", 16000);
  SileroOffline detector = make_offline(weights);
  const std::vector<float> clip = testing::silero_clip("p16-long");
  const size_t block = 64 * 512;
  for (const size_t length : {size_t{0}, size_t{1}, size_t{63}, size_t{511}, size_t{512}, size_t{513}, block - 1, block,
                              block + 1, block + 64, 2 * block + 5000}) {
    SCOPED_TRACE(length);
    const std::span<const float> samples = std::span<const float>(clip).first(std::min(length, clip.size()));
    int64_t done = 0;
    const auto found = detector.probabilities(samples, [&](int64_t windows) {
      EXPECT_GT(windows, done);
      done = windows;
    });
    ASSERT_TRUE(found.has_value()) << found.error().text();
    EXPECT_EQ(done, static_cast<int64_t>(found->size()));
    expect_near(*found, streamed(weights, samples));
  }
}

TEST(SileroOffline, RefusesSamplesThatAreNoNumbersAndGoesOn) {
  const SileroWeights weights = testing::silero_weights("v6", 16000);
  SileroOffline detector = make_offline(weights);
  const std::vector<float> clip = testing::silero_clip("p16-goforward");
  std::vector<float> bad = clip;
  bad[40000] = std::numeric_limits<float>::quiet_NaN();
  const auto refused = detector.probabilities(bad);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kNonFinite);
  EXPECT_NE(refused.error().message.find("40000"), std::string::npos) << refused.error().message;
  bad[40000] = 3e38f;
  const auto overflowed = detector.probabilities(bad);
  ASSERT_FALSE(overflowed.has_value());
  EXPECT_EQ(overflowed.error().code, ErrorCode::kNonFinite);
  EXPECT_NE(overflowed.error().message.find("window 78 (from sample 39936 on)"), std::string::npos)
      << overflowed.error().message;
  expect_near(detector.probabilities(clip).value(), streamed(weights, clip));
}

/// Probabilities of a clip, streamed and as a whole, with the basis changed.
template <typename Change>
std::vector<float> with_basis(const std::vector<float>& clip, const Change& change) {
  SileroWeights weights = testing::silero_weights("v6", 16000);
  std::vector<float> basis = weights.stft_basis.values<float>().value();
  change(basis);
  weights.stft_basis.bytes = std::as_bytes(std::span<const float>(basis));
  std::vector<float> probabilities = streamed(weights, clip);
  expect_near(make_offline(weights).probabilities(clip).value(), probabilities);
  return probabilities;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float difference = 0;
  for (size_t i = 0; i < a.size(); i++) difference = std::max(difference, std::fabs(a[i] - b[i]));
  return difference;
}

TEST(SileroBasis, AnyOneIsTakenAsItIs) {
  const std::vector<float> clip = testing::silero_clip("p16-goforward");
  const std::vector<float> original = with_basis(clip, [](std::vector<float>&) {});
  const std::vector<float> noisy = with_basis(clip, [](std::vector<float>& basis) {
    for (size_t i = 0; i < basis.size(); i++) basis[i] += 0.02f * std::sin(static_cast<float>(i % 9973));
  });
  EXPECT_GT(largest_difference(noisy, original), 1e-3f);
  // Of a Fourier transform only the first quarter of each row is used.
  const std::vector<float> late = with_basis(clip, [](std::vector<float>& basis) { basis[6 * 256 + 200] += 1.0f; });
  EXPECT_GT(largest_difference(late, original), 1e-3f);
  // What is all but a Fourier transform is multiplied as a whole, with the same result.
  const std::vector<float> whole = with_basis(clip, [](std::vector<float>& basis) { basis[6 * 256 + 200] += 1e-6f; });
  EXPECT_GT(largest_difference(whole, original), 0);
  expect_near(whole, original);
}

TEST(RecordingDetector, ReproducibleBitsDoNotDependOnOtherRecordings) {
  const std::vector<float> clip = testing::silero_clip("p16-long");
  const std::vector<float> many(static_cast<size_t>(512 * SileroOffline::kFewestWindows), 0.0f);
  PrepareConfig config = test::uncached_config();
  config.numerics = Numerics::kReproducible;
  auto detector = RecordingDetector::create("v6", 16000, testing::silero_onnx_path("v6"), config);
  ASSERT_TRUE(detector.has_value()) << detector.error().text();
  const std::vector<double> alone = detector->probabilities(clip).value();
  ASSERT_TRUE(detector->probabilities(many).has_value());
  EXPECT_EQ(detector->probabilities(clip).value(), alone);
}

TEST(RecordingDetector, LongRecordingsHaveTheSegmentsOfTheStream) {
  const std::vector<float> clip = testing::silero_clip("p16-long");
  std::vector<float> samples;
  while (samples.size() < static_cast<size_t>(512 * SileroOffline::kFewestWindows))
    samples.insert(samples.end(), clip.begin(), clip.end());
  auto detector = RecordingDetector::create("v6", 16000, testing::silero_onnx_path("v6"), test::uncached_config());
  ASSERT_TRUE(detector.has_value()) << detector.error().text();
  // A short one first, then a long one: both kinds of plan.
  ASSERT_EQ(detector->probabilities(clip).value().size(), (clip.size() + 511) / 512);
  int64_t done = 0;
  const auto progress = [&](int64_t now, int64_t total) {
    EXPECT_LE(done, now);
    EXPECT_EQ(total, static_cast<int64_t>(samples.size()));
    done = now;
  };
  const std::vector<double> found = detector->probabilities(samples, progress).value();
  const std::vector<float> expected = streamed(testing::silero_weights("v6", 16000), samples);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << "window " << i;
  const auto segments = [&](const std::vector<double>& probabilities) {
    std::vector<std::pair<int64_t, int64_t>> places;
    const auto all =
        speech_timestamps(probabilities, static_cast<int64_t>(samples.size()), 16000, SegmentationOptions()).value();
    for (const SpeechSegment& segment : all) places.emplace_back(segment.start, segment.end);
    return places;
  };
  EXPECT_GT(segments(found).size(), 10u);
  EXPECT_EQ(segments(found), segments({expected.begin(), expected.end()}));
}

TEST(SileroOffline, OtherRatesAreRefused) {
  SileroWeights weights = testing::silero_weights("v6", 16000);
  weights.sample_rate = 44100;
  const auto detector = SileroOffline::create(weights, test::uncached_config());
  ASSERT_FALSE(detector.has_value());
  EXPECT_EQ(detector.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tandem
