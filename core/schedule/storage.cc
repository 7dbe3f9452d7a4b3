#include "core/schedule/storage.h"

#include "core/graph/movement_index.h"

namespace tandem {
bool is_widening_cast(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kCast) return false;
  const DType from = graph.node(node.operands[0]).dtype;
  return size_of(from) < size_of(node.dtype) && holds(node.dtype, from);
}

DType storage_dtype(const Graph& graph, NodeId id) {
  DType smallest = graph.node(id).dtype;
  while (is_rearrangement(graph.node(id).op) || is_widening_cast(graph, id)) {
    id = graph.node(id).operands[0];
    smallest = graph.node(id).dtype;
  }
  return smallest;
}

}  // namespace tandem
