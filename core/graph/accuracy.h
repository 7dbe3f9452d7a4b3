#pragma once

#include "core/base/dtype.h"
#include "core/graph/graph.h"

namespace tandem {

/// Largest distance of a float op's result from the exact result, in units in the last place of its dtype, for exact
/// operands: fast numerics on every target, and reproducible numerics too (whose bits are the same everywhere). 0.5 is
/// correct rounding, 0 an exact result. Fast numerics may besides flush results below the smallest normal number to 0.
///
/// Sums have a bound of their own: a contraction or reduce_sum over n terms may be off by n roundings of the sum of the
/// terms' magnitudes (2 n for a contraction that isn't fused). The numbers are held by tests/unit/math_*_test.cc
/// against wider arithmetic and by every case and random graph.
constexpr double accuracy_ulps(Op op, DType dtype) {
  // Halves are computed in f32: what remains is the one rounding, moved at most by the error in f32.
  const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  const bool wide = dtype == DType::kF64;
  const auto computed = [&](double f32, double f64) { return half ? 0.51 : wide ? f64 : f32; };
  switch (op) {
    case Op::kNeg:
    case Op::kAbs:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRound:
    case Op::kMin:
    case Op::kMax:
    case Op::kWhere:
      return 0;
    case Op::kExp:
      return computed(1.2, 1.2);
    case Op::kLog:
      return computed(0.9, 0.9);
    case Op::kSigmoid:
    case Op::kTanh:
      return computed(2.6, 2.6);
    case Op::kErf:
      return computed(2.5, 2.5);
    case Op::kSin:
    case Op::kCos:
      return computed(1.6, 0.9);
    case Op::kPow:
      return computed(0.51, 1.5);
    default:
      return 0.5;
  }
}

}  // namespace tandem
