#pragma once

#include "core/graph/graph.h"

namespace tandem {

/// The smallest dtype that is known to hold all values of an expression: of weights that are stored as f16 and cast to
/// f32, with zeros around them or not, f16. A copy of the expression may be kept in it, and cast when it is loaded.
DType storage_dtype(const Graph& graph, NodeId node);

/// Is this a cast that shows a smaller dtype in a larger one? Loading the smaller and casting it costs less than memory
/// for the larger.
bool is_widening_cast(const Graph& graph, NodeId node);

/// Is the product of any two finite values of these dtypes a value of the float dtype `product`? Then one fused
/// instruction that adds it to a sum rounds as multiplying and adding do: once, and with the same bits.
bool multiplies_exactly(DType a, DType b, DType product);

}  // namespace tandem
