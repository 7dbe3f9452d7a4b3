#pragma once

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

/// Longest duration that segmentation takes (about 31 years): positions stay exact in 64 bits and in a double.
inline constexpr double kLongestMilliseconds = 1e12;

/// Success when `value` is in [low, high]; otherwise (NaN too) kInvalidArgument with name, value and range.
inline Result<void> check_option(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fail(ErrorCode::kInvalidArgument, concat(name, " is ", value, ": it must be from ", low, " to ", high));
}

}  // namespace tandem
