#pragma once

#include "core/schedule/program_builder.h"

namespace tandem {

/// The smallest dtype that is known to hold all values of an expression: of weights that are stored as f16 and cast to
/// f32, side by side or with zeros around them, f16. A copy of the expression may be kept in it, and cast when it is
/// loaded.
DType storage_dtype(const Graph& graph, NodeId node);

/// Is this a cast that shows a smaller dtype in a larger one? Loading the smaller and casting it costs less than memory
/// for the larger.
bool is_widening_cast(const Graph& graph, NodeId node);

/// Is the product of any two finite values of these dtypes a value of the float dtype `product`? Then one fused
/// instruction that adds it to a sum rounds as multiplying and adding do: once, and with the same bits.
bool multiplies_exactly(DType a, DType b, DType product);

/// The dtype in which the buffer of a node that a step computes is kept: bf16 for f32 values that are nothing but bf16
/// ones, moved, padded or cut; else the node's own. Buffers below must have been chosen.
DType buffer_dtype(const ProgramBuilder& program, NodeId node);

}  // namespace tandem
