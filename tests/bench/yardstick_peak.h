#pragma once

#include <cstddef>
#include <cstdint>

/// What one core of this machine can do at best, as loops with nothing else in them.
namespace tandem::bench::peak {

/// Multiply-adds in registers alone, in vectors of 16, 8 or 4 lanes, fused or as two instructions. Returns the number
/// of floating-point operations done, two per multiply-add and lane.
int64_t multiply_adds(int lanes, bool fused);

/// Reads `count` floats once, in whole vectors of 16, from eight places in turn.
float read(const float* from, size_t count);

}  // namespace tandem::bench::peak
