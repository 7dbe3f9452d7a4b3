#include "tests/support/stepped_graph.h"

#include <algorithm>
#include <cstring>

namespace tandem::test {
namespace {

std::string input_name(int32_t number) { return "x" + std::to_string(number); }

/// The number of the state that is this input; nothing for an input that stays one.
std::optional<size_t> state_of_input(const reference::RandomGraph& graph, int32_t input) {
  for (size_t i = 0; i < graph.states.size(); i++)
    if (graph.states[i].input == input) return i;
  return std::nullopt;
}

std::vector<std::byte> bytes_of(const BufferView& buffer) {
  std::vector<std::byte> bytes(buffer.data(), buffer.data() + buffer.size_bytes());
  if (is_float(buffer.dtype())) unify_nans(bytes, buffer.dtype());
  return bytes;
}

}  // namespace

void SteppedGraph::declare() {
  const Graph& graph = *graph_.module.graph;
  std::vector<std::string> variables;
  std::map<int32_t, const Node*> inputs;
  for (const NodeId id : reachable_nodes(graph, graph_.module.outputs)) {
    const Node& node = graph.node(id);
    if (node.op == Op::kInput) inputs[node.attributes.count] = &node;
    for (const auto* list : {&node.shape, &node.attributes.begin, &node.attributes.size})
      for (const Index& entry : *list)
        entry.for_each_leaf([&](const Index& leaf) {
          if (std::find(variables.begin(), variables.end(), leaf.name()) != variables.end()) return;
          variables.push_back(leaf.name());
          session_.declare_variable(leaf.name(), leaf.lower(), leaf.upper());
        });
  }
  for (const auto& [number, node] : inputs)
    if (!state_of_input(graph_, number)) session_.declare_input(input_name(number), node->dtype, node->shape);
  for (const reference::RandomState& state : graph_.states)
    session_.declare_state(graph_.module.output_names[state.output], inputs.at(state.input)->dtype,
                           inputs.at(state.input)->shape);
}

Outputs SteppedGraph::build(const Trace& trace) const {
  const Graph& graph = *graph_.module.graph;
  std::map<NodeId, NodeId> copies;
  for (const NodeId id : reachable_nodes(graph, graph_.module.outputs)) {
    const Node& node = graph.node(id);
    if (node.op == Op::kInput) {
      const auto state = state_of_input(graph_, node.attributes.count);
      const std::string name =
          state ? graph_.module.output_names[graph_.states[*state].output] : input_name(node.attributes.count);
      copies[id] = trace.tensor(name).node_in(trace.graph());
      continue;
    }
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(copies.at(operand));
    copies[id] = trace.graph()->make(node.op, operands, node.attributes, node.dtype, node.shape);
  }
  std::vector<NamedTensor> results;
  for (size_t i = 0; i < graph_.module.outputs.size(); i++)
    results.push_back({graph_.module.output_names[i], Tensor(trace.graph(), copies.at(graph_.module.outputs[i]))});
  return results;
}

void SteppedGraph::write_inputs() {
  for (const auto& [number, bytes] : graph_.inputs) {
    const auto state = state_of_input(graph_, number);
    const auto place = session_.input_number(input_name(number));
    if (!state && !place) continue;
    Buffer buffer = state ? *session_.state(*state) : *session_.input(*place);
    std::memcpy(buffer.data(), bytes.data(), std::min(bytes.size(), buffer.size_bytes()));
  }
}

Result<SteppedGraph> SteppedGraph::make(const reference::RandomGraph& graph, const Target& target, Numerics numerics) {
  SteppedGraph stepped(graph, "stepped");
  stepped.declare();
  PrepareConfig config;
  config.backend = target.backend;
  config.isa = target.capabilities.isa;
  config.numerics = numerics;
  const auto done = stepped.session_.prepare({}, [&](const Trace& trace) { return stepped.build(trace); }, config);
  if (!done) return tl::unexpected<JitError>(done.error());
  stepped.write_inputs();
  return stepped;
}

reference::InputBytes SteppedGraph::inputs() {
  reference::InputBytes now = graph_.inputs;
  for (size_t i = 0; i < graph_.states.size(); i++) now[graph_.states[i].input] = bytes_of(*session_.state(i));
  return now;
}

Result<OutputBytes> SteppedGraph::step(const std::map<std::string, int64_t>& variables) {
  std::vector<VariableValue> values;
  for (const auto& [name, value] : variables) values.push_back({name, value});
  if (auto done = session_.execute_with_vars(values); !done) return tl::unexpected<JitError>(done.error());
  OutputBytes outputs;
  for (size_t i = 0; i < graph_.module.outputs.size(); i++) {
    const auto state = std::find_if(graph_.states.begin(), graph_.states.end(),
                                    [&](const reference::RandomState& each) { return each.output == i; });
    if (state != graph_.states.end())
      outputs.push_back(bytes_of(*session_.state(static_cast<size_t>(state - graph_.states.begin()))));
    else
      outputs.push_back(bytes_of(*session_.output(*session_.output_number(graph_.module.output_names[i]))));
  }
  return outputs;
}

}  // namespace tandem::test
