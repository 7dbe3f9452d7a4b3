// Silero VAD, one window a call.

#include <algorithm>
#include <vector>

#include "core/audio/finite.h"
#include "core/base/text.h"
#include "core/models/silero_vad.h"
#include "web/boundary.h"
#include "web/profile.h"
#include "web/silero_loading.h"

namespace tandem::web {

namespace {

/// A stream, and the place where JavaScript puts its next window.
struct Detector {
  explicit Detector(SileroVad stream) : vad(std::move(stream)), samples(static_cast<size_t>(vad.window())) {
    module = plan().executable().binary();
  }
  const Plan& plan() const { return *vad.jit().session().plan(); }

  mutable SileroVad vad;
  std::vector<float> samples;
  /// What `tandem_silero_save` kept.
  SileroVad::Place saved;
  std::vector<float> saved_samples;
  std::vector<uint8_t> module;
};

Handles<Detector>& detectors() {
  static Handles<Detector> all;
  return all;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// A detector by number; 0: failed. The bytes are not needed afterwards.
TANDEM_EXPORT uint32_t tandem_silero_load(const uint8_t* bytes, uint32_t size, const char* origin, int sample_rate,
                                          const char* dtype, const char* isa, int mode) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    TANDEM_TRY(vad, load_silero<SileroVad>(bytes, size, origin, sample_rate, dtype, isa, mode));
    return detectors().add(std::make_unique<Detector>(std::move(vad)));
  });
}

TANDEM_EXPORT int tandem_silero_window(uint32_t handle) {
  return static_cast<int>(detectors().find(handle)->vad.window());
}
TANDEM_EXPORT float* tandem_silero_samples(uint32_t handle) { return detectors().find(handle)->samples.data(); }

/// The probability of the window at `tandem_silero_samples`; -1: failed, and then nothing has changed.
TANDEM_EXPORT double tandem_silero_step(uint32_t handle) {
  return guarded(-1.0, [&]() -> Result<double> {
    Detector& detector = detectors().get(handle);
    if (const auto wrong = find_non_finite(detector.samples)) {
      report(name_of(ErrorCode::kNonFinite),
             concat("sample ", *wrong, " is ", detector.samples[*wrong], "; samples must be finite"));
      last_failure().index = static_cast<double>(*wrong);
      return -1.0;
    }
    const auto probability = detector.vad.step(detector.samples);
    if (probability) return static_cast<double>(*probability);
    if (probability.error().code == ErrorCode::kNonFinite) return tl::unexpected<JitError>(probability.error());
    // The samples are right: what is left is that the module trapped.
    report("Broken", detector.plan().failure());
    return -1.0;
  });
}

/// Keeps the place of the stream and the samples that wait, for several steps that must do all or nothing.
TANDEM_EXPORT int tandem_silero_save(uint32_t handle) {
  return guarded(0, [&]() -> Result<int> {
    Detector& detector = detectors().get(handle);
    if (auto saved = detector.vad.save(detector.saved); !saved) return tl::unexpected<JitError>(saved.error());
    detector.saved_samples = detector.samples;
    return 1;
  });
}

/// Goes back to the place of the last `tandem_silero_save`.
TANDEM_EXPORT int tandem_silero_go_back(uint32_t handle) {
  return guarded(0, [&]() -> Result<int> {
    Detector& detector = detectors().get(handle);
    if (auto done = detector.vad.go_back(detector.saved); !done) return tl::unexpected<JitError>(done.error());
    // The place of the samples is known to JavaScript.
    std::copy(detector.saved_samples.begin(), detector.saved_samples.end(), detector.samples.begin());
    return 1;
  });
}

/// 128 numbers: h (0) or c (1).
TANDEM_EXPORT const float* tandem_silero_state(uint32_t handle, int cell) {
  SileroVad& vad = detectors().find(handle)->vad;
  const auto state = cell != 0 ? vad.c() : vad.h();
  return state ? state->data() : nullptr;
}

TANDEM_EXPORT void tandem_silero_reset(uint32_t handle) {
  if (Detector* detector = detectors().find(handle)) static_cast<void>(detector->vad.reset());
}

/// Measures the kernels on the present window and state, and puts the state back: how many there are (their rows:
/// profile_entry.cc), -1: failed.
TANDEM_EXPORT int tandem_silero_profile(uint32_t handle, int repetitions) {
  return guarded(-1, [&]() -> Result<int> {
    Detector& detector = detectors().get(handle);
    SileroStreamJit& jit = detector.vad.jit();
    std::vector<std::vector<float>> states;
    TANDEM_TRY(h, detector.vad.h());
    TANDEM_TRY(c, detector.vad.c());
    for (const auto& state : {h, c}) states.emplace_back(state.begin(), state.end());
    auto kernels = profile(detector.plan(), repetitions, [&] { return jit.execute_profiled(); });
    // Where the states lie changes with each step.
    TANDEM_TRY(new_h, jit.h_view<float>());
    TANDEM_TRY(new_c, jit.c_view<float>());
    std::copy(states[0].begin(), states[0].end(), new_h.begin());
    std::copy(states[1].begin(), states[1].end(), new_c.begin());
    return kernels;
  });
}

/// Milliseconds of making the plan: 0 emitting the module, 1 loading it, 2 folding and packing constants, 3 scheduling.
TANDEM_EXPORT double tandem_silero_statistic(uint32_t handle, int which) {
  const PlanStatistics& statistics = detectors().find(handle)->plan().statistics();
  if (which == 0) return statistics.compile.generate_ms;
  if (which == 1) return statistics.compile.load_ms;
  return which == 2 ? statistics.prepare_ms : statistics.schedule_ms;
}

TANDEM_EXPORT const uint8_t* tandem_silero_module(uint32_t handle) { return detectors().find(handle)->module.data(); }
TANDEM_EXPORT uint32_t tandem_silero_module_size(uint32_t handle) { return detectors().find(handle)->module.size(); }

TANDEM_EXPORT void tandem_silero_destroy(uint32_t handle) { detectors().remove(handle); }
