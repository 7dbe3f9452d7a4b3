#include "tests/reference/fixed.h"

namespace tandem::reference {

namespace {

std::vector<Index> fixed(const std::vector<Index>& list, const std::map<std::string, int64_t>& values) {
  std::vector<Index> out;
  for (const Index& entry : list)
    out.push_back(entry.substitute([&](const Index& leaf) -> std::optional<Index> {
      const auto found = values.find(leaf.name());
      if (found == values.end()) return std::nullopt;
      return Index(found->second);
    }));
  return out;
}

}  // namespace

GraphModule with_variables_fixed(const GraphModule& module, const std::map<std::string, int64_t>& values) {
  GraphModule out;
  out.output_names = module.output_names;
  std::map<NodeId, NodeId> copies;
  for (const NodeId id : reachable_nodes(*module.graph, module.outputs)) {
    const Node& node = module.graph->node(id);
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(copies.at(operand));
    Attributes attributes = node.attributes;
    attributes.begin = fixed(attributes.begin, values);
    attributes.size = fixed(attributes.size, values);
    copies[id] = out.graph->make(node.op, operands, std::move(attributes), node.dtype, fixed(node.shape, values));
  }
  for (const NodeId output : module.outputs) out.outputs.push_back(copies.at(output));
  return out;
}

}  // namespace tandem::reference
