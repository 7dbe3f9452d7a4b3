#pragma once

#include "core/kernel/math_value.h"

namespace tandem {

/// e^y = power * (1 + rest) with power = 2^n, rest in [-0.3, 0.42]: e^y - 1 = power * rest + (power - 1) without
/// cancellation. For |y| where 2^n is a normal number; `rest` is exact to a relative error near y = 0 too.
struct ExponentialParts {
  MathValue power;
  MathValue rest;
};
ExponentialParts exponential_parts(MathValue y);

/// e^high * (1 + low) for |low| < 2^-20: the exponential of an f64 sum of two parts.
MathValue exponential_of_sum(MathValue high, MathValue low);

}  // namespace tandem
