#include "core/schedule/work.h"

#include <functional>
#include <map>

namespace tandem {
namespace {

Index bytes_of(DType dtype, const Index& elements) { return elements * static_cast<int64_t>(size_of(dtype)); }

bool is_buffer(const Node& node) { return node.op == Op::kInput || node.op == Op::kConstant; }

/// Operations for `needed` elements of a node's result.
Index flops_of(const Graph& graph, const Node& node, const Index& needed) {
  if (!is_float(node.dtype)) return 0;
  switch (info(node.op).op_class) {
    case OpClass::kUnary:
    case OpClass::kBinary:
      return node.op == Op::kCast || node.op == Op::kBitcast ? Index(0) : needed;
    case OpClass::kReduce:
      return element_count(graph.node(node.operands[0]).shape);
    case OpClass::kContract:
      return element_count(graph.node(node.operands[0]).shape) * 2;
    default:
      return 0;
  }
}

}  // namespace

const std::string& origin_of(const ProgramBuilder& builder, const Group& group) {
  const Graph& graph = *builder.module.graph;
  const bool anchored = group.anchor != kNoNode && !graph.node(group.anchor).origin.empty();
  return graph.node(anchored ? group.anchor : group.root).origin;
}

Work work_of(const ProgramBuilder& builder, const Group& group, DType stored) {
  const Graph& graph = *builder.module.graph;
  const Node& root = graph.node(group.root);
  Work work;
  work.bytes = bytes_of(stored, element_count(root.shape));
  // How many elements of each node the group needs; users come before what they use.
  std::map<NodeId, Index, std::greater<>> needed;
  needed[group.root] = element_count(root.shape);
  while (!needed.empty()) {
    const auto [id, wanted] = *needed.begin();
    needed.erase(needed.begin());
    const Node& node = graph.node(id);
    const Index whole = element_count(node.shape);
    // Several users may want parts that overlap: more than everything is never read.
    const Index count = same(wanted, whole) ? whole : min(wanted, whole);
    const auto buffer = builder.buffers.find(id);
    if (buffer != builder.buffers.end() && (is_buffer(node) || id != group.root)) {
      work.bytes += bytes_of(buffer->second.dtype, count);
      continue;
    }
    work.flops += flops_of(graph, node, count);
    const OpClass op_class = info(node.op).op_class;
    const bool all = op_class == OpClass::kReduce || op_class == OpClass::kContract;
    for (size_t i = 0; i < node.operands.size(); i++) {
      const NodeId operand = node.operands[i];
      if (i > 0 && operand == node.operands[0]) continue;
      const Index size = element_count(graph.node(operand).shape);
      const Index part = all || less_equal(size, count) == Truth::kAlways ? size : min(size, count);
      const auto [found, is_new] = needed.emplace(operand, part);
      if (!is_new) found->second = same(found->second, size) || same(part, size) ? size : found->second + part;
    }
  }
  return work;
}

}  // namespace tandem
