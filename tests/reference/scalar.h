#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace tandem::reference {

/// What one element holds while an op is computed: a number of the node's kind and how far an engine may be from it.
struct Element {
  double value = 0;     ///< Floats.
  int64_t integer = 0;  ///< Integers and bool; u64 by its bits.
  double error = 0;     ///< Absolute; infinite when undecided.
};

/// Rounds a float to a dtype (f16 and bf16 by way of f32, as the op table says).
double round_to(DType dtype, double value);
/// Brings an integer into the range of its dtype, modulo 2^bits.
int64_t wrap(DType dtype, int64_t value);
/// Half the distance of neighbouring numbers at 1: the relative error of one rounding.
double half_ulp(DType dtype);
/// The smallest normal number: an engine may flush what is smaller.
double smallest_normal(DType dtype);

/// One element of an elementwise op, in float64 or exactly in the integer's width, from the op table's meaning. `from`
/// is the dtype of the operands (of x for `where`), `to` the result's. The errors of the operands are carried to first
/// order and a rounding of this op is added.
Element compute(Op op, DType from, DType to, const Element& x, const Element& y, const Element& z);

}  // namespace tandem::reference
