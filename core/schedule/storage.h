#pragma once

#include "core/graph/graph.h"

namespace tandem {

/// The smallest dtype that is known to hold all values of an expression: of weights that are stored as f16 and cast to
/// f32, f16. A copy of the expression may be kept in it, and cast when it is loaded.
DType storage_dtype(const Graph& graph, NodeId node);

/// Is this a cast that shows a smaller dtype in a larger one? Loading the smaller and casting it costs less than memory
/// for the larger.
bool is_widening_cast(const Graph& graph, NodeId node);

}  // namespace tandem
