#pragma once

#include <optional>

#include "core/graph/graph.h"

namespace tandem::rewriting {

/// The node of the result of an elementwise op on scalar nodes, or nothing for ops whose value is not exactly
/// prescribed (exp, log, sin, ...): those stay for the kernels, since the libraries of two hosts differ in them.
/// Computed in the dtype, as the op table says.
std::optional<NodeId> fold_scalars(Graph& graph, const Node& node);

}  // namespace tandem::rewriting
