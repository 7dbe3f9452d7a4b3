#include "core/graph/verify.h"

#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/infer.h"

namespace tandem {

namespace {

void verify_node(const Graph& graph, NodeId id, const char* stage) {
  const Node& node = graph.node(id);
  const std::string where = concat(stage, ": %", id, " = ", name_of(node.op));
  for (const NodeId operand : node.operands)
    TANDEM_CHECK(operand < id, concat(where, " uses %", operand, ", which comes later"));
  try {
    const Node again = infer_node(graph, node.op, node.operands, node.attributes, node.dtype, node.shape);
    TANDEM_CHECK(again.dtype == node.dtype && same(again.shape, node.shape),
                 concat(where, " is ", name_of(node.dtype), text(node.shape), ", the rules give ", name_of(again.dtype),
                        text(again.shape)));
  } catch (const TensorError& error) {
    throw_internal_error(__FILE__, __LINE__, "valid node", concat(where, ": ", error.what()));
  }
}

}  // namespace

void verify(const GraphModule& module, const char* stage) {
  TANDEM_CHECK(module.graph != nullptr, concat(stage, ": no graph"));
  const Graph& graph = *module.graph;
  TANDEM_CHECK(!module.outputs.empty(), concat(stage, ": no outputs"));
  TANDEM_CHECK(module.outputs.size() == module.output_names.size(), concat(stage, ": outputs without names"));
  std::set<std::string> names;
  for (const std::string& name : module.output_names)
    TANDEM_CHECK(names.insert(name).second, concat(stage, ": two outputs are named \"", name, "\""));

  std::map<int32_t, NodeId> inputs;
  for (const NodeId id : reachable_nodes(graph, module.outputs)) {
    verify_node(graph, id, stage);
    const Node& node = graph.node(id);
    if (node.op != Op::kInput) continue;
    const auto entry = inputs.emplace(node.attributes.count, id).first;
    TANDEM_CHECK(entry->second == id,
                 concat(stage, ": %", entry->second, " and %", id, " are both input ", node.attributes.count));
  }
}

}  // namespace tandem
