#include "core/audio/segmentation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/audio/vad_iterator.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

using nlohmann::json;
using testing::golden_json;
using testing::numbers_of;

/// Options by their names in the reference.
SegmentationOptions options_of(const json& params) {
  SegmentationOptions options;
  for (const auto& [key, value] : params.items()) {
    if (key == "threshold")
      options.threshold = value;
    else if (key == "neg_threshold")
      options.neg_threshold = value.get<double>();
    else if (key == "min_speech_duration_ms")
      options.min_speech_duration_ms = value;
    else if (key == "max_speech_duration_s")
      options.max_speech_duration_s = value;
    else if (key == "min_silence_duration_ms")
      options.min_silence_duration_ms = value;
    else if (key == "speech_pad_ms")
      options.speech_pad_ms = value;
    else if (key == "min_silence_at_max_speech")
      options.min_silence_at_max_speech_ms = value;
    else if (key == "use_max_poss_sil_at_max_speech")
      options.use_longest_silence_at_max_speech = value;
    else if (key != "return_seconds" && key != "time_resolution")
      ADD_FAILURE() << "unknown parameter " << key;
  }
  return options;
}

VadIteratorOptions iterator_options_of(const SegmentationOptions& options) {
  VadIteratorOptions result;
  result.threshold = options.threshold;
  result.min_silence_duration_ms = options.min_silence_duration_ms;
  result.speech_pad_ms = options.speech_pad_ms;
  return result;
}

json timestamps(const std::vector<double>& probabilities, int64_t samples, int64_t rate, const json& params) {
  const SegmentationOptions options = options_of(params);
  json result = json::array();
  if (params.value("return_seconds", false)) {
    const auto found =
        speech_timestamps_seconds(probabilities, samples, rate, options, params.value("time_resolution", 1));
    if (!found) return found.error().text();
    for (const auto& segment : *found) result.push_back({segment.start, segment.end});
  } else {
    const auto found = speech_timestamps(probabilities, samples, rate, options);
    if (!found) return found.error().text();
    for (const auto& segment : *found) result.push_back({segment.start, segment.end});
  }
  return result;
}

json events(const std::vector<double>& probabilities, int64_t rate, const SegmentationOptions& options) {
  auto iterator = VadIterator::create(rate, iterator_options_of(options));
  if (!iterator) return iterator.error().text();
  json result = json::array();
  for (size_t frame = 0; frame < probabilities.size(); ++frame) {
    const auto event = iterator->add(probabilities[frame]);
    if (!event) continue;
    const char* type = event->kind == SpeechEvent::Kind::kStart ? "start" : "end";
    result.push_back({{"frame", frame}, {"type", type}, {"sample", event->sample}});
  }
  return result;
}

std::vector<double> rounded_to_f32(std::vector<double> values) {
  for (double& value : values) value = static_cast<float>(value);
  return values;
}

TEST(Segmentation, VectorsOfTheReference) {
  const json vectors = golden_json("silero/vectors.json");
  int checked = 0;
  for (const json& row : vectors["segments"]) {
    SCOPED_TRACE(row["name"].get<std::string>());
    const std::vector<double> probabilities = numbers_of(row["probs"]);
    const auto found = [&](const std::vector<double>& p) {
      return timestamps(p, row["samples"], row["sample_rate"], row["params"]);
    };
    if (row["timestamps"].is_null()) {
      EXPECT_TRUE(found(probabilities).is_string());
      EXPECT_NE(found(probabilities).get<std::string>().find("InvalidArgument: a sample rate of 44100 Hz"),
                std::string::npos);
    } else {
      EXPECT_EQ(found(probabilities), row["timestamps"]);
      const std::string key =
          row.contains("timestamps_if_probs_are_f32") ? "timestamps_if_probs_are_f32" : "timestamps";
      EXPECT_EQ(found(rounded_to_f32(probabilities)), row[key]);
    }
    ++checked;
  }
  EXPECT_EQ(checked, 41);
}

TEST(VadIterator, VectorsOfTheReference) {
  const json vectors = golden_json("silero/vectors.json");
  int checked = 0;
  for (const json& row : vectors["segments"]) {
    if (!row.contains("vad_iterator")) continue;
    SCOPED_TRACE(row["name"].get<std::string>());
    const std::vector<double> probabilities = numbers_of(row["probs"]);
    const SegmentationOptions options = options_of(row["params"]);
    const json found = events(probabilities, row["sample_rate"], options);
    if (row["vad_iterator"].is_null()) {
      EXPECT_TRUE(found.is_string()) << found;
    } else {
      EXPECT_EQ(found, row["vad_iterator"]);
    }
    if (row.contains("vad_iterator_if_probs_are_f32")) {
      EXPECT_EQ(events(rounded_to_f32(probabilities), row["sample_rate"], options),
                row["vad_iterator_if_probs_are_f32"]);
    }
    ++checked;
  }
  EXPECT_EQ(checked, 33);
}

TEST(VadIterator, SilenceOfExactlyTheMinimumEndsSpeech) {
  // 96 ms are 1536 samples, three windows after the first silent one. The end is that one's begin.
  for (const auto& [milliseconds, silent_windows] : {std::pair(96.0, 4), std::pair(96.01, 5), std::pair(0.0, 1)}) {
    VadIteratorOptions options;
    options.min_silence_duration_ms = milliseconds;
    options.speech_pad_ms = 0;
    auto iterator = VadIterator::create(16000, options);
    ASSERT_TRUE(iterator);
    EXPECT_EQ(iterator->add(0.9), (SpeechEvent{SpeechEvent::Kind::kStart, 0}));
    for (int i = 1; i < silent_windows; ++i) EXPECT_EQ(iterator->add(0.1), std::nullopt) << milliseconds;
    EXPECT_EQ(iterator->add(0.1), (SpeechEvent{SpeechEvent::Kind::kEnd, 512})) << milliseconds;
  }
}

TEST(Segmentation, RecordedProbabilitiesOfAllClips) {
  const std::vector<std::pair<std::string, json>> sets{
      {"default", json::object()},
      {"thr0.3", {{"threshold", 0.3}}},
      {"sil500_pad100", {{"min_silence_duration_ms", 500}, {"speech_pad_ms", 100}}},
      {"max3s", {{"max_speech_duration_s", 3}}}};
  int timestamp_lists = 0;
  int event_lists = 0;
  for (const char* name : {"v5_16k", "v5_8k", "v6_16k", "v6_8k"}) {
    const json golden = golden_json(std::string("silero/") + name + ".json");
    const int64_t rate = golden["sample_rate"];
    for (const json& clip : golden["clips"]) {
      const std::vector<double> probabilities = rounded_to_f32(numbers_of(clip["probs"]));
      ASSERT_EQ(clip["segments"].size(), sets.size());
      for (const auto& [set, params] : sets) {
        SCOPED_TRACE(std::string(name) + " " + clip["id"].get<std::string>() + " " + set);
        const json& expected = clip["segments"][set];
        EXPECT_EQ(timestamps(probabilities, clip["samples"], rate, params), expected["timestamps"]);
        ++timestamp_lists;
        if (!expected.contains("vad_iterator")) continue;
        EXPECT_EQ(events(probabilities, rate, options_of(params)), expected["vad_iterator"]);
        ++event_lists;
      }
    }
  }
  EXPECT_EQ(timestamp_lists, 2 * (14 + 10) * 4);
  EXPECT_EQ(event_lists, 2 * (14 + 10) * 3);
}

TEST(Segmentation, RefusesBadOptions) {
  const auto message = [](auto change) {
    SegmentationOptions options;
    change(options);
    const auto found = speech_timestamps({}, 0, 16000, options);
    if (found) return std::string("accepted");
    EXPECT_EQ(found.error().code, ErrorCode::kInvalidArgument);
    return found.error().message;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message([](auto& o) { o.threshold = 1.5; }), "threshold is 1.5: it must be from 0 to 1");
  EXPECT_EQ(message([&](auto& o) { o.threshold = nan; }), "threshold is nan: it must be from 0 to 1");
  EXPECT_EQ(message([](auto& o) { o.neg_threshold = 2; }), "neg_threshold is 2: it must be from -1 to 1");
  EXPECT_EQ(message([](auto& o) { o.neg_threshold = -0.05; }), "accepted");
  EXPECT_NE(message([](auto& o) { o.min_speech_duration_ms = -1; }).find("min_speech_duration_ms is -1"),
            std::string::npos);
  EXPECT_NE(message([](auto& o) { o.min_silence_duration_ms = -1; }).find("min_silence_duration_ms"),
            std::string::npos);
  EXPECT_NE(message([](auto& o) { o.speech_pad_ms = 1e300; }).find("speech_pad_ms is 1e+300"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.max_speech_duration_s = 0; }).find("must be above 0"), std::string::npos);
  EXPECT_NE(message([&](auto& o) { o.max_speech_duration_s = nan; }).find("max_speech_duration_s"), std::string::npos);
}

TEST(Segmentation, RefusesProbabilitiesThatDoNotFitTheLength) {
  const std::vector<double> two{0.1, 0.2};
  EXPECT_TRUE(speech_timestamps(two, 513, 16000).has_value());
  EXPECT_TRUE(speech_timestamps(two, 1024, 16000).has_value());
  for (const int64_t samples : {0, 512, 1025, -5}) {
    const auto found = speech_timestamps(two, samples, 16000);
    ASSERT_FALSE(found.has_value()) << samples;
    EXPECT_EQ(found.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(speech_timestamps(two, 512, 16000).error().message,
            "2 probabilities do not fit 512 samples at 16000 Hz: windows of 512 samples make 1");
  EXPECT_FALSE(speech_timestamps({}, 0, 0).has_value());
  EXPECT_FALSE(speech_timestamps({}, 0, -16000).has_value());
  EXPECT_FALSE(speech_timestamps_seconds({}, 0, 16000, {}, 16).has_value());
}

TEST(Segmentation, MaximumOfLessThanAWindowCutsAtTheNextWindow) {
  SegmentationOptions options;
  options.max_speech_duration_s = 0.001;
  options.speech_pad_ms = 0;
  const std::vector<double> speech(4, 0.9);
  const auto found = speech_timestamps(speech, 2048, 16000, options);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, (std::vector<SpeechSegment>{{0, 512}, {1024, 1536}}));
}

// Expected values are those of Python's round().
TEST(Segmentation, RoundsDecimalsFromTheExactValue) {
  EXPECT_EQ(round_decimals(2.675, 2), 2.67);
  EXPECT_EQ(round_decimals(0.125, 2), 0.12);
  EXPECT_EQ(round_decimals(0.375, 2), 0.38);
  EXPECT_EQ(round_decimals(2.5, 0), 2.0);
  EXPECT_EQ(round_decimals(1e15 + 0.5, 3), 1e15 + 0.5);
}

TEST(Segmentation, MapsPositionsByRoundingAndClamps) {
  EXPECT_EQ(map_position(16000, 16000, 44100, 1 << 30), 44100);
  EXPECT_EQ(map_position(1, 16000, 44100, 1 << 30), 3);  // 2.75625
  EXPECT_EQ(map_position(1, 16000, 24000, 1 << 30), 2);  // 1.5: halves up
  EXPECT_EQ(map_position(3, 16000, 24000, 1 << 30), 5);  // 4.5: halves up
  EXPECT_EQ(map_position(1, 16000, 22050, 1 << 30), 1);  // 1.378
  EXPECT_EQ(map_position(16000, 16000, 44100, 44000), 44000);
  EXPECT_EQ(map_position(100, 16000, 16000, 70), 70);
  const int64_t late = int64_t{1} << 45;
  EXPECT_EQ(map_position(late, 16000, 48000, int64_t{1} << 60), 3 * late);
  EXPECT_EQ(map_position(late + 1, 16000, 24000, int64_t{1} << 60), late / 2 * 3 + 2);
}

}  // namespace
}  // namespace tandem
