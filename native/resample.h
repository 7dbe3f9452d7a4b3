#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.h"

namespace tandem {

/// Rates that `resample` takes, in Hz.
inline constexpr int64_t kLowestSampleRate = 1000;
inline constexpr int64_t kHighestSampleRate = 10'000'000;

/// Length of `samples` samples at `from_rate` when resampled to `to_rate`: samples * to_rate / from_rate, rounded,
/// halves up. No drift: it holds for the whole recording, however long.
int64_t resampled_length(int64_t samples, int64_t from_rate, int64_t to_rate);

/// Resamples a whole recording with libsoxr in high quality (linear phase, stop band below -100 dB). Sample p of the
/// result lies at p * from_rate / to_rate of the source; equal rates give the samples back. Errors: kUnsupported (a
/// rate outside of the limits above), kRuntime (libsoxr's text), kMemoryLimit.
Result<std::vector<float>> resample(std::span<const float> samples, int64_t from_rate, int64_t to_rate);

}  // namespace tandem
