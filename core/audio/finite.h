#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/base/error.h"

namespace tandem {

/// Index of the first NaN or infinity, if there is one.
std::optional<size_t> find_non_finite(std::span<const float> samples);

/// Success when all samples are finite; otherwise kNonFinite with the index of the first that is not, counted from
/// `first_index` (the position of `samples` in a stream).
Result<void> check_finite(std::span<const float> samples, int64_t first_index = 0);

}  // namespace tandem
