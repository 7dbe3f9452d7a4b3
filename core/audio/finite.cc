#include "core/audio/finite.h"

#include <cmath>

#include "core/base/text.h"

namespace tandem {

std::optional<size_t> find_non_finite(std::span<const float> samples) {
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!std::isfinite(samples[i])) return i;
  }
  return std::nullopt;
}

Result<void> check_finite(std::span<const float> samples, int64_t first_index) {
  const std::optional<size_t> bad = find_non_finite(samples);
  if (!bad) return {};
  return fail(ErrorCode::kNonFinite, concat("sample ", first_index + static_cast<int64_t>(*bad), " is ", samples[*bad],
                                            ": samples must be finite, one that is not would spoil all later results"));
}

}  // namespace tandem
