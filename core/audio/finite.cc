#include "core/audio/finite.h"

#include "core/base/finite.h"
#include "core/base/text.h"

namespace tandem {

std::optional<size_t> find_non_finite(std::span<const float> samples) {
  const size_t bad = first_non_finite_f32(std::as_bytes(samples));
  return bad < samples.size() ? std::optional(bad) : std::nullopt;
}

Result<void> check_finite(std::span<const float> samples, int64_t first_index) {
  const std::optional<size_t> bad = find_non_finite(samples);
  if (!bad) return {};
  return fail(ErrorCode::kNonFinite, concat("sample ", first_index + static_cast<int64_t>(*bad), " is ", samples[*bad],
                                            ": samples must be finite, one that is not would spoil all later results"));
}

}  // namespace tandem
