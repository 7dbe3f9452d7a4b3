#include "core/audio/window_framer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/audio/finite.h"
#include "core/base/error.h"

namespace tandem {
namespace {

using Frames = std::vector<std::vector<float>>;

Frames cut(size_t window, size_t context, std::span<const float> samples, const std::vector<size_t>& chunks) {
  WindowFramer framer(window, context);
  Frames frames;
  const auto keep = [&](std::span<const float> frame) {
    frames.emplace_back(frame.begin(), frame.end());
    return true;
  };
  size_t i = 0;
  while (!samples.empty()) {
    const size_t count = std::min(chunks[i++ % chunks.size()], samples.size());
    EXPECT_EQ(framer.push(samples.subspan(0, count), keep), count);
    samples = samples.subspan(count);
  }
  framer.flush(keep);
  return frames;
}

/// The frames by their definition: sample k of frame i is number i * window + k - context of the stream, zero outside.
Frames expected_frames(size_t window, size_t context, std::span<const float> samples) {
  Frames frames((samples.size() + window - 1) / window, std::vector<float>(context + window));
  for (size_t i = 0; i < frames.size(); ++i) {
    for (size_t k = 0; k < context + window; ++k) {
      const auto index = static_cast<int64_t>(i * window + k) - static_cast<int64_t>(context);
      if (index >= 0 && index < static_cast<int64_t>(samples.size()))
        frames[i][k] = samples[static_cast<size_t>(index)];
    }
  }
  return frames;
}

TEST(WindowFramer, GivesTheSameFramesForEveryChunking) {
  std::vector<float> samples(512 * 7 + 131);
  std::iota(samples.begin(), samples.end(), 1.0f);
  for (const auto& [window, context] : {std::pair<size_t, size_t>{512, 64}, {256, 32}, {1, 1}, {5, 5}, {7, 0}}) {
    const Frames expected = expected_frames(window, context, samples);
    for (const std::vector<size_t>& chunks : std::vector<std::vector<size_t>>{
             {1}, {2, 3, 5, 7, 11, 13}, {509}, {512}, {256}, {3200}, {1 << 20}, {511, 1}, {64}, {1, 1024}}) {
      EXPECT_EQ(cut(window, context, samples, chunks), expected) << window << " " << chunks[0];
    }
  }
}

TEST(WindowFramer, ExactMultipleNeedsNoPadding) {
  const std::vector<float> samples(1024, 1.0f);
  EXPECT_EQ(cut(512, 64, samples, {100}).size(), 2u);
  WindowFramer framer(512, 64);
  EXPECT_EQ(framer.pad(), 0u);
  EXPECT_FALSE(framer.full());
}

TEST(WindowFramer, CountsBeyond31Bits) {
  WindowFramer framer(512, 64);
  const int64_t first = (int64_t{1} << 31) - 1024;
  framer.reset(first);
  const std::vector<float> samples(4096, 0.5f);
  int frames = 0;
  framer.push(samples, [&](std::span<const float>) { return ++frames > 0; });
  EXPECT_EQ(framer.sample_count(), first + 4096);
  EXPECT_EQ(framer.window_count(), 8);
  EXPECT_EQ(frames, 8);
}

TEST(WindowFramer, ResetForgetsContextAndPartialWindow) {
  WindowFramer framer(4, 2);
  const std::vector<float> samples{1, 2, 3, 4, 5, 6};
  framer.push(samples, [](std::span<const float>) { return true; });
  EXPECT_EQ(framer.pending(), 2u);
  framer.reset();
  EXPECT_EQ(framer.pending(), 0u);
  EXPECT_EQ(framer.fill(std::vector<float>{9, 9, 9, 9, 9}), 4u);
  EXPECT_EQ(std::vector<float>(framer.frame().begin(), framer.frame().end()), (std::vector<float>{0, 0, 9, 9, 9, 9}));
}

TEST(WindowFramer, StopsWhereTheConsumerRefusesAndGoesOn) {
  WindowFramer framer(4, 2);
  const std::vector<float> samples{1, 2, 3, 4, 5, 6, 7, 8, 9};
  bool refused = false;
  const size_t taken = framer.push(samples, [&](std::span<const float> frame) {
    if (frame[2] == 5 && !refused) {
      refused = true;
      return false;
    }
    return true;
  });
  EXPECT_EQ(taken, 8u);
  EXPECT_TRUE(framer.full());
  int again = 0;
  framer.push(std::span<const float>(samples).subspan(taken), [&](std::span<const float> frame) {
    EXPECT_EQ(std::vector<float>(frame.begin(), frame.end()), (std::vector<float>{3, 4, 5, 6, 7, 8}));
    return ++again > 0;
  });
  EXPECT_EQ(again, 1);
  EXPECT_EQ(framer.pending(), 1u);
}

TEST(WindowFramer, GoesBackToAPlace) {
  std::vector<float> samples(512 * 7 + 131);
  std::iota(samples.begin(), samples.end(), 1.0f);
  const Frames expected = expected_frames(512, 64, samples);
  const auto all = std::span<const float>(samples);
  for (const size_t at : {size_t{0}, size_t{1}, size_t{512}, size_t{700}, size_t{1535}}) {
    WindowFramer framer(512, 64);
    const auto ignore = [](std::span<const float>) { return true; };
    framer.push(all.first(at), ignore);
    WindowFramer::Place place;
    framer.save(place);
    // Into the window, or beyond some.
    for (const size_t more : {size_t{3}, size_t{600}, size_t{2000}}) {
      framer.push(std::vector<float>(more, -1.0f), ignore);
      framer.go_back(place);
      EXPECT_EQ(framer.sample_count(), static_cast<int64_t>(at));
      EXPECT_EQ(framer.pending(), at % 512);
    }
    size_t next = at / 512;
    const auto compare = [&](std::span<const float> frame) {
      EXPECT_EQ(std::vector<float>(frame.begin(), frame.end()), expected[next++]) << at;
      return true;
    };
    framer.push(all.subspan(at), compare);
    framer.flush(compare);
    EXPECT_EQ(next, expected.size());
    EXPECT_EQ(framer.window_count(), 8);
  }
  WindowFramer::Place place;
  WindowFramer(512, 64).save(place);
  EXPECT_THROW(WindowFramer(256, 32).go_back(place), InternalError);
}

TEST(WindowFramer, RefusesAnImpossibleLayout) {
  EXPECT_THROW(WindowFramer(0, 0), InternalError);
  EXPECT_THROW(WindowFramer(4, 5), InternalError);
}

TEST(CheckFinite, NamesTheFirstBadSample) {
  std::vector<float> samples(10, 0.25f);
  EXPECT_TRUE(check_finite(samples).has_value());
  EXPECT_TRUE(check_finite({}).has_value());
  samples[7] = std::numeric_limits<float>::quiet_NaN();
  samples[9] = std::numeric_limits<float>::infinity();
  const auto result = check_finite(samples, 1000);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kNonFinite);
  EXPECT_EQ(result.error().message.find("sample 1007 is nan"), 0u) << result.error().message;
  samples[7] = 3e38f;
  EXPECT_EQ(find_non_finite(samples), std::optional<size_t>(9));
}

}  // namespace
}  // namespace tandem
