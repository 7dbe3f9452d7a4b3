// One plan for every number of lanes and frames.

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/gigaam_target.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

using testing::config_for;
using testing::GigaAmGolden;
using testing::row_difference;
using testing::value_or_throw;

constexpr int64_t kMostLanes = 4, kMostFrames = 400;

struct RandomBatch {
  std::vector<float> mel;
  std::vector<int32_t> lengths;
  int64_t t = 0;

  RandomBatch(std::mt19937& random, int64_t features) {
    const auto between = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int64_t b = between(1, kMostLanes);
    t = between(1, kMostFrames);
    for (int64_t i = 0; i < b; ++i) lengths.push_back(static_cast<int32_t>(i == 0 ? t : between(0, t)));
    std::normal_distribution<float> level(-8.0f, 4.0f);
    mel.resize(static_cast<size_t>(b * features * t));
    for (float& value : mel) value = level(random);
  }
  MelBatch batch() const { return {mel, lengths, t}; }
  int64_t lanes() const { return static_cast<int64_t>(lengths.size()); }
};

/// Values of the rows below each lane's length, as bits.
std::vector<uint32_t> valid_bits(const std::vector<float>& values, const RecognizedBatch& batch) {
  const size_t lanes = batch.encoded_lengths.size(), frames = static_cast<size_t>(batch.frames);
  const size_t width = values.size() / (lanes * frames);
  std::vector<uint32_t> bits;
  for (size_t lane = 0; lane < lanes; ++lane)
    for (size_t i = 0; i < static_cast<size_t>(batch.encoded_lengths[lane]) * width; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, &values[lane * frames * width + i], sizeof word);
      bits.push_back(word);
    }
  return bits;
}

/// Compares one plan for all shapes with a plan for each shape; both reproducible.
void compare_with_fixed_plans(const std::string& file, const test::Target& target, int rounds) {
  const GigaAmGolden golden(file);
  const auto model = testing::model_of(golden);
  const PrepareConfig config = config_for(target, Numerics::kReproducible);
  GigaAmRecognizer any = value_or_throw(GigaAmRecognizer::create(model, {kMostLanes, kMostFrames, false}, config));
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    const RandomBatch batch(random, golden.config.mel.features);
    SCOPED_TRACE("b " + std::to_string(batch.lanes()) + ", t " + std::to_string(batch.t));
    const RecognizedBatch found = value_or_throw(any.recognize(batch.batch()));
    GigaAmRecognizer fixed = value_or_throw(GigaAmRecognizer::create(model, {batch.lanes(), batch.t, true}, config));
    const RecognizedBatch expected = value_or_throw(fixed.recognize(batch.batch()));
    EXPECT_EQ(found.frames, golden.config.encoder->encoded_frames(batch.t));
    EXPECT_EQ(found.encoded_lengths, expected.encoded_lengths);
    EXPECT_EQ(valid_bits(found.encoded, found), valid_bits(expected.encoded, expected));
    EXPECT_EQ(valid_bits(found.scores, found), valid_bits(expected.scores, expected));
    for (size_t lane = 0; lane < found.sequences.size(); ++lane)
      EXPECT_EQ(found.sequences[lane].tokens, expected.sequences[lane].tokens);
  }
}

const test::Target& best_native() { return test::all_targets()[1]; }

TEST(GigaAmSymbolic, OnePlanGivesTheBitsOfPlansForOneShape) { compare_with_fixed_plans("ctc_tiny", best_native(), 4); }
TEST(GigaAmSymbolic, SoDoesTheOlderLayout) { compare_with_fixed_plans("ctc_tiny_v2", best_native(), 3); }
TEST(GigaAmSymbolicSlow, OnePlanGivesTheBitsOfSixtyPlans) { compare_with_fixed_plans("ctc_tiny", best_native(), 60); }

class GigaAmShapes : public ::testing::TestWithParam<const char*> {};

TEST_P(GigaAmShapes, TheGoldensComeOutOfThePlanForAllShapes) {
  const GigaAmGolden golden(GetParam());
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const auto expected = testing::expected_sequences(golden);
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GigaAmRecognizer any = value_or_throw(
        GigaAmRecognizer::create(testing::model_of(golden), {kMostLanes, kMostFrames, false}, config_for(target)));
    const RecognizedBatch batch = value_or_throw(any.recognize({mel, lengths, golden.shape("input.mel")[2]}));
    EXPECT_LE(
        row_difference(batch.encoded, golden.values<float>("expected.encoded"), batch.encoded_lengths, batch.frames),
        2e-5);
    for (size_t lane = 0; lane < expected.size(); ++lane)
      EXPECT_EQ(batch.sequences[lane].tokens, expected[lane].tokens);
  }
}

TEST_P(GigaAmShapes, OneToSixMelFramesGiveTheReference) {
  const GigaAmGolden golden(GetParam());
  const auto mel = golden.values<float>("input.mel");
  const int64_t features = golden.config.mel.features, frames = golden.shape("input.mel")[2];
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GigaAmRecognizer any =
        value_or_throw(GigaAmRecognizer::create(testing::model_of(golden), {1, 6, false}, config_for(target)));
    for (const auto& expected : testing::golden_json("gigaam/short_mel.json")[GetParam()]) {
      const auto t = expected["mel_frames"].get<int64_t>();
      std::vector<float> start;
      for (int64_t row = 0; row < features; ++row)
        start.insert(start.end(), mel.begin() + row * frames, mel.begin() + row * frames + t);
      const std::vector<int32_t> lengths = {static_cast<int32_t>(t)};
      const RecognizedBatch batch = value_or_throw(any.recognize({start, lengths, t}));
      EXPECT_EQ(batch.encoded_lengths[0], expected["encoded_length"].get<int32_t>());
      EXPECT_LE(row_difference(batch.scores, expected["log_probs"].get<std::vector<float>>(), batch.encoded_lengths,
                               batch.frames),
                5e-5);
      EXPECT_EQ(batch.sequences[0].tokens, expected["tokens"].get<std::vector<int32_t>>());
      EXPECT_EQ(batch.sequences[0].frames, expected["frames"].get<std::vector<int32_t>>());
    }
  }
}

TEST_P(GigaAmShapes, NoWorkIsDoneOnPaddingBeyondATile) {
  const GigaAmGolden golden(GetParam());
  constexpr int64_t kFrames = 256;
  const std::vector<float> mel(static_cast<size_t>(kMostLanes * golden.config.mel.features * kFrames), -7.0f);
  GigaAmRecognizer any = value_or_throw(GigaAmRecognizer::create(
      testing::model_of(golden), {kMostLanes, kFrames, false}, config_for(test::all_targets()[0])));
  const auto operations = [&](int32_t length) {
    const Executable& machine = any.jit().session().plan()->executable();
    const uint64_t before = machine.operations();
    const std::vector<int32_t> lengths(kMostLanes, length);
    value_or_throw(any.recognize({mel, lengths, kFrames}));
    return static_cast<double>(machine.operations() - before);
  };
  const double full = operations(kFrames);
  EXPECT_LT(operations(kFrames / 4), 0.33 * full);
  EXPECT_LT(operations(0), 0.1 * full);
  EXPECT_GT(operations(kFrames / 4), 0.1 * full);
}

INSTANTIATE_TEST_SUITE_P(Goldens, GigaAmShapes, ::testing::Values("ctc_tiny", "ctc_tiny_v2"));

/// Values of the rows below each lane's length; the second lane is left out.
std::vector<float> values_without_second(const RecognizedBatch& batch) {
  const size_t row = static_cast<size_t>(batch.width);
  std::vector<float> values;
  for (size_t lane = 0; lane < batch.encoded_lengths.size(); ++lane) {
    if (lane == 1) continue;
    const auto begin = batch.encoded.begin() + static_cast<ptrdiff_t>(lane * static_cast<size_t>(batch.frames) * row);
    values.insert(values.end(), begin, begin + static_cast<ptrdiff_t>(batch.encoded_lengths[lane]) * batch.width);
  }
  return values;
}

class GigaAmLanes : public ::testing::TestWithParam<Numerics> {};

TEST_P(GigaAmLanes, DoNotSeeEachOtherNorThePaddingNorWhatWasThereBefore) {
  const GigaAmGolden golden("ctc_tiny");
  const int64_t features = golden.config.mel.features;
  GigaAmRecognizer any = value_or_throw(GigaAmRecognizer::create(
      testing::model_of(golden), {kMostLanes, kMostFrames, false}, config_for(best_native(), GetParam())));
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    RandomBatch batch(random, features);
    const auto first = values_without_second(value_or_throw(any.recognize(batch.batch())));
    const RandomBatch other(random, features);
    value_or_throw(any.recognize(other.batch()));
    // Other padding and another second lane.
    std::normal_distribution<float> level(5.0f, 50.0f);
    for (int64_t lane = 0; lane < batch.lanes(); ++lane)
      for (int64_t row = 0; row < features; ++row)
        for (int64_t frame = lane == 1 ? 0 : batch.lengths[static_cast<size_t>(lane)]; frame < batch.t; ++frame)
          batch.mel[static_cast<size_t>((lane * features + row) * batch.t + frame)] = level(random);
    if (batch.lanes() > 1) batch.lengths[1] = static_cast<int32_t>(batch.t) - batch.lengths[1];
    const auto second = values_without_second(value_or_throw(any.recognize(batch.batch())));
    ASSERT_EQ(first.size(), second.size());
    if (GetParam() == Numerics::kReproducible) {
      EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
      continue;
    }
    for (size_t i = 0; i < first.size(); ++i) ASSERT_NEAR(first[i], second[i], 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Numerics, GigaAmLanes, ::testing::Values(Numerics::kReproducible, Numerics::kFast),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tandem
