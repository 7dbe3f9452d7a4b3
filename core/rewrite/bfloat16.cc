#include "core/rewrite/bfloat16.h"

#include <optional>

#include "core/graph/movement_index.h"
#include "core/rewrite/make.h"

namespace tandem {

using rewriting::make;

namespace {

/// A shorter sum is not worth rounding for.
constexpr int64_t kLongSum = 32;

/// Which nodes depend on inputs or variables?
std::vector<bool> varying(const Graph& graph) {
  std::vector<bool> varies(graph.size(), false);
  for (NodeId id = 0; id < graph.size(); id++) {
    const Node& node = graph.node(id);
    bool found = node.op == Op::kInput || (node.op == Op::kSize && !node.attributes.size[0].is_constant());
    for (const Dim& dim : node.shape) found |= !dim.is_constant();
    for (const NodeId operand : node.operands) found |= varies[operand];
    varies[id] = found;
  }
  return varies;
}

/// Does a reshape only add or take away axes of size 1?
bool keeps_axes(const Graph& graph, const Node& reshape) {
  const auto without_ones = [](const Shape& shape) {
    Shape kept;
    for (const Dim& dim : shape)
      if (!dim.is(1)) kept.push_back(dim);
    return kept;
  };
  return same(without_ones(graph.node(reshape.operands[0]).shape), without_ones(reshape.shape));
}

/// Rounds below what only repeats elements or names axes anew: users of one value share its rounding.
NodeId rounded(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool passes =
      node.op == Op::kExpand || node.op == Op::kPermute || (node.op == Op::kReshape && keeps_axes(graph, node));
  if (passes)
    return make(graph, node.op, std::vector<NodeId>{rounded(graph, node.operands[0])}, node.attributes, node.dtype,
                node.shape);
  if (shows_bfloat16(graph, id)) return id;
  return make(graph, Op::kCast, {make(graph, Op::kCast, {id}, DType::kBF16)}, DType::kF32);
}

/// The operand of a contraction that is to be rounded, or nothing.
std::optional<size_t> operand_to_round(const Graph& graph, const Node& contraction, const std::vector<bool>& varies) {
  const Dim& length = graph.node(contraction.operands[0]).shape.back();
  const bool is_long = contraction.attributes.count == 1 && length.is_constant() && length.constant() >= kLongSum &&
                       length.constant() % 2 == 0;
  if (contraction.dtype != DType::kF32 || !is_long) return std::nullopt;
  for (size_t i = 0; i < 2; i++) {
    const NodeId weights = below_rearrangements(graph, contraction.operands[i]);
    const bool halves = shows_bfloat16(graph, weights) && !varies[weights];
    if (halves && varies[contraction.operands[1 - i]]) return 1 - i;
  }
  return std::nullopt;
}

}  // namespace

GraphModule round_operands_to_bfloat16(const GraphModule& module) {
  GraphModule result;
  Graph& graph = *result.graph;
  const std::vector<bool> varies = varying(*module.graph);
  std::vector<NodeId> copies(module.graph->size(), kNoNode);
  for (const NodeId id : reachable_nodes(*module.graph, module.outputs)) {
    const Node& node = module.graph->node(id);
    OriginScope origin(graph, node.origin);
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(copies[operand]);
    if (node.op == Op::kContract)
      if (const auto operand = operand_to_round(*module.graph, node, varies))
        operands[*operand] = rounded(graph, operands[*operand]);
    copies[id] = graph.make(node.op, operands, node.attributes, node.dtype, node.shape);
  }
  for (const NodeId output : module.outputs) result.outputs.push_back(copies[output]);
  result.output_names = module.output_names;
  return result;
}

}  // namespace tandem
