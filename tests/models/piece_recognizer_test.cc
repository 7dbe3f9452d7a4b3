// Clips of sound to tokens, on every target.

#include "core/models/piece_recognizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/gigaam_target.h"

namespace tandem {
namespace {

using testing::config_for;
using testing::GigaAmGolden;
using testing::model_of;
using testing::value_or_throw;

using Clips = std::vector<std::span<const float>>;

std::vector<float> golden_clip() {
  std::vector<float> samples;
  for (const int16_t sample : GigaAmGolden("e2e_tiny").values<int16_t>("input.pcm"))
    samples.push_back(static_cast<float>(sample) / 32768.0f);
  return samples;
}

PieceRecognizerOptions two_seconds(int64_t lanes) {
  PieceRecognizerOptions options;
  options.lanes = lanes;
  options.longest_s = 2;
  return options;
}

const test::Target& best_native() { return test::all_targets()[1]; }

TEST(PieceRecognizers, GiveTheTokensOfTheReferenceInAnyCompany) {
  const GigaAmGolden golden("e2e_tiny");
  const auto expected = testing::expected_sequences(golden);
  const std::vector<float> clip = golden_clip();
  const std::span<const float> whole = clip;
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    PieceRecognizer recognizer =
        value_or_throw(PieceRecognizer::create(model_of(golden), two_seconds(3), config_for(target)));
    EXPECT_EQ(recognizer.sample_rate(), 16000);
    EXPECT_EQ(recognizer.samples_per_frame(), 640);
    EXPECT_EQ(recognizer.longest(), 32000);
    const Clips batches[] = {{whole}, {whole.first(9000), whole, whole.first(100)}, {{}, whole}};
    for (const Clips& clips : batches) {
      const auto sequences = value_or_throw(recognizer.recognize(clips));
      ASSERT_EQ(sequences.size(), clips.size());
      for (size_t i = 0; i < clips.size(); ++i) {
        if (clips[i].size() == whole.size()) {
          EXPECT_EQ(sequences[i].tokens, expected[0].tokens);
          EXPECT_EQ(sequences[i].frames, expected[0].frames);
        } else if (clips[i].size() < 320) {
          EXPECT_TRUE(sequences[i].tokens.empty());
        }
      }
    }
    EXPECT_TRUE(value_or_throw(recognizer.recognize({})).empty());
    EXPECT_TRUE(value_or_throw(recognizer.recognize(Clips{whole.first(319)}))[0].tokens.empty());
  }
}

TEST(PieceRecognizers, OfTransducersDoNotMixTheirLanes) {
  const auto model = model_of(GigaAmGolden("rnnt_tiny"));
  const std::vector<float> clip = golden_clip();
  const std::span<const float> whole = clip;
  const Clips clips = {whole, whole.first(5000), {}, whole.subspan(3000, 12000)};
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    PieceRecognizer recognizer =
        value_or_throw(PieceRecognizer::create(model, two_seconds(4), config_for(target, Numerics::kReproducible)));
    const auto sequences = value_or_throw(recognizer.recognize(clips));
    for (size_t i = 0; i < clips.size(); ++i) {
      const auto expected = value_or_throw(recognizer.recognize(Clips{clips[i]}));
      EXPECT_EQ(sequences[i].tokens, expected[0].tokens) << i;
      EXPECT_EQ(sequences[i].frames, expected[0].frames) << i;
    }
    EXPECT_FALSE(sequences[0].tokens.empty());
    EXPECT_TRUE(sequences[2].tokens.empty());
  }
}

TEST(PieceRecognizers, SearchWithABeamAsTheScoresOfTheReferenceSay) {
  const GigaAmGolden golden("e2e_tiny");
  PieceRecognizerOptions options = two_seconds(2);
  options.beam_width = 16;
  PieceRecognizer recognizer =
      value_or_throw(PieceRecognizer::create(model_of(golden), options, config_for(best_native())));
  const auto scores = golden.values<float>("expected.log_probs");
  const TokenSequence expected = value_or_throw(ctc_beam_search({scores, 34}, 16)).front().sequence;
  const std::vector<float> clip = golden_clip();
  const auto sequences = value_or_throw(recognizer.recognize(Clips{{}, clip}));
  EXPECT_EQ(sequences[1].tokens, expected.tokens);
  EXPECT_EQ(sequences[1].frames, expected.frames);
  EXPECT_TRUE(sequences[0].tokens.empty());
}

TEST(PieceRecognizers, GiveWhatFrontEndAndEncoderMakeOfAClip) {
  const GigaAmGolden golden("e2e_tiny");
  PieceRecognizer recognizer =
      value_or_throw(PieceRecognizer::create(model_of(golden), two_seconds(2), config_for(best_native())));
  const std::vector<float> clip = golden_clip();
  const std::vector<float> mel = value_or_throw(recognizer.log_mel(clip));
  EXPECT_LE(testing::row_difference(mel, golden.values<float>("expected.log_mel"), {64}, 64), 1e-5);
  const std::vector<int32_t> lengths = {static_cast<int32_t>(mel.size() / 64)};
  const RecognizedBatch batch = value_or_throw(recognizer.recognizer().recognize({mel, lengths, lengths[0]}));
  EXPECT_LE(testing::row_difference(batch.scores, golden.values<float>("expected.log_probs"), batch.encoded_lengths,
                                    batch.frames),
            5e-5);
  EXPECT_TRUE(value_or_throw(recognizer.log_mel(std::span(clip).first(319))).empty());
  EXPECT_EQ(recognizer.log_mel(std::vector<float>(32001)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(recognizer.log_mel(std::vector<float>{std::nanf("")}).error().code, ErrorCode::kNonFinite);
}

TEST(PieceRecognizers, RefuseWrongClipsAndGoOn) {
  const GigaAmGolden golden("e2e_tiny");
  PieceRecognizer recognizer =
      value_or_throw(PieceRecognizer::create(model_of(golden), two_seconds(2), config_for(best_native())));
  const std::vector<float> clip = golden_clip(), much(32001, 0.1f);
  std::vector<float> damaged = clip;
  damaged[777] = std::numeric_limits<float>::quiet_NaN();
  const auto expect = [&](const Clips& clips, ErrorCode code, const std::string& part) {
    const auto sequences = recognizer.recognize(clips);
    ASSERT_FALSE(sequences) << part;
    EXPECT_EQ(sequences.error().code, code);
    EXPECT_NE(sequences.error().message.find(part), std::string::npos) << sequences.error().message;
    EXPECT_EQ(value_or_throw(recognizer.recognize(Clips{clip}))[0].tokens, golden.values<int32_t>("expected.tokens"));
  };
  expect({clip, clip, clip}, ErrorCode::kInvalidArgument, "3 clips");
  expect({clip, much}, ErrorCode::kInvalidArgument, "clip 1 has 32001 samples; at most 32000");
  expect({clip, damaged}, ErrorCode::kNonFinite, "clip 1 holds nan at sample 777");
}

TEST(PieceRecognizers, RefuseWrongOptionsByName) {
  const auto expect = [](const char* golden, const PieceRecognizerOptions& options, ErrorCode code, const char* part) {
    const auto made = PieceRecognizer::create(model_of(GigaAmGolden(golden)), options, config_for(best_native()));
    ASSERT_FALSE(made) << part;
    EXPECT_EQ(made.error().code, code);
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
  };
  expect("ctc_tiny", {0, 30, 0}, ErrorCode::kInvalidArgument, "lanes is 0");
  expect("ctc_tiny", {65, 30, 0}, ErrorCode::kInvalidArgument, "lanes is 65");
  expect("ctc_tiny", {1, 0.5, 0}, ErrorCode::kInvalidArgument, "longest_s is 0.5");
  expect("ctc_tiny", {1, std::nan(""), 0}, ErrorCode::kInvalidArgument, "longest_s is nan");
  expect("ctc_tiny", {1, 250, 0}, ErrorCode::kUnsupported, "reach only 20000");
  expect("ctc_tiny", {1, 30, 10001}, ErrorCode::kInvalidArgument, "beam_width is 10001");
  expect("rnnt_tiny", {1, 30, 4}, ErrorCode::kInvalidArgument, "RN-T head has no beam search");
}

}  // namespace
}  // namespace tandem
