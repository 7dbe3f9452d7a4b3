// Silero VAD on whole recordings.

#include <vector>

#include "core/models/silero_offline.h"
#include "web/boundary.h"
#include "web/silero_loading.h"

namespace tandem::web {

namespace {

/// A detector, the place where JavaScript puts a recording, and what was found in it.
struct Recordings {
  explicit Recordings(SileroOffline offline) : detector(std::move(offline)) {}

  SileroOffline detector;
  std::vector<float> samples;
  std::vector<float> probabilities;
};

Handles<Recordings>& recordings() {
  static Handles<Recordings> all;
  return all;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// A detector by number; 0: failed. The bytes are not needed afterwards.
TANDEM_EXPORT uint32_t tandem_silero_offline_load(const uint8_t* bytes, uint32_t size, const char* origin,
                                                  int sample_rate, const char* dtype, const char* isa, int mode) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    TANDEM_TRY(detector, load_silero<SileroOffline>(bytes, size, origin, sample_rate, dtype, isa, mode));
    return recordings().add(std::make_unique<Recordings>(std::move(detector)));
  });
}

TANDEM_EXPORT int tandem_silero_offline_window(uint32_t handle) {
  return static_cast<int>(recordings().find(handle)->detector.window());
}

/// Room for so many samples; nullptr: failed.
TANDEM_EXPORT float* tandem_silero_offline_samples(uint32_t handle, uint32_t count) {
  return guarded(static_cast<float*>(nullptr), [&]() -> Result<float*> {
    std::vector<float>& samples = recordings().get(handle).samples;
    samples.resize(std::max<size_t>(count, 1));
    return samples.data();
  });
}

/// The probabilities of the first `count` samples there: how many they are, -1: failed. Gives the room for samples
/// back.
TANDEM_EXPORT int tandem_silero_offline_run(uint32_t handle, uint32_t count) {
  return guarded(-1, [&]() -> Result<int> {
    Recordings& recording = recordings().get(handle);
    const std::vector<float> samples = std::move(recording.samples);
    recording.samples = {};
    TANDEM_TRY(found, recording.detector.probabilities(std::span<const float>(samples).first(count)));
    recording.probabilities = std::move(found);
    return static_cast<int>(recording.probabilities.size());
  });
}

TANDEM_EXPORT const float* tandem_silero_offline_probabilities(uint32_t handle) {
  return recordings().find(handle)->probabilities.data();
}

TANDEM_EXPORT void tandem_silero_offline_destroy(uint32_t handle) { recordings().remove(handle); }
