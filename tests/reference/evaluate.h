#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "tests/reference/value.h"

namespace tandem::reference {

enum class Mode {
  kExact,    ///< float64 throughout: the truth that tolerances are measured from.
  kRounded,  ///< Every result is rounded to its node's dtype, as the op table says.
};

/// What the symbolic variables and inputs are. A variable that is not named has its largest value.
struct Options {
  Mode mode = Mode::kExact;
  std::map<std::string, int64_t> variables;
  /// Raw bytes by input number: dense in the input's live shape, or as far apart as its strides say.
  std::map<int32_t, std::vector<std::byte>> inputs;
};

/// One evaluated output, row-major.
struct ReferenceResult {
  DType dtype = DType::kF32;
  Extents shape;
  std::vector<double> values;     ///< Floats; for other dtypes the integers as numbers.
  std::vector<int64_t> integers;  ///< Integers and bool exactly (u64 by its bits); empty for floats.
  /// Sum of |terms| of the contraction or sum that made the element, |value| for everything else.
  std::vector<double> magnitude;
  /// Absolute error that a correct engine may have: roundings of every op on the way, to first order. Each sum of n
  /// terms counts n roundings of its magnitude. Infinite where an inexact value decides a comparison, an index or a
  /// rounding.
  std::vector<double> error;
};

/// Evaluates every output, node by node, from the meaning in ops.def. Shares no code with rewriting, scheduling or
/// kernels. Throws TensorError for a missing input, one of wrong size, or a variable out of its bounds.
std::vector<ReferenceResult> evaluate(const GraphModule& module, const Options& options);

}  // namespace tandem::reference
