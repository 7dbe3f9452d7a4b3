#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "core/models/ctc.h"

namespace tandem {
namespace {

/// Random log-probabilities f32 [frames, classes].
std::vector<float> random_scores(std::mt19937& random, int64_t frames, int64_t classes) {
  std::vector<float> scores;
  std::uniform_real_distribution<double> weight(0.01, 1.0);
  for (int64_t frame = 0; frame < frames; ++frame) {
    std::vector<double> row(static_cast<size_t>(classes));
    double sum = 0;
    for (double& value : row) sum += value = std::pow(weight(random), 3);
    for (const double value : row) scores.push_back(static_cast<float>(std::log(value / sum)));
  }
  return scores;
}

/// Every path over all frames, one by one.
struct Exhaustive {
  std::map<std::vector<int32_t>, double> probability;
  std::map<std::vector<int32_t>, std::pair<double, std::vector<int32_t>>> best;  ///< Probability and frames.

  Exhaustive(const std::vector<float>& scores, int64_t classes) { visit(scores, classes, {}, {}, -1, 0, 1.0); }

  void visit(const std::vector<float>& scores, int64_t classes, const std::vector<int32_t>& tokens,
             const std::vector<int32_t>& frames, int64_t previous, size_t frame, double weight) {
    if (frame * static_cast<size_t>(classes) == scores.size()) {
      probability[tokens] += weight;
      auto& found = best[tokens];
      if (weight > found.first) found = {weight, frames};
      return;
    }
    for (int64_t token = 0; token < classes; ++token) {
      auto more_tokens = tokens, more_frames = frames;
      if (token != classes - 1 && token != previous) {
        more_tokens.push_back(static_cast<int32_t>(token));
        more_frames.push_back(static_cast<int32_t>(frame));
      }
      const double factor =
          std::exp(static_cast<double>(scores[frame * static_cast<size_t>(classes) + static_cast<size_t>(token)]));
      visit(scores, classes, more_tokens, more_frames, token, frame + 1, weight * factor);
    }
  }
};

TEST(CtcBeamSearch, WideBeamsGiveTheProbabilitiesOfAllPaths) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const int64_t classes = 3 + round % 2, frames = 6;
    const auto scores = random_scores(random, frames, classes);
    const Exhaustive reference(scores, classes);
    const auto found = ctc_beam_search({scores, classes}, 10000);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), reference.probability.size());
    double previous = 0;
    for (const CtcHypothesis& hypothesis : *found) {
      const auto expected = reference.probability.find(hypothesis.sequence.tokens);
      ASSERT_NE(expected, reference.probability.end());
      EXPECT_NEAR(hypothesis.log_probability, std::log(expected->second), 1e-9);
      EXPECT_EQ(hypothesis.sequence.frames, reference.best.at(hypothesis.sequence.tokens).second);
      EXPECT_LE(hypothesis.log_probability, previous);
      previous = hypothesis.log_probability;
    }
  }
}

TEST(CtcBeamSearch, NarrowBeamsFindTheBestSequenceOfClearScores) {
  std::mt19937 random(2);
  const int64_t classes = 34, frames = 60;
  std::vector<float> scores = random_scores(random, frames, classes);
  std::uniform_int_distribution<int64_t> any(0, classes - 1);
  for (int64_t frame = 0; frame < frames; ++frame) {
    const int64_t best = any(random);
    for (int64_t token = 0; token < classes; ++token)
      scores[static_cast<size_t>(frame * classes + token)] = token == best ? -0.01f : -8.0f;
  }
  const auto found = ctc_beam_search({scores, classes}, 8);
  ASSERT_TRUE(found);
  const TokenSequence greedy = ctc_greedy({scores, classes});
  EXPECT_EQ(found->front().sequence.tokens, greedy.tokens);
  EXPECT_EQ(found->front().sequence.frames, greedy.frames);
  EXPECT_EQ(found->size(), 8u);
}

TEST(CtcBeamSearch, TakesEmptyLanesAndRefusesWrongWidths) {
  const auto empty = ctc_beam_search({{}, 34}, 4);
  ASSERT_TRUE(empty);
  ASSERT_EQ(empty->size(), 1u);
  EXPECT_TRUE(empty->front().sequence.tokens.empty());
  for (const int64_t width : {int64_t{0}, int64_t{-3}, int64_t{10001}}) {
    const auto refused = ctc_beam_search({{}, 34}, width);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find(std::to_string(width)), std::string::npos);
  }
}

TEST(CtcBeamSearch, RefusesWhatIsNoNumber) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> scores(12, -1.0f);
    scores[7] = bad;
    const auto refused = ctc_beam_search({scores, 3}, 40);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNonFinite);
    EXPECT_NE(refused.error().message.find("class 1 in frame 2"), std::string::npos) << refused.error().message;
  }
}

TEST(CtcGreedy, MergesRunsAndKeepsWhatABlankSeparates) {
  // Classes 0, 1 and the blank 2; one row per frame.
  const auto row = [](int best) {
    std::vector<float> scores(3, -5.0f);
    scores[static_cast<size_t>(best)] = -0.1f;
    return scores;
  };
  std::vector<float> scores;
  for (const int best : {2, 0, 0, 2, 0, 1, 1, 0, 2}) {
    const auto values = row(best);
    scores.insert(scores.end(), values.begin(), values.end());
  }
  const TokenSequence found = ctc_greedy({scores, 3});
  EXPECT_EQ(found.tokens, (std::vector<int32_t>{0, 0, 1, 0}));
  EXPECT_EQ(found.frames, (std::vector<int32_t>{1, 4, 5, 7}));
}

}  // namespace
}  // namespace tandem
