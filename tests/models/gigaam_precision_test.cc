// What each way to keep weights and activations costs in accuracy: against the float64 references, on every target.

#include <gtest/gtest.h>

#include <cstdio>

#include "core/base/text.h"
#include "core/graph/constant.h"
#include "tests/support/gigaam_target.h"

namespace tandem {
namespace {

using testing::GigaAmGolden;
using testing::row_difference;
using testing::value_or_throw;

/// The bounds that core/models/README.md states: largest absolute error of the encoded frames and of CTC's
/// log-probabilities.
struct Bound {
  DType weights;
  double encoded, log_probs;
  bool dots = false;  ///< By bf16 dot products, on targets that have them: the interpreter has, on every machine.
  DType activations = DType::kF32;
  /// The CTC golden that says other tokens, because rounding moves log-probabilities by more than what separates two
  /// classes there.
  std::string_view other_tokens = {};
};
constexpr Bound kBounds[] = {{DType::kF32, 2e-5, 5e-5},
                             {DType::kF16, 4e-3, 1e-2},
                             {DType::kBF16, 2.5e-2, 5e-2},
                             {DType::kBF16, 3.5e-2, 8e-2, true},
                             {DType::kI8, 6e-2, 0.25, false, DType::kF32, "ctc_tiny"},
                             {DType::kF32, 2.5e-2, 8e-2, false, DType::kBF16},
                             {DType::kF16, 2.5e-2, 8e-2, false, DType::kBF16, "ctc_tiny"},
                             {DType::kBF16, 3e-2, 0.1, false, DType::kBF16},
                             {DType::kBF16, 3e-2, 0.1, true, DType::kBF16},
                             {DType::kI8, 8e-2, 0.27, false, DType::kBF16, "ctc_tiny"}};

std::string name_of_choice(const Bound& bound) {
  return concat(bound.weights == DType::kI8 ? "int8" : name_of(bound.weights), bound.dots ? "_dots" : "",
                bound.activations == DType::kBF16 ? "_bf16_activations" : "");
}

struct Errors {
  double encoded, log_probs;
  bool same_tokens;  ///< As the reference.
  bool dots;         ///< Does the plan multiply by them?
};

/// Errors of one model with its weights kept so.
Errors errors_of(const GigaAmGolden& golden, const WeightFile& weights, const Bound& choice,
                 const test::Target& target) {
  const auto model = value_or_throw(GigaAmModel::make(weights, golden.config, {choice.weights, choice.activations}));
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const int64_t t = golden.shape("input.mel")[2];
  PrepareConfig config = testing::config_for(target);
  config.bfloat16_dot = choice.dots;
  GigaAmRecognizer recognizer =
      value_or_throw(GigaAmRecognizer::create(model, {static_cast<int64_t>(lengths.size()), t, true}, config));
  const RecognizedBatch batch = value_or_throw(recognizer.recognize({mel, lengths, t}));
  const double encoded =
      row_difference(batch.encoded, golden.values<float>("expected.encoded"), batch.encoded_lengths, batch.frames);
  const bool ctc = golden.config.head->kind == GigaAmHead::kCtc;
  const double scores = ctc ? row_difference(batch.scores, golden.values<float>("expected.log_probs"),
                                             batch.encoded_lengths, batch.frames)
                            : 0;
  const std::vector<TokenSequence> expected = testing::expected_sequences(golden);
  bool same_tokens = batch.sequences.size() == expected.size();
  for (size_t lane = 0; same_tokens && lane < expected.size(); ++lane)
    same_tokens = batch.sequences[lane].tokens == expected[lane].tokens;
  bool dots = false;
  for (const Kernel& kernel : recognizer.jit().session().plan()->program().kernels)
    dots |= kernel.name.find("_dot_") != std::string::npos;
  return {encoded, scores, same_tokens, dots};
}

class GigaAmPrecision : public ::testing::TestWithParam<Bound> {};

TEST_P(GigaAmPrecision, IsWithinTheStatedErrorOnEveryTarget) {
  const Bound bound = GetParam();
  for (const char* name : {"ctc_tiny", "ctc_tiny_v2", "rnnt_tiny"}) {
    const GigaAmGolden golden(name);
    for (const test::Target& target : test::all_targets()) {
      SCOPED_TRACE(concat(name, ", ", target.name));
      const auto [encoded, scores, same_tokens, dots] = errors_of(golden, golden.file, bound, target);
      std::printf("%s, %s, %s: encoded %.2g, log-probs %.2g, %s tokens%s\n", name, name_of_choice(bound).c_str(),
                  target.name.c_str(), encoded, scores, same_tokens ? "the same" : "other",
                  dots ? ", by bf16 dot products" : "");
      if (golden.config.head->kind == GigaAmHead::kCtc) {
        EXPECT_EQ(same_tokens, name != bound.other_tokens);
      }
      const bool may_have_dots = bound.dots && target.backend->capabilities().bfloat16_dot;
      EXPECT_EQ(dots, may_have_dots && target.capabilities.bfloat16_dot);
      EXPECT_LE(encoded, bound.encoded);
      EXPECT_LE(scores, bound.log_probs);
      // A smaller dtype that loses nothing isn't one.
      if (bound.weights != DType::kF32 || bound.activations != DType::kF32) {
        EXPECT_GT(encoded, 2e-5);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Choices, GigaAmPrecision, ::testing::ValuesIn(kBounds),
                         [](const auto& choice) { return name_of_choice(choice.param); });

TEST(GigaAmPrecisionErrors, ActivationsAreNotStoredAsAnythingElse) {
  const GigaAmGolden golden("ctc_tiny");
  for (const DType dtype : {DType::kF16, DType::kF64, DType::kI8}) {
    const auto refused = GigaAmModel::make(golden.file, golden.config, {std::nullopt, dtype});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find(concat("activations can't be stored as ", name_of(dtype), "; f32 and bf16")),
              std::string::npos);
  }
}

/// With bf16 activations reproducible numerics gives the same bits everywhere.
TEST(GigaAmPrecisionBits, AreTheSameOnAllTargetsWithBfloat16Activations) {
  for (const char* name : {"ctc_tiny", "ctc_tiny_v2", "rnnt_tiny"})
    for (const DType weights : {DType::kF32, DType::kBF16}) {
      const GigaAmGolden golden(name);
      const auto model = value_or_throw(GigaAmModel::make(golden.file, golden.config, {weights, DType::kBF16}));
      const auto mel = golden.values<float>("input.mel");
      const auto lengths = golden.values<int32_t>("input.mel_lengths");
      const int64_t t = golden.shape("input.mel")[2];
      std::optional<RecognizedBatch> first;
      for (const test::Target& target : test::all_targets()) {
        SCOPED_TRACE(concat(name, ", ", name_of(weights), ", ", target.name));
        GigaAmRecognizer recognizer =
            value_or_throw(GigaAmRecognizer::create(model, {static_cast<int64_t>(lengths.size()), t, true},
                                                    testing::config_for(target, Numerics::kReproducible)));
        const RecognizedBatch batch = value_or_throw(recognizer.recognize({mel, lengths, t}));
        if (!first) first = batch;
        EXPECT_EQ(row_difference(batch.encoded, first->encoded, batch.encoded_lengths, batch.frames), 0);
        EXPECT_EQ(row_difference(batch.scores, first->scores, batch.encoded_lengths, batch.frames), 0);
      }
    }
}

TEST(GigaAmPrecisionErrors, WeightsAreNotKeptAsAnythingElse) {
  const GigaAmGolden golden("ctc_tiny");
  const auto refused = GigaAmModel::make(golden.file, golden.config, {DType::kF64});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("f64; f32, f16, bf16 and i8 are possible"), std::string::npos);
}

/// A file that stores f16 or bf16 gives what the same numbers in f32 give.
TEST(GigaAmPrecisionFiles, OfHalfPrecisionAreReadAsTheyAre) {
  const GigaAmGolden golden("ctc_tiny");
  const test::Target& target = test::all_targets().front();
  const auto mel = golden.values<float>("input.mel");
  const auto lengths = golden.values<int32_t>("input.mel_lengths");
  const int64_t t = golden.shape("input.mel")[2];
  for (const DType stored : {DType::kF16, DType::kBF16, DType::kF64}) {
    SCOPED_TRACE(std::string(name_of(stored)));
    WeightFile narrow("narrow"), wide("wide");
    for (const WeightTensor& tensor : golden.file.tensors()) {
      if (tensor.dtype != DType::kF32 || tensor.name.starts_with("input.") || tensor.name.starts_with("expected"))
        continue;
      const auto values = *tensor.values<float>();
      const auto bytes = std::make_shared<std::vector<std::byte>>();
      for (const float value : values) append_element(*bytes, stored, static_cast<double>(value));
      const auto restored = std::make_shared<std::vector<float>>();
      for (size_t i = 0; i < values.size(); ++i)
        restored->push_back(static_cast<float>(constant_element(stored, bytes->data(), i)));
      WeightTensor copy = tensor;
      copy.bytes = std::as_bytes(std::span<const float>(*restored));
      wide.keep(restored);
      ASSERT_TRUE(wide.add(copy));
      copy.dtype = stored;
      copy.bytes = *bytes;
      narrow.keep(bytes);
      ASSERT_TRUE(narrow.add(copy));
    }
    const auto scores = [&](const WeightFile& file) {
      const auto model = value_or_throw(GigaAmModel::make(file, golden.config));
      GigaAmRecognizer recognizer = value_or_throw(GigaAmRecognizer::create(
          model, {static_cast<int64_t>(lengths.size()), t, true}, testing::config_for(target)));
      return value_or_throw(recognizer.recognize({mel, lengths, t})).scores;
    };
    EXPECT_EQ(scores(narrow), scores(wide));
  }
}

}  // namespace
}  // namespace tandem
