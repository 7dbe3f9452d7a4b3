#pragma once

#include <limits>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

/// Longest duration that segmentation takes (about 31 years): positions stay exact in 64 bits and in a double.
inline constexpr double kLongestMilliseconds = 1e12;

/// What an option may be, both ends included.
struct OptionRange {
  double low;
  double high;
};
inline constexpr OptionRange kThresholdRange{0, 1};
inline constexpr OptionRange kNegThresholdRange{-1, 1};
inline constexpr OptionRange kMillisecondsRange{0, kLongestMilliseconds};
/// Zero makes no sense as the longest duration either, but is refused in words of its own.
inline constexpr OptionRange kLongestSpeechRange{0, std::numeric_limits<double>::infinity()};

/// Success when `value` is in [low, high]; otherwise (NaN too) kInvalidArgument with name, value and range.
inline Result<void> check_option(const char* name, double value, OptionRange range) {
  if (value >= range.low && value <= range.high) return {};
  return fail(ErrorCode::kInvalidArgument,
              concat(name, " is ", value, ": it must be from ", range.low, " to ", range.high));
}

/// The same for a range that depends on other options.
inline Result<void> check_option(const char* name, double value, double low, double high) {
  return check_option(name, value, OptionRange{low, high});
}

}  // namespace tandem
