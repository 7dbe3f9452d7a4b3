#include "core/models/silero_vad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/audio/segmentation.h"
#include "core/audio/vad_iterator.h"
#include "tests/support/golden.h"
#include "tests/support/native_kernels.h"
#include "tests/support/silero_stepper.h"

namespace tandem {
namespace {

SileroVad make_vad(int64_t rate = 16000) {
  auto vad = SileroVad::create(testing::silero_weights("v6", rate), test::uncached_config());
  if (!vad) throw std::runtime_error(vad.error().text());
  return std::move(*vad);
}

std::vector<double> golden_probabilities(const std::string& id) {
  const nlohmann::json golden = testing::golden_json("silero/v6_16k.json");
  for (const nlohmann::json& clip : golden["clips"])
    if (clip["id"] == id) return testing::numbers_of(clip["probs"]);
  throw std::runtime_error("no clip " + id);
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-5) << "window " << i;
}

TEST(SileroVad, PiecesOfAnySizeGiveTheProbabilitiesOfTheReference) {
  SileroVad vad = make_vad();
  const std::vector<float> samples = testing::silero_clip("p16-goforward");
  for (const size_t piece : {size_t{1}, size_t{160}, size_t{512}, size_t{1000}, samples.size()}) {
    SCOPED_TRACE(piece);
    std::vector<float> found;
    for (size_t at = 0; at < samples.size(); at += piece) {
      const auto part = std::span<const float>(samples).subspan(at, std::min(piece, samples.size() - at));
      ASSERT_TRUE(vad.push(part, found).has_value());
    }
    EXPECT_EQ(vad.sample_count(), static_cast<int64_t>(samples.size()));
    ASSERT_TRUE(vad.flush(found).has_value());
    expect_near(found, golden_probabilities("p16-goforward"));
    ASSERT_TRUE(vad.reset().has_value());
  }
}

TEST(SileroVad, StepsTakeExactlyOneWindow) {
  SileroVad vad = make_vad();
  const std::vector<float> samples = testing::silero_clip("p16-exact");
  std::vector<float> found;
  for (size_t at = 0; at < samples.size(); at += 512) {
    const auto probability = vad.step(std::span<const float>(samples).subspan(at, 512));
    ASSERT_TRUE(probability.has_value()) << probability.error().text();
    found.push_back(*probability);
  }
  expect_near(found, golden_probabilities("p16-exact"));
  for (const size_t wrong : {size_t{0}, size_t{256}, size_t{511}, size_t{576}, size_t{1536}}) {
    const auto refused = vad.step(std::span<const float>(samples).first(wrong));
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("takes 512 samples, not " + std::to_string(wrong)), std::string::npos);
  }
  ASSERT_TRUE(vad.push(std::span<const float>(samples).first(7), found).has_value());
  EXPECT_NE(vad.step(std::span<const float>(samples).first(512)).error().message.find("7 pushed samples"),
            std::string::npos);
}

TEST(SileroVad, NonFiniteSamplesAreRefusedAndTheStreamGoesOn) {
  SileroVad vad = make_vad();
  const std::vector<float> samples = testing::silero_clip("p16-goforward");
  std::vector<float> found;
  const auto all = std::span<const float>(samples);
  ASSERT_TRUE(vad.push(all.first(10000), found).has_value());
  const size_t before = found.size();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> piece(samples.begin() + 10000, samples.begin() + 13000);
    piece[1234] = bad;
    const auto refused = vad.push(piece, found);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kNonFinite);
    EXPECT_NE(refused.error().message.find("11234"), std::string::npos) << refused.error().message;
    EXPECT_EQ(found.size(), before);
    EXPECT_EQ(vad.sample_count(), 10000);
  }
  ASSERT_TRUE(vad.push(all.subspan(10000), found).has_value());
  ASSERT_TRUE(vad.flush(found).has_value());
  expect_near(found, golden_probabilities("p16-goforward"));
  const auto after = vad.push(all.first(1), found);
  ASSERT_FALSE(after.has_value());
  EXPECT_NE(after.error().message.find("call reset()"), std::string::npos);
}

TEST(SileroVad, SamplesThatOverflowTheNetworkChangeNothing) {
  SileroVad vad = make_vad();
  const std::vector<float> samples = testing::silero_clip("p16-goforward");
  const auto all = std::span<const float>(samples);
  std::vector<float> found;
  ASSERT_TRUE(vad.push(all.first(10100), found).has_value());
  const size_t before = found.size();
  // The fourth window from here on overflows; those before it are fine.
  for (const float large : {3e38f, -3.4e38f}) {
    std::vector<float> piece(samples.begin() + 10100, samples.begin() + 13000);
    piece[1500] = large;
    const auto refused = vad.push(piece, found);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kNonFinite);
    EXPECT_NE(refused.error().message.find("window 22 (from sample 11264 on)"), std::string::npos)
        << refused.error().message;
    EXPECT_EQ(found.size(), before);
    EXPECT_EQ(vad.sample_count(), 10100);
  }
  ASSERT_TRUE(vad.push(all.subspan(10100), found).has_value());
  ASSERT_TRUE(vad.flush(found).has_value());
  expect_near(found, golden_probabilities("p16-goforward"));
}

TEST(SileroVad, AnOverflowIsBlamedOnSamplesOnlyWhenTheyAreLarge) {
  SileroWeights weights = testing::silero_weights("v6", 16000);
  const auto expect = [&](float sample, const std::string& part) {
    auto vad = SileroVad::create(weights, test::uncached_config());
    ASSERT_TRUE(vad.has_value()) << vad.error().text();
    const auto refused = vad->step(std::vector<float>(512, sample));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kNonFinite);
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  };
  expect(3e38f, "its samples reach 3e+38; scale them to -1 to 1");
  std::vector<float> large = *weights.conv1_weight.values<float>();
  for (float& weight : large) weight *= 1e38f;
  weights.conv1_weight.bytes = std::as_bytes(std::span<const float>(large));
  expect(0.5f, "its samples reach 0.5, which is usual: a weight is damaged or too large");
}

TEST(SileroVad, AFlushThatOverflowsDoesNotEndTheStream) {
  SileroVad vad = make_vad();
  std::vector<float> found;
  ASSERT_TRUE(vad.push(testing::silero_clip("p16-exact"), found).has_value());
  const std::vector<float> state(vad.h()->begin(), vad.h()->end());
  ASSERT_TRUE(vad.push(std::vector<float>{3e38f, -3e38f}, found).has_value());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(vad.flush(found).error().code, ErrorCode::kNonFinite);
  EXPECT_EQ(std::vector<float>(vad.h()->begin(), vad.h()->end()), state);
  EXPECT_TRUE(vad.push(std::vector<float>{0.0f}, found).has_value()) << "the stream has ended";
}

TEST(SileroVad, PlacesAreKeptAndFoundAgain) {
  SileroVad vad = make_vad();
  const std::vector<float> samples = testing::silero_clip("p16-goforward");
  const auto all = std::span<const float>(samples);
  std::vector<float> first, again;
  ASSERT_TRUE(vad.push(all.first(7000), first).has_value());
  SileroVad::Place place;
  ASSERT_TRUE(vad.save(place).has_value());
  first.clear();
  ASSERT_TRUE(vad.push(all.subspan(7000), first).has_value());
  ASSERT_TRUE(vad.flush(first).has_value());
  ASSERT_TRUE(vad.go_back(place).has_value());
  EXPECT_EQ(vad.sample_count(), 7000);
  ASSERT_TRUE(vad.push(all.subspan(7000), again).has_value());
  ASSERT_TRUE(vad.flush(again).has_value());
  EXPECT_EQ(first, again);
}

TEST(SileroVad, StateOnTheHostStaysWhenTheNewOneIsNotFinite) {
  SileroJit jit{Silero(testing::silero_weights("v6", 16000))};
  ASSERT_TRUE(jit.prepare_with_config(test::uncached_config()).has_value());
  auto recurrent = JitRecurrent<SileroJit>::make(std::move(jit), LstmState::zeros(kSileroHidden), 1);
  ASSERT_TRUE(recurrent.has_value()) << recurrent.error().text();
  std::vector<float> frame(576, 0.01f);
  const auto step = [&] {
    return recurrent->step([&](SileroJit& wrapper) { return wrapper.chunk_mut()->copy_from(frame); });
  };
  ASSERT_TRUE(step().has_value());
  const LstmState before = recurrent->state();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
    frame[100] = bad;
    const auto refused = step();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kNonFinite);
    EXPECT_NE(refused.error().message.find(" of the new state h is nan"), std::string::npos) << refused.error().message;
    EXPECT_EQ(recurrent->state().h, before.h);
    EXPECT_EQ(recurrent->state().c, before.c);
  }
  frame[100] = 0.01f;
  EXPECT_TRUE(step().has_value());
}

TEST(SileroVad, EventsAreTheSameForEveryChunking) {
  SileroVad vad = make_vad();
  const nlohmann::json golden = testing::golden_json("silero/v6_16k.json");
  const std::vector<float> samples = testing::silero_clip("p16-long");
  nlohmann::json expected;
  for (const nlohmann::json& clip : golden["clips"])
    if (clip["id"] == "p16-long") expected = clip["segments"]["default"]["vad_iterator"];
  ASSERT_GT(expected.size(), 2u);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{997}, size_t{3200}, samples.size()}) {
    SCOPED_TRACE(piece);
    auto iterator = VadIterator::create(16000);
    std::vector<SpeechEvent> events;
    const auto take = [&](float probability) {
      if (const auto event = iterator->add(static_cast<double>(probability))) events.push_back(*event);
    };
    for (size_t at = 0; at < samples.size(); at += piece) {
      const auto part = std::span<const float>(samples).subspan(at, std::min(piece, samples.size() - at));
      ASSERT_TRUE(vad.push(part, take).has_value());
    }
    ASSERT_TRUE(vad.flush(take).has_value());
    ASSERT_EQ(events.size(), expected.size());
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].kind == SpeechEvent::Kind::kStart ? "start" : "end", expected[i]["type"]);
      EXPECT_EQ(events[i].sample, expected[i]["sample"]);
    }
    ASSERT_TRUE(vad.reset().has_value());
  }
}

TEST(SileroVad, SilenceAndNoiseAtTheLimitOfHearingHoldNoSpeech) {
  std::vector<float> noise(16000 * 60);
  uint32_t state = 1;
  for (float& sample : noise) {
    state = state * 1664525 + 1013904223;
    sample = (static_cast<float>(state) / 4294967296.0f - 0.5f) * 2e-5f;
  }
  const std::vector<float> silence(noise.size(), 0.0f);
  const auto longest = static_cast<int64_t>(noise.size());
  for (const char* version : {"v5", "v6"}) {
    auto vad = SileroVad::create(testing::silero_weights(version, 16000), test::uncached_config());
    ASSERT_TRUE(vad.has_value()) << vad.error().text();
    for (const std::vector<float>& samples : {silence, noise}) {
      std::vector<float> found;
      ASSERT_TRUE(vad->push(samples, found).has_value());
      ASSERT_EQ(found.size(), 1875u);
      const auto segments = speech_timestamps(std::vector<double>(found.begin(), found.end()), longest, 16000);
      EXPECT_TRUE(segments->empty()) << version << " " << samples[0];
      ASSERT_TRUE(vad->reset().has_value());
    }
  }
}

TEST(SileroVad, StateOnTheHostGivesTheSameAsStateInThePlan) {
  SileroJit jit{Silero(testing::silero_weights("v6", 16000))};
  const auto unprepared = JitRecurrent<SileroJit>::make(SileroJit(Silero(testing::silero_weights("v6", 16000))),
                                                        LstmState::zeros(kSileroHidden), 1);
  ASSERT_FALSE(unprepared.has_value());
  EXPECT_EQ(unprepared.error().code, ErrorCode::kNotPrepared);
  ASSERT_TRUE(jit.prepare_with_config(test::uncached_config()).has_value());
  auto recurrent = JitRecurrent<SileroJit>::make(std::move(jit), LstmState::zeros(kSileroHidden), 1);
  ASSERT_TRUE(recurrent.has_value()) << recurrent.error().text();
  std::vector<float> found;
  WindowFramer framer(512, 64);
  const auto step = [&](std::span<const float> frame) {
    const auto head = recurrent->step([&](SileroJit& wrapper) { return wrapper.chunk_mut()->copy_from(frame); });
    if (!head) ADD_FAILURE() << head.error().text();
    if (head) found.push_back((*head)[0]);
    return head.has_value();
  };
  framer.push(testing::silero_clip("p16-goforward"), step);
  framer.flush(step);
  expect_near(found, golden_probabilities("p16-goforward"));
  SileroVad vad = make_vad();
  std::vector<float> streamed;
  ASSERT_TRUE(vad.push(testing::silero_clip("p16-goforward"), streamed).has_value());
  ASSERT_TRUE(vad.flush(streamed).has_value());
  EXPECT_EQ(found, streamed);
  const auto h = vad.h(), c = vad.c();
  EXPECT_EQ(std::vector<float>(h->begin(), h->end()), recurrent->state().h);
  EXPECT_EQ(std::vector<float>(c->begin(), c->end()), recurrent->state().c);
}

TEST(SileroVad, RatesAndChunksThatTheModelDoesNotKnowAreRefused) {
  SileroWeights weights = testing::silero_weights("v6", 16000);
  weights.sample_rate = 44100;
  const auto refused = SileroVad::create(weights, test::uncached_config());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("44100"), std::string::npos);
  const Silero model(testing::silero_weights("v6", 16000));
  const auto graph = std::make_shared<Graph>();
  const auto input = [&](int32_t number, int64_t size) {
    return Tensor::input(graph, number, "x", DType::kF32, {1, size});
  };
  try {
    static_cast<void>(model.forward_chunk(input(0, 512), input(1, 128), input(2, 128)));
    FAIL() << "a bare window was accepted";
  } catch (const TensorError& error) {
    EXPECT_NE(std::string(error.what()).find("[1, 576]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tandem
