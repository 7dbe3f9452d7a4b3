#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::test {

/// Distance of a computed number from a reference of higher precision, in units in the last place of T at the
/// reference. All NaNs are one value; a wrong NaN, a finite number for infinity, or infinity where the reference
/// doesn't round to it, count as 1e30.
template <typename T, typename Reference>
double ulps(T actual, Reference expected) {
  static_assert(sizeof(Reference) > sizeof(T));
  constexpr double never = 1e30;
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected) ? 0 : never;
  const T rounded = static_cast<T>(expected);
  if (actual == rounded && std::isinf(actual)) return 0;
  if (std::isinf(actual)) {
    // A last place beyond the largest number is what the bounds allow.
    return std::fabs(expected) > std::numeric_limits<T>::max() * (1 - 3 * std::numeric_limits<T>::epsilon()) &&
                   std::signbit(actual) == std::signbit(expected)
               ? 1
               : never;
  }
  if (std::isinf(expected)) return never;
  int exponent = 0;
  std::frexp(expected, &exponent);
  using Limits = std::numeric_limits<T>;
  const int place = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(std::fabs(actual - expected) / std::ldexp(Reference{1}, place));
}

}  // namespace tandem::test
