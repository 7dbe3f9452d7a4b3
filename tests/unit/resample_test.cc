#include "native/resample.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

std::vector<float> tone(double frequency, double rate, size_t count) {
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i)
    samples[i] = static_cast<float>(0.5 * std::sin(2 * M_PI * frequency * static_cast<double>(i) / rate));
  return samples;
}

double power(std::span<const float> samples) {
  double sum = 0;
  for (const float sample : samples) sum += static_cast<double>(sample) * static_cast<double>(sample);
  return sum / static_cast<double>(samples.size());
}

TEST(Resample, LengthHasNoDrift) {
  EXPECT_EQ(resampled_length(44100 * 600, 44100, 16000), 16000 * 600);
  EXPECT_EQ(resampled_length(48000, 48000, 16000), 16000);
  EXPECT_EQ(resampled_length(1, 11025, 16000), 1);
  EXPECT_EQ(resampled_length(2, 11025, 16000), 3);
  EXPECT_EQ(resampled_length(0, 44100, 16000), 0);
  EXPECT_EQ(resampled_length(int64_t{44100} * 3600 * 24 * 365, 44100, 16000), int64_t{16000} * 3600 * 24 * 365);
}

// Each sample of the result must lie where the sine has that value: neither delay nor drift, at any rate.
TEST(Resample, KeepsEverySampleInItsPlace) {
  for (const int64_t rate : {11025, 22050, 24000, 44100, 48000, 96000, 8000, 12345}) {
    const std::vector<float> source = tone(440, static_cast<double>(rate), static_cast<size_t>(rate) * 3);
    const auto result = resample(source, rate, 16000);
    ASSERT_TRUE(result.has_value()) << result.error().text();
    ASSERT_EQ(result->size(), 48000u);
    const std::vector<float> expected = tone(440, 16000, 48000);
    double worst = 0;
    for (size_t i = 1000; i < 47000; ++i)
      worst = std::max(worst, std::fabs(static_cast<double>((*result)[i]) - static_cast<double>(expected[i])));
    EXPECT_LT(worst, 1e-4) << rate;
  }
}

TEST(Resample, SuppressesWhatWouldAlias) {
  for (const int64_t rate : {48000, 44100}) {
    const std::vector<float> source = tone(10000, static_cast<double>(rate), static_cast<size_t>(rate) * 2);
    const auto result = resample(source, rate, 16000);
    ASSERT_TRUE(result.has_value());
    const std::span<const float> middle = std::span<const float>(*result).subspan(4000, 24000);
    EXPECT_LT(10 * std::log10(power(middle) / power(source)), -60) << rate;
  }
}

TEST(Resample, EqualRatesAndShortInputs) {
  const std::vector<float> samples{1, 2, 3};
  EXPECT_EQ(*resample(samples, 16000, 16000), samples);
  EXPECT_TRUE(resample({}, 44100, 16000)->empty());
  for (size_t count = 1; count < 40; ++count) {
    const auto result = resample(std::vector<float>(count, 0.1f), 44100, 16000);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(static_cast<int64_t>(result->size()), resampled_length(static_cast<int64_t>(count), 44100, 16000));
    for (const float sample : *result) EXPECT_TRUE(std::isfinite(sample));
  }
}

TEST(Resample, RefusesRatesBeyondItsLimits) {
  for (const int64_t rate : {0, 1, 999, -44100, 10'000'001}) {
    const auto result = resample(std::vector<float>(10), rate, 16000);
    ASSERT_FALSE(result.has_value()) << rate;
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(result.error().message.find(std::to_string(rate)), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem
