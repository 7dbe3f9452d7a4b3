#include "native/resample.h"

#include <soxr.h>

#include <limits>
#include <new>

#include "core/audio/segmentation.h"
#include "core/base/text.h"
#include "native/read_limit.h"

namespace tandem {

int64_t resampled_length(int64_t samples, int64_t from_rate, int64_t to_rate) {
  return map_position(samples, from_rate, to_rate, std::numeric_limits<int64_t>::max());
}

Result<std::vector<float>> resample(std::span<const float> samples, int64_t from_rate, int64_t to_rate) {
  for (const int64_t rate : {from_rate, to_rate}) {
    if (rate < kLowestSampleRate || rate > kHighestSampleRate) {
      return fail(ErrorCode::kUnsupported, concat("a sample rate of ", rate, " Hz is not supported: it must be from ",
                                                  kLowestSampleRate, " to ", kHighestSampleRate, " Hz"));
    }
  }
  try {
    if (from_rate == to_rate) return std::vector<float>(samples.begin(), samples.end());
    const int64_t length = resampled_length(static_cast<int64_t>(samples.size()), from_rate, to_rate);
    TANDEM_TRY(limit, read_limit());
    const std::string what = concat("the sound at ", to_rate, " Hz");
    if (auto fits = check_read_limit(what, static_cast<uint64_t>(length) * sizeof(float), limit); !fits)
      return tl::unexpected<JitError>(fits.error());
    // The resampler may leave off the last sample or make one more; zeros stand for what it leaves off.
    std::vector<float> result(static_cast<size_t>(length));
    if (result.empty()) return result;
    const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    const soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
    size_t done = 0;
    const soxr_error_t error =
        soxr_oneshot(static_cast<double>(from_rate), static_cast<double>(to_rate), 1, samples.data(), samples.size(),
                     nullptr, result.data(), result.size(), &done, &io, &quality, &runtime);
    if (error != nullptr) {
      return fail(ErrorCode::kRuntime, concat("resampling from ", from_rate, " to ", to_rate, " Hz failed: ", error));
    }
    return result;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit, concat("not enough memory to resample ", samples.size(), " samples from ",
                                                from_rate, " to ", to_rate, " Hz"));
  }
}

}  // namespace tandem
