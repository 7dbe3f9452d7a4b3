#pragma once

#include <cstdint>

#include "core/kernel/kernel.h"

namespace tandem::test {

/// A kernel of a seed, the same on every platform: nested loops with constant, symbolic and loaded bounds and steps,
/// subscripts that are linear, quotients, remainders, minima and products of counters, variables and loaded numbers,
/// buffers of every dtype, partial vectors, registers, conditions. Every access lies in its buffer. Its variables are
/// n (1 .. 9) and m (1 .. 5).
Kernel random_kernel(uint32_t seed);

}  // namespace tandem::test
