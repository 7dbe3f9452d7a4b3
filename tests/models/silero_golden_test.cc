#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/clang/clang_backend.h"
#include "backends/interpreter/interpreter.h"
#include "backends/wasm/node/node_backend.h"
#include "core/audio/segmentation.h"
#include "core/audio/vad_iterator.h"
#include "core/base/bits.h"
#include "core/models/silero_offline.h"
#include "tests/support/golden.h"
#include "tests/support/native_kernels.h"
#include "tests/support/silero_stepper.h"

namespace tandem {
namespace {

using nlohmann::json;
using testing::SileroStepper;
using testing::SileroTrack;

/// A model of the goldens.
struct Model {
  const char* version;
  int64_t sample_rate;
  std::string golden() const {
    return std::string("silero/") + version + (sample_rate == 16000 ? "_16k" : "_8k") + ".json";
  }
};
constexpr Model kModels[] = {{"v5", 16000}, {"v5", 8000}, {"v6", 16000}, {"v6", 8000}};

/// The four sets of parameters of the goldens.
SegmentationOptions segmentation_options(const std::string& set) {
  SegmentationOptions options;
  if (set == "thr0.3") options.threshold = 0.3;
  if (set == "sil500_pad100") options.min_silence_duration_ms = 500, options.speech_pad_ms = 100;
  if (set == "max3s") options.max_speech_duration_s = 3;
  return options;
}

void expect_near(double value, double expected, double tolerance, const std::string& what) {
  EXPECT_LE(std::fabs(value - expected), tolerance) << what << " is " << value << ", expected " << expected;
}

/// One of the two vectors of a state against its first values and sums.
void expect_vector(const std::vector<float>& values, const json& golden, const std::string& key) {
  ASSERT_EQ(values.size(), 128u);
  const std::vector<double> first = testing::numbers_of(golden[key + "8"]);
  for (size_t i = 0; i < first.size(); ++i)
    expect_near(values[i], first[i], 5e-4 + 1e-5 * std::fabs(first[i]), key + std::to_string(i));
  double sum = 0, abs_sum = 0;
  for (const float value : values) sum += value, abs_sum += std::fabs(value);
  // Each of the 128 values may be off by its own tolerance.
  const double tolerance = 128 * 5e-4 + 1e-5 * golden[key + "_abs_sum"].get<double>();
  expect_near(sum, golden[key + "_sum"], tolerance, key + "_sum");
  expect_near(abs_sum, golden[key + "_abs_sum"], tolerance, key + "_abs_sum");
}

void expect_state(const std::vector<float>& h, const std::vector<float>& c, const json& golden) {
  expect_vector(h, golden, "h");
  expect_vector(c, golden, "c");
}

json events_of(const std::vector<double>& probabilities, int64_t rate, const SegmentationOptions& options) {
  VadIteratorOptions iterator_options;
  iterator_options.threshold = options.threshold;
  iterator_options.min_silence_duration_ms = options.min_silence_duration_ms;
  iterator_options.speech_pad_ms = options.speech_pad_ms;
  auto iterator = VadIterator::create(rate, iterator_options);
  json events = json::array();
  for (size_t frame = 0; frame < probabilities.size(); ++frame) {
    const auto event = iterator->add(probabilities[frame]);
    if (!event) continue;
    const char* type = event->kind == SpeechEvent::Kind::kStart ? "start" : "end";
    events.push_back({{"frame", frame}, {"type", type}, {"sample", event->sample}});
  }
  return events;
}

void expect_segments(const std::vector<float>& track, const json& clip, int64_t rate) {
  const std::vector<double> probabilities(track.begin(), track.end());
  for (const auto& [set, expected] : clip["segments"].items()) {
    SCOPED_TRACE(set);
    const SegmentationOptions options = segmentation_options(set);
    const auto segments = speech_timestamps(probabilities, clip["samples"], rate, options);
    ASSERT_TRUE(segments.has_value()) << segments.error().text();
    json found = json::array();
    for (const SpeechSegment& segment : *segments) found.push_back({segment.start, segment.end});
    EXPECT_EQ(found, expected["timestamps"]);
    if (expected.contains("vad_iterator")) {
      EXPECT_EQ(events_of(probabilities, rate, options), expected["vad_iterator"]);
    }
  }
}

/// All clips of one model on one machine; `windows` limits each clip.
void expect_goldens(const Model& model, SileroStepper& stepper, size_t windows = SIZE_MAX) {
  const json golden = testing::golden_json(model.golden());
  double worst = 0;
  for (const json& clip : golden["clips"]) {
    SCOPED_TRACE(clip["id"].get<std::string>());
    const std::vector<double> expected = testing::numbers_of(clip["probs"]);
    const SileroTrack track = stepper.run(testing::silero_clip(clip["id"]), windows);
    ASSERT_EQ(track.probabilities.size(), std::min(windows, expected.size()));
    for (size_t i = 0; i < track.probabilities.size(); ++i) {
      const double difference = std::fabs(track.probabilities[i] - expected[i]);
      worst = std::max(worst, difference);
      EXPECT_LE(difference, 2e-5) << "window " << i;
    }
    expect_state(track.first_h, track.first_c, clip["state_after_first_frame"]);
    if (track.probabilities.size() < expected.size()) continue;
    expect_state(track.last_h, track.last_c, clip["state_after_last_frame"]);
    expect_segments(track.probabilities, clip, model.sample_rate);
  }
  std::printf("    largest difference of a probability: %.2g\n", worst);
}

/// One backend for all plans of this program.
std::shared_ptr<Backend> native_backend() {
  static const std::shared_ptr<Backend> backend = test::uncached_backend();
  return backend;
}

/// One process of Node for all modules of this program.
std::shared_ptr<Backend> node_backend() {
  static const std::shared_ptr<Backend> backend = [] {
    auto made = make_node_backend(NodeBackendOptions::from_environment());
    if (!made) throw std::runtime_error(made.error().text());
    return std::shared_ptr<Backend>(std::move(*made));
  }();
  return backend;
}

constexpr size_t kInterpretedWindows = 40;

class SileroGolden : public ::testing::TestWithParam<Model> {};

TEST_P(SileroGolden, NativeOnEveryInstructionSet) {
  for (const Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
    for (const Capabilities& capabilities : test::native_instruction_sets()) {
      SCOPED_TRACE(capabilities.isa);
      SileroStepper stepper(GetParam().version, GetParam().sample_rate, native_backend(), capabilities, numerics);
      expect_goldens(GetParam(), stepper);
    }
  }
}

TEST_P(SileroGolden, Interpreter) {
  SileroStepper stepper(GetParam().version, GetParam().sample_rate, std::make_shared<InterpreterBackend>(),
                        *capabilities_named("interpreter"), Numerics::kFast);
  expect_goldens(GetParam(), stepper, kInterpretedWindows);
}

TEST_P(SileroGolden, WebAssemblyInNode) {
  SileroStepper stepper(GetParam().version, GetParam().sample_rate, node_backend(), node_backend()->capabilities(),
                        Numerics::kFast);
  expect_goldens(GetParam(), stepper);
}

/// All numbers of a track, as bits.
std::vector<uint32_t> bits_of(const SileroTrack& track) {
  std::vector<uint32_t> bits;
  for (const std::vector<float>* part :
       {&track.probabilities, &track.first_h, &track.first_c, &track.last_h, &track.last_c})
    for (const float value : *part) bits.push_back(bit_cast<uint32_t>(value));
  return bits;
}

TEST_P(SileroGolden, ReproducibleGivesTheSameBitsEverywhere) {
  const auto stepper_on = [&](std::shared_ptr<Backend> backend, const Capabilities& capabilities) {
    return SileroStepper(GetParam().version, GetParam().sample_rate, std::move(backend), capabilities,
                         Numerics::kReproducible);
  };
  const std::vector<Capabilities> machines = test::native_instruction_sets();
  std::vector<SileroStepper> native;
  for (const Capabilities& machine : machines) native.push_back(stepper_on(native_backend(), machine));
  SileroStepper interpreter = stepper_on(std::make_shared<InterpreterBackend>(), *capabilities_named("interpreter"));
  SileroStepper wasm = stepper_on(node_backend(), node_backend()->capabilities());
  const json clips = testing::golden_json(GetParam().golden())["clips"];
  for (const json& clip : clips) {
    SCOPED_TRACE(clip["id"].get<std::string>());
    const std::vector<float> samples = testing::silero_clip(clip["id"]);
    const std::vector<uint32_t> whole = bits_of(native[0].run(samples));
    const std::vector<uint32_t> begin = bits_of(native[0].run(samples, kInterpretedWindows));
    for (size_t i = 1; i < native.size(); ++i) EXPECT_TRUE(bits_of(native[i].run(samples)) == whole) << machines[i].isa;
    EXPECT_TRUE(bits_of(wasm.run(samples)) == whole) << "WebAssembly";
    EXPECT_TRUE(bits_of(interpreter.run(samples, kInterpretedWindows)) == begin) << "interpreter";
  }
}

SileroOffline make_offline(const Model& model, std::shared_ptr<Backend> backend, const std::string& isa,
                           Numerics numerics) {
  PrepareConfig config;
  config.backend = std::move(backend);
  config.isa = isa;
  config.numerics = numerics;
  config.threads = 1;
  auto detector = SileroOffline::create(testing::silero_weights(model.version, model.sample_rate), config);
  if (!detector) throw std::runtime_error(detector.error().text());
  return std::move(*detector);
}

/// The whole clips, or their first `windows`.
void expect_offline_goldens(const Model& model, SileroOffline detector, size_t windows = SIZE_MAX) {
  const json golden = testing::golden_json(model.golden());
  double worst = 0;
  for (const json& clip : golden["clips"]) {
    SCOPED_TRACE(clip["id"].get<std::string>());
    const std::vector<double> expected = testing::numbers_of(clip["probs"]);
    const std::vector<float> samples = testing::silero_clip(clip["id"]);
    const size_t length = windows < expected.size() ? windows * static_cast<size_t>(detector.window()) : samples.size();
    const auto found = detector.probabilities(std::span<const float>(samples).first(length));
    ASSERT_TRUE(found.has_value()) << found.error().text();
    ASSERT_EQ(found->size(), std::min(windows, expected.size()));
    for (size_t i = 0; i < found->size(); ++i) {
      const double difference = std::fabs(static_cast<double>((*found)[i]) - expected[i]);
      worst = std::max(worst, difference);
      EXPECT_LE(difference, 2e-5) << "window " << i;
    }
    if (found->size() == expected.size()) expect_segments(*found, clip, model.sample_rate);
  }
  std::printf("    largest difference of a probability: %.2g\n", worst);
}

TEST_P(SileroGolden, OfflineNativeOnEveryInstructionSet) {
  for (const Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
    for (const Capabilities& capabilities : test::native_instruction_sets()) {
      SCOPED_TRACE(capabilities.isa);
      expect_offline_goldens(GetParam(), make_offline(GetParam(), native_backend(), capabilities.isa, numerics));
    }
  }
}

TEST_P(SileroGolden, OfflineInterpreter) {
  expect_offline_goldens(
      GetParam(), make_offline(GetParam(), std::make_shared<InterpreterBackend>(), "interpreter", Numerics::kFast),
      kInterpretedWindows);
}

TEST_P(SileroGolden, OfflineWebAssemblyInNode) {
  expect_offline_goldens(GetParam(), make_offline(GetParam(), node_backend(), "", Numerics::kFast));
}

TEST_P(SileroGolden, OfflineReproducibleGivesTheSameBitsEverywhere) {
  const auto on = [&](std::shared_ptr<Backend> backend, const std::string& isa) {
    return make_offline(GetParam(), std::move(backend), isa, Numerics::kReproducible);
  };
  std::vector<std::pair<std::string, SileroOffline>> machines;
  for (const Capabilities& machine : test::native_instruction_sets())
    machines.emplace_back(machine.isa, on(native_backend(), machine.isa));
  machines.emplace_back("WebAssembly", on(node_backend(), ""));
  SileroOffline interpreter = on(std::make_shared<InterpreterBackend>(), "interpreter");
  const auto bits = [](SileroOffline& detector, std::span<const float> samples) {
    std::vector<uint32_t> result;
    const std::vector<float> probabilities = detector.probabilities(samples).value();
    for (const float value : probabilities) result.push_back(bit_cast<uint32_t>(value));
    return result;
  };
  const json golden = testing::golden_json(GetParam().golden());
  for (const json& clip : golden["clips"]) {
    SCOPED_TRACE(clip["id"].get<std::string>());
    const std::vector<float> samples = testing::silero_clip(clip["id"]);
    const std::vector<uint32_t> whole = bits(machines[0].second, samples);
    for (auto& [name, detector] : machines) EXPECT_TRUE(bits(detector, samples) == whole) << name;
    const size_t begin = std::min(samples.size(), kInterpretedWindows * static_cast<size_t>(interpreter.window()));
    const std::span<const float> first = std::span<const float>(samples).first(begin);
    EXPECT_TRUE(bits(interpreter, first) == bits(machines[0].second, first)) << "interpreter";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SileroGolden, ::testing::ValuesIn(kModels), [](const auto& test_info) {
  return std::string(test_info.param.version) + (test_info.param.sample_rate == 16000 ? "_16k" : "_8k");
});

}  // namespace
}  // namespace tandem
