// One step of Silero VAD v5 at 16 kHz: the engine at every instruction set, and on a whole recording, beside the same
// work written by hand and beside onnxruntime, all in alternation in one process.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "backends/clang/clang_backend.h"
#include "core/base/text.h"
#include "core/models/silero_offline.h"
#include "tests/bench/contest.h"
#include "tests/bench/onnxruntime_peer.h"
#include "tests/bench/silero_plan.h"
#include "tests/bench/yardstick_silero.h"
#include "tests/support/golden.h"
#include "tests/support/silero_stepper.h"
#include "tests/support/value_or_throw.h"

namespace tandem::bench {
namespace {

using testing::value_or_throw;

/// Windows of the recording that a whole-recording detector is measured on: times are divided by them.
constexpr size_t kRecorded = 320;

std::vector<float> recording() {
  std::vector<float> samples(kRecorded * 512);
  for (size_t i = 0; i < samples.size(); i++) {
    const auto at = static_cast<float>(i);
    samples[i] = 0.3f * std::sin(at * 0.05f) + 0.1f * std::sin(at * at * 1e-6f);
  }
  return samples;
}

SileroOffline offline_detector(const SileroWeights& weights, std::shared_ptr<Backend> backend, Numerics numerics) {
  PrepareConfig config;
  config.backend = std::move(backend);
  config.numerics = numerics;
  return value_or_throw(SileroOffline::create(weights, config));
}

/// The whole recording must give what its windows give one by one.
void check(SileroOffline& detector, Plan& plan, const std::vector<float>& samples) {
  const std::vector<float> found = value_or_throw(detector.probabilities(samples));
  std::vector<float> chunk(576);
  const auto forget = [&plan] {
    for (const size_t state : {1, 2}) std::memset(plan.input_data(state), 0, kSileroHidden * sizeof(float));
  };
  forget();
  for (size_t i = 0; i < kRecorded; i++) {
    std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(512 * i), 512, chunk.begin() + 64);
    if (!(std::abs(silero_step(plan, chunk.data()) - found[i]) < 1e-5f))
      throw std::runtime_error("the whole recording disagrees with its windows");
    std::copy_n(chunk.end() - 64, 64, chunk.begin());
  }
  forget();
}

/// Version 6, which is the same work with other weights, beside itself in onnxruntime.
void run_version_6(Report& report) {
  ClangBackendOptions options = ClangBackendOptions::from_environment();
  options.threads = 1;
  const std::shared_ptr<Backend> backend = make_clang_backend(options);
  const std::unique_ptr<Plan> plan =
      silero_plan(testing::silero_weights("v6", 16000), backend, backend->capabilities(), Numerics::kFast);
  std::string reason;
  const auto peer = OnnxruntimeSilero::make(testing::silero_onnx_path("v6"), reason);
  if (!peer) return report.note(reason);
  const std::vector<float> samples = recording();
  for (size_t i = 0; i + 576 < samples.size() && i < 10 * 512; i += 512)
    if (!(std::abs(silero_step(*plan, &samples[i]) - peer->step(&samples[i])) < 1e-4f))
      throw std::runtime_error("onnxruntime disagrees on version 6");
  const std::vector<Timing> timings =
      compete({{concat("v6, ", backend->capabilities().isa, " fast"), [&] { silero_step(*plan, samples.data()); }},
               {"v6, onnxruntime", [&] { peer->step(samples.data()); }}},
              50, 3000);
  for (const Timing& timing : timings)
    report.row(timing.name, {{"median us", timing.median},
                             {"min us", timing.minimum},
                             {"x hand16", "-"},
                             {"min x hand16", "-"},
                             {"step / this", ratio(timings[0], timing)},
                             {"ort / this", ratio(timings[1], timing)}});
}

void run(Report& report) {
  const SileroWeights weights = testing::silero_weights("v5", 16000);
  ClangBackendOptions options = ClangBackendOptions::from_environment();
  options.threads = 1;
  const std::shared_ptr<Backend> backend = make_clang_backend(options);
  std::vector<float> chunk(576);
  for (size_t i = 0; i < chunk.size(); i++) chunk[i] = 0.3f * std::sin(static_cast<float>(i) * 0.05f);

  std::vector<Contender> contenders;
  std::vector<std::unique_ptr<SileroYardstick>> yardsticks, half_yardsticks;
  const auto add_yardstick = [&](std::vector<std::unique_ptr<SileroYardstick>>& all, int width, bool half) {
    all.push_back(SileroYardstick::make(weights, width, half));
    contenders.push_back({concat("hand-written, ", width, " lanes", half ? ", f16 weights" : ""),
                          [&chunk, yardstick = all.back().get()] { yardstick->step(chunk.data()); }});
  };
  for (int width : {16, 8, 4}) add_yardstick(yardsticks, width, false);
  std::vector<std::unique_ptr<Plan>> plans, half_plans;
  for (const char* isa : {"avx512", "avx2", "sse+fma", "sse"})
    for (Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
      const Capabilities capabilities = *capabilities_named(isa);
      if (capabilities.vector_bytes > backend->capabilities().vector_bytes) continue;
      plans.push_back(silero_plan(weights, backend, capabilities, numerics));
      contenders.push_back({concat(isa, " ", name_of(numerics)),
                            [&chunk, plan = plans.back().get()] { silero_step(*plan, chunk.data()); }});
    }
  for (int width : {16, 8}) add_yardstick(half_yardsticks, width, true);
  SileroWeights halves = weights;
  halves.kept = DType::kF16;
  for (const char* isa : {"avx512", "avx2"}) {
    const Capabilities capabilities = *capabilities_named(isa);
    if (capabilities.vector_bytes > backend->capabilities().vector_bytes) continue;
    half_plans.push_back(silero_plan(halves, backend, capabilities, Numerics::kFast));
    contenders.push_back({concat(isa, " fast, f16 weights"),
                          [&chunk, plan = half_plans.back().get()] { silero_step(*plan, chunk.data()); }});
  }
  std::vector<SileroOffline> detectors;
  const std::vector<float> samples = recording();
  for (Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
    detectors.push_back(offline_detector(weights, backend, numerics));
    check(detectors.back(), *plans.front(), samples);
  }
  for (size_t i = 0; i < detectors.size(); i++)
    contenders.push_back({concat("whole recording, ", name_of(i == 0 ? Numerics::kFast : Numerics::kReproducible)),
                          [&samples, detector = &detectors[i]] { value_or_throw(detector->probabilities(samples)); }});
  std::string reason;
  const auto peer = OnnxruntimeSilero::make(testing::silero_onnx_path("v5"), reason);
  if (peer)
    contenders.push_back({"onnxruntime", [&] { peer->step(chunk.data()); }});
  else
    report.note(reason);

  // All must agree before their times mean anything, of those with f16 weights as far as these go.
  std::vector<float> answers, half_answers;
  for (int i = 0; i < 4; i++) {
    answers.clear(), half_answers.clear();
    for (const auto& yardstick : half_yardsticks) half_answers.push_back(yardstick->step(chunk.data()));
    for (const auto& plan : half_plans) half_answers.push_back(silero_step(*plan, chunk.data()));
    for (const auto& yardstick : yardsticks) answers.push_back(yardstick->step(chunk.data()));
    for (const auto& plan : plans) answers.push_back(silero_step(*plan, chunk.data()));
    if (peer) answers.push_back(peer->step(chunk.data()));
  }
  for (float answer : answers)
    if (!(std::abs(answer - answers[0]) < 1e-4f)) throw std::runtime_error("the contenders disagree");
  for (float answer : half_answers)
    if (!(std::abs(answer - answers[0]) < 1e-2f && std::abs(answer - half_answers[0]) < 1e-4f))
      throw std::runtime_error("the contenders with f16 weights disagree");

  std::vector<Timing> timings = compete(contenders, 50, 3000);
  for (Timing& timing : timings)
    if (timing.name.starts_with("whole recording")) timing.median /= kRecorded, timing.minimum /= kRecorded;
  for (const Timing& timing : timings)
    report.row(timing.name,
               {{"median us", timing.median},
                {"min us", timing.minimum},
                {"x hand16", ratio(timing, timings[0])},
                {"min x hand16", timing.minimum / timings[0].minimum},
                {"step / this", ratio(timings[3], timing)},
                {"ort / this", peer ? nlohmann::json(ratio(timings.back(), timing)) : nlohmann::json("-")}});
  for (size_t i = 3; i + 1 < 3 + plans.size(); i += 2)
    report.note(concat(timings[i].name, ": reproducible costs ",
                       std::round(ratio(timings[i + 1], timings[i]) * 100) / 100, " x"));
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  tandem::bench::Report report(argc, argv, "One step of Silero VAD v5 (and v6), 16 kHz, one thread");
  try {
    tandem::bench::run(report);
    tandem::bench::run_version_6(report);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  report.finish();
  return 0;
}
