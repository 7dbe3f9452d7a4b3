#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "core/base/text.h"
#include "tests/support/gigaam_target.h"

namespace tandem {
namespace {

using testing::config_for;
using testing::GigaAmGolden;
using testing::model_of;
using testing::row_difference;
using testing::value_or_throw;

class GigaAmCtc : public ::testing::TestWithParam<const char*> {};

TEST_P(GigaAmCtc, GivesTheScoresTokensAndFramesOfTheReference) {
  const GigaAmGolden golden(GetParam());
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const int64_t t = golden.shape("input.mel")[2];
  const auto expected = testing::expected_sequences(golden);
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GigaAmRecognizer recognizer = value_or_throw(GigaAmRecognizer::create(
        model_of(golden), {static_cast<int64_t>(lengths.size()), t, true}, config_for(target)));
    const RecognizedBatch batch = value_or_throw(recognizer.recognize({mel, lengths, t}));
    EXPECT_EQ(batch.encoded_lengths, golden.values<int32_t>("expected.encoded_lengths"));
    EXPECT_LE(
        row_difference(batch.encoded, golden.values<float>("expected.encoded"), batch.encoded_lengths, batch.frames),
        2e-5);
    if (golden.file.find("expected.log_probs") != nullptr) {
      EXPECT_LE(
          row_difference(batch.scores, golden.values<float>("expected.log_probs"), batch.encoded_lengths, batch.frames),
          5e-5);
    }
    ASSERT_EQ(batch.sequences.size(), expected.size());
    for (size_t lane = 0; lane < expected.size(); ++lane) {
      EXPECT_EQ(batch.sequences[lane].tokens, expected[lane].tokens) << "lane " << lane;
      EXPECT_EQ(batch.sequences[lane].frames, expected[lane].frames) << "lane " << lane;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GigaAmCtc, ::testing::Values("ctc_tiny", "ctc_tiny_v2", "rnnt_tiny"));

/// The joint network's layer over the encoder, in float64.
std::vector<float> project_first_frame(const GigaAmGolden& golden, const std::vector<float>& encoded) {
  const auto weight = golden.values<float>("head.joint.enc.weight"), bias = golden.values<float>("head.joint.enc.bias");
  const size_t width = weight.size() / bias.size();
  std::vector<float> projected;
  for (size_t row = 0; row < bias.size(); ++row) {
    double sum = bias[row];
    for (size_t i = 0; i < width; ++i) sum += static_cast<double>(weight[row * width + i]) * encoded[i];
    projected.push_back(static_cast<float>(sum));
  }
  return projected;
}

TEST(GigaAmRnnt, EveryStepIsThatOfTheReference) {
  const GigaAmGolden golden("rnnt_tiny");
  const auto model = model_of(golden);
  const auto size = static_cast<size_t>(model->rnnt->state_size());
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GigaAmPredictorJit predictor(model);
    predictor.with_n_fixed(1);
    ASSERT_TRUE(predictor.prepare_with_config(config_for(target)));
    auto step =
        value_or_throw(JitRecurrent<GigaAmPredictorJit>::make(std::move(predictor), LstmState::zeros(size), size));
    const std::pair<const char*, int32_t> steps[] = {{"sos", kNoLabel}, {"step1", 1}, {"step2", 2}};
    GigaAmJointJit joint(model);
    joint.with_n_fixed(1);
    ASSERT_TRUE(joint.prepare_with_config(config_for(target)));
    // The reference joins every step with the first encoder frame of the first lane.
    const auto encoded = golden.values<float>("expected.encoded");
    const auto projected = project_first_frame(golden, encoded);
    ASSERT_TRUE(value_or_throw(joint.projected_mut()).copy_from(projected));
    for (const auto& [name, label] : steps) {
      const std::string prefix = std::string("expected.") + name;
      const auto head = value_or_throw(step.step(
          [value = label](GigaAmPredictorJit& jit) { value_or_throw(jit.labels_view<int32_t>())[0] = value; }));
      const auto expect = [&](std::span<const float> values, const std::string& tensor, double tolerance) {
        const auto expected = golden.values<float>(prefix + tensor);
        ASSERT_EQ(values.size(), expected.size());
        for (size_t i = 0; i < values.size(); ++i)
          EXPECT_NEAR(values[i], expected[i], tolerance) << name << tensor << i;
      };
      ASSERT_TRUE(value_or_throw(joint.predicted_mut()).copy_from(std::vector<float>(head.begin(), head.end())));
      ASSERT_TRUE(joint.execute());
      expect(*value_or_throw(joint.output()).span<float>(), ".joint_log_probs", 1e-5);
      expect(head, ".pred", 2e-6);
      expect(step.state().h, ".h", 2e-6);
      expect(step.state().c, ".c", 2e-6);
    }
  }
}

TEST(GigaAmSpeech, SamplesGiveTheTokensOfTheReferenceInOnePlan) {
  const GigaAmGolden golden("e2e_tiny");
  const auto samples = golden.values<int16_t>("input.pcm");
  const auto n = static_cast<int64_t>(samples.size());
  const auto expected = testing::expected_sequences(golden);
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GigaAmSpeechJit jit(model_of(golden));
    jit.with_n_fixed(n);
    const auto prepared = jit.prepare_with_config(InputSpec{{n}, DType::kI16}, config_for(target));
    ASSERT_TRUE(prepared) << prepared.error().text();
    ASSERT_TRUE(value_or_throw(jit.samples_mut()).copy_from(samples));
    ASSERT_TRUE(jit.execute());
    const auto frames = golden.shape("expected.encoded")[1];
    const std::vector<int32_t> lengths = {static_cast<int32_t>(frames)};
    const auto mel = value_or_throw(value_or_throw(jit.log_mel()).to_vector<float>());
    EXPECT_LE(row_difference(mel, golden.values<float>("expected.log_mel"), {64}, 64), 1e-5);
    EXPECT_LE(row_difference(value_or_throw(value_or_throw(jit.encoded()).to_vector<float>()),
                             golden.values<float>("expected.encoded"), lengths, frames),
              2e-5);
    const auto scores = value_or_throw(value_or_throw(jit.scores()).to_vector<float>());
    EXPECT_LE(row_difference(scores, golden.values<float>("expected.log_probs"), lengths, frames), 5e-5);
    const auto sequences = ctc_greedy_batch(scores, frames, golden.config.head->num_classes, lengths);
    EXPECT_EQ(sequences[0].tokens, expected[0].tokens);
    EXPECT_EQ(sequences[0].frames, expected[0].frames);
  }
}

TEST(GigaAmWrappers, HaveNamesOfTheirOwnInDumps) {
  const auto model = model_of(GigaAmGolden("rnnt_tiny"));
  const std::set<std::string> names = {GigaAmEncoderJit(model).session().name(), GigaAmJit(model).session().name(),
                                       GigaAmSpeechJit(model).session().name(),
                                       GigaAmPredictorJit(model).session().name(),
                                       GigaAmJointJit(model).session().name()};
  EXPECT_EQ(names.size(), 5u);
}

TEST(GigaAmErrors, NameTheThingAndTheNextCallWorks) {
  const GigaAmGolden golden("ctc_tiny");
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const int64_t t = golden.shape("input.mel")[2];
  const auto expected = testing::expected_sequences(golden);
  for (const bool fixed : {true, false}) {
    GigaAmRecognizer recognizer = value_or_throw(
        GigaAmRecognizer::create(model_of(golden), {3, t, fixed}, config_for(test::all_targets().front())));
    const auto expect = [&](const MelBatch& batch, ErrorCode code, const std::string& part) {
      const auto result = recognizer.recognize(batch);
      ASSERT_FALSE(result) << part;
      EXPECT_EQ(result.error().code, code) << result.error().message;
      EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
      const RecognizedBatch next = value_or_throw(recognizer.recognize({mel, lengths, t}));
      EXPECT_EQ(next.sequences[0].tokens, expected[0].tokens) << part;
    };
    const std::vector<int32_t> four(4, 10), past = {97, 98, 1}, below = {97, 3, -1};
    const std::vector<float> few(5);
    expect({{}, lengths, 0}, ErrorCode::kVariable, "t is 0");
    expect({mel, lengths, -1}, ErrorCode::kVariable, "t is -1");
    expect({mel, lengths, t + 1}, ErrorCode::kVariable, "t is 98");
    expect({mel, {}, t}, ErrorCode::kVariable, "b is 0");
    expect({mel, four, t}, ErrorCode::kVariable, "b is 4");
    expect({mel, past, t}, ErrorCode::kInvalidArgument, "lane 1 is 98");
    expect({mel, below, t}, ErrorCode::kInvalidArgument, "lane 2 is -1");
    expect({few, lengths, t}, ErrorCode::kInvalidArgument, "5 elements");
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      auto damaged = mel;
      damaged[100] = bad;
      expect({damaged, lengths, t}, ErrorCode::kNonFinite, "element 100");
    }
  }
}

TEST(GigaAmErrors, ResultsThatAreNotFiniteSayHowFarMelAndWeightsReach) {
  for (const std::string kind : {"ctc_tiny", "rnnt_tiny"}) {
    SCOPED_TRACE(kind);
    const GigaAmGolden golden(kind);
    const auto mel = golden.values<float>("input.mel");
    const auto lengths = golden.values<int32_t>("input.mel_lengths");
    const int64_t t = golden.shape("input.mel")[2];
    const auto expect = [&](const WeightFile& file, const std::vector<float>& input, DType activations,
                            const std::vector<std::string>& parts) {
      const auto model = value_or_throw(GigaAmModel::make(file, golden.config, {{}, activations}));
      GigaAmRecognizer recognizer = value_or_throw(GigaAmRecognizer::create(
          model, {static_cast<int64_t>(lengths.size()), t, true}, config_for(test::all_targets().front())));
      const auto result = recognizer.recognize({input, lengths, t});
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::kNonFinite);
      for (const std::string& part : parts)
        EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
    };
    auto loud = mel;
    loud[3] = 3.4e38f;
    expect(golden.file, loud, DType::kBF16, {"log-mel reaches 3.4e+38, that of sound at most 21", "largest weight is"});
    // The same weights with a number that no model has, in the encoder or in the head.
    const auto with = [&](const std::string& name, float value, std::vector<float>& numbers) {
      numbers = golden.values<float>(name);
      numbers[7] = value;
      WeightFile file(golden.file.origin());
      file.keep_all_of(golden.file);
      for (WeightTensor tensor : golden.file.tensors()) {
        if (tensor.name == name) tensor.bytes = std::as_bytes(std::span<const float>(numbers));
        EXPECT_TRUE(file.add(std::move(tensor)));
      }
      return file;
    };
    std::vector<float> numbers;
    const float largest =
        *std::max_element(mel.begin(), mel.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    const std::string reach = "log-mel reaches " + number_text(std::fabs(largest)) + ",";
    const std::string first = "encoder.pre_encode.conv.0.weight";
    expect(with(first, 3e38f, numbers), mel, DType::kF32, {reach, "the largest weight is 3e+38, in \"" + first + "\""});
    expect(with(first, NAN, numbers), mel, DType::kF32, {reach, "the weight \"" + first + "\" holds nan at element 7"});
    if (kind == "rnnt_tiny") {
      const std::string joint = "head.joint.joint_net.1.weight";
      expect(with(joint, NAN, numbers), mel, DType::kF32,
             {"the joint network gives nan", "the projected frames reach ", "the weight \"" + joint + "\" holds nan"});
    }
  }
}

TEST(GigaAmErrors, LimitsOfABatchAreChecked) {
  const auto model = model_of(GigaAmGolden("ctc_tiny"));
  const auto expect = [&](const BatchLimits& limits, const std::string& part) {
    const auto made = GigaAmRecognizer::create(model, limits, config_for(test::all_targets().front()));
    ASSERT_FALSE(made) << part;
    EXPECT_EQ(made.error().code, ErrorCode::kVariable);
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
  };
  expect({0, 100, false}, "0 lanes");
  expect({65, 100, false}, "65 lanes");
  expect({1, 0, false}, "0 mel frames");
  expect({1, 20001, false}, "20001 mel frames; 1 to 20000");
}

TEST(GigaAmErrors, TheDecoderOfATransducerChecksItsProjection) {
  const GigaAmGolden golden("rnnt_tiny");
  RnntGreedy decoder = value_or_throw(RnntGreedy::create(model_of(golden), 2, config_for(test::all_targets().front())));
  const std::vector<float> projected(static_cast<size_t>(2 * 3 * 32), 0.25f);
  const std::vector<int32_t> lengths = {3, 0};
  const auto first = value_or_throw(decoder.decode(projected, 3, lengths));
  EXPECT_TRUE(first[1].tokens.empty());
  const auto expect = [&](std::span<const float> values, int64_t frames, const std::vector<int32_t>& counts,
                          const std::string& part) {
    const auto result = decoder.decode(values, frames, counts);
    ASSERT_FALSE(result) << part;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
    EXPECT_EQ(value_or_throw(decoder.decode(projected, 3, lengths))[0].tokens, first[0].tokens);
  };
  expect(projected, 2, {1, 1, 1}, "3 lanes");
  expect(projected, 4, {3, 0}, "192 elements");
  expect(projected, -1, {3, 0}, "-1");
  expect(projected, 3, {4, 0}, "lane 0 is 4");
  expect(projected, 3, {3, -2}, "lane 1 is -2");
  EXPECT_EQ(RnntGreedy::create(model_of(golden), 65, config_for(test::all_targets().front())).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      RnntGreedy::create(model_of(GigaAmGolden("ctc_tiny")), 1, config_for(test::all_targets().front())).error().code,
      ErrorCode::kInvalidArgument);
}

class GigaAmEmptyLanes : public ::testing::TestWithParam<const char*> {};

TEST_P(GigaAmEmptyLanes, SayNothing) {
  const GigaAmGolden golden(GetParam());
  const auto mel = golden.values<float>("input.mel");
  const int64_t t = golden.shape("input.mel")[2];
  for (const test::Target& target : test::all_targets()) {
    GigaAmRecognizer recognizer =
        value_or_throw(GigaAmRecognizer::create(model_of(golden), {3, t, true}, config_for(target)));
    const RecognizedBatch batch = value_or_throw(recognizer.recognize({mel, std::vector<int32_t>{97, 0, 34}, t}));
    EXPECT_EQ(batch.encoded_lengths, (std::vector<int32_t>{25, 0, 9}));
    EXPECT_TRUE(batch.sequences[1].tokens.empty());
    EXPECT_EQ(batch.sequences[2].tokens, testing::expected_sequences(golden)[2].tokens);
    const RecognizedBatch nothing = value_or_throw(recognizer.recognize({mel, std::vector<int32_t>{0, 0, 0}, t}));
    EXPECT_EQ(nothing.encoded_lengths, (std::vector<int32_t>{0, 0, 0}));
    for (const TokenSequence& sequence : nothing.sequences) EXPECT_TRUE(sequence.tokens.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GigaAmEmptyLanes, ::testing::Values("ctc_tiny", "rnnt_tiny"));

/// Frames [0, frames) of one lane of a batch of mels [lanes, features, t].
std::vector<float> mel_of_lane(const std::vector<float>& mel, size_t lane, size_t features, size_t t, size_t frames) {
  std::vector<float> alone;
  for (size_t row = 0; row < features; ++row) {
    const auto first = mel.begin() + static_cast<std::ptrdiff_t>((lane * features + row) * t);
    alone.insert(alone.end(), first, first + static_cast<std::ptrdiff_t>(frames));
  }
  return alone;
}

TEST(GigaAmBatch, AnUtteranceAloneGivesWhatItGivesPadded) {
  const GigaAmGolden golden("ctc_tiny");
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const auto shape = golden.shape("input.mel");
  const auto features = static_cast<size_t>(shape[1]), t = static_cast<size_t>(shape[2]);
  const auto expected = testing::expected_sequences(golden);
  const auto scores = golden.values<float>("expected.log_probs");
  const auto frames = static_cast<size_t>(golden.shape("expected.encoded")[1]);
  const size_t classes = scores.size() / (lengths.size() * frames);
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GigaAmRecognizer recognizer =
        value_or_throw(GigaAmRecognizer::create(model_of(golden), {3, shape[2]}, config_for(target)));
    for (size_t lane = 0; lane < lengths.size(); ++lane) {
      SCOPED_TRACE(lane);
      const auto length = static_cast<size_t>(lengths[lane]);
      const RecognizedBatch batch = value_or_throw(recognizer.recognize(
          {mel_of_lane(mel, lane, features, t, length), std::vector<int32_t>{lengths[lane]}, lengths[lane]}));
      EXPECT_EQ(batch.sequences[0].tokens, expected[lane].tokens);
      const auto first = scores.begin() + static_cast<std::ptrdiff_t>(lane * frames * classes);
      const std::vector<float> padded(first,
                                      first + static_cast<std::ptrdiff_t>(static_cast<size_t>(batch.frames) * classes));
      EXPECT_LE(row_difference(batch.scores, padded, batch.encoded_lengths, batch.frames), 5e-5);
    }
  }
}

TEST(GigaAmBatch, AFewFramesAreAnAnswerAndTheNextCallWorks) {
  const GigaAmGolden golden("ctc_tiny");
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const auto shape = golden.shape("input.mel");
  const auto features = static_cast<size_t>(shape[1]), t = static_cast<size_t>(shape[2]);
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GigaAmRecognizer recognizer =
        value_or_throw(GigaAmRecognizer::create(model_of(golden), {3, shape[2]}, config_for(target)));
    for (int32_t count = 0; count <= 6; ++count) {
      SCOPED_TRACE(count);
      const auto few = recognizer.recognize(
          {mel_of_lane(mel, 0, features, t, static_cast<size_t>(count)), std::vector<int32_t>{count}, count});
      if (count == 0) {
        ASSERT_FALSE(few);
        EXPECT_EQ(few.error().code, ErrorCode::kVariable);
        EXPECT_NE(few.error().message.find("t is 0"), std::string::npos) << few.error().message;
        continue;
      }
      ASSERT_TRUE(few) << few.error().text();
      // Two convolutions of stride 2, each (n - 1) / 2 + 1.
      const int32_t halved = (count - 1) / 2 + 1;
      EXPECT_EQ(few->encoded_lengths, std::vector<int32_t>{(halved - 1) / 2 + 1});
    }
    const RecognizedBatch batch = value_or_throw(recognizer.recognize({mel, lengths, shape[2]}));
    EXPECT_EQ(batch.sequences[0].tokens, testing::expected_sequences(golden)[0].tokens);
  }
}

}  // namespace
}  // namespace tandem
