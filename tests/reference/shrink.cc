#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/graph/constant.h"
#include "core/graph/verify.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/random_graph.h"

namespace tandem::reference {

namespace {

/// A copy of the graph in which chosen nodes change; inputs are numbered anew.
class Rebuilder {
 public:
  explicit Rebuilder(const RandomGraph& from) : from_(from) {}

  /// Nodes that become inputs with these bytes.
  std::map<NodeId, std::vector<std::byte>> cuts;
  /// Every dimension of this size gets another one.
  int64_t old_size = -1;
  int64_t new_size = -1;

  RandomGraph run(const std::vector<NodeId>& outputs) {
    const Graph& graph = *from_.module.graph;
    std::vector<NodeId> needed = needed_nodes(outputs);
    for (const NodeId id : needed)
      copies_[id] = cuts.count(id) != 0 ? input(id, cuts.at(id)) : copy(graph.node(id), id);
    for (size_t i = 0; i < outputs.size(); i++) {
      out_.module.outputs.push_back(copies_.at(outputs[i]));
      out_.module.output_names.push_back("output" + std::to_string(i));
    }
    keep_states(outputs);
    return std::move(out_);
  }

 private:
  /// The states of which both the input and the new value are left.
  void keep_states(const std::vector<NodeId>& outputs) {
    for (const RandomState& state : from_.states) {
      const auto input = numbers_.find(state.input);
      const NodeId next = from_.module.outputs[state.output];
      const auto output = state.output < outputs.size() && outputs[state.output] == next
                              ? outputs.begin() + static_cast<std::ptrdiff_t>(state.output)
                              : std::find(outputs.begin(), outputs.end(), next);
      if (input == numbers_.end() || output == outputs.end()) continue;
      out_.states.push_back({input->second, static_cast<size_t>(output - outputs.begin())});
      out_.module.output_names[out_.states.back().output] = "state" + std::to_string(out_.states.size() - 1);
    }
  }
  std::vector<NodeId> needed_nodes(const std::vector<NodeId>& outputs) const {
    const Graph& graph = *from_.module.graph;
    std::set<NodeId> needed(outputs.begin(), outputs.end());
    for (size_t id = graph.size(); id-- > 0;)
      if (needed.count(static_cast<NodeId>(id)) != 0 && cuts.count(static_cast<NodeId>(id)) == 0)
        for (const NodeId operand : graph.node(static_cast<NodeId>(id)).operands) needed.insert(operand);
    return {needed.begin(), needed.end()};
  }
  Dim resized(const Dim& dim) const { return dim.is(old_size) ? Dim(new_size) : dim; }
  Shape resized(Shape shape) const {
    for (Dim& dim : shape) dim = resized(dim);
    return shape;
  }
  /// The leading part of the data along every axis.
  std::vector<std::byte> cropped(const std::byte* bytes, const Node& node) const {
    const Extents old_shape = maximum(node.shape), new_shape = maximum(resized(node.shape));
    const Value whole{node.dtype, new_shape, dense_strides(old_shape), 0, nullptr};
    const size_t width = size_of(node.dtype);
    std::vector<std::byte> out;
    for (Walker walker(new_shape, {&whole}); !walker.done(); walker.next()) {
      const std::byte* element = bytes + static_cast<size_t>(walker.offset(0)) * width;
      out.insert(out.end(), element, element + width);
    }
    return out;
  }
  NodeId input(NodeId id, const std::vector<std::byte>& bytes) {
    const Node& node = from_.module.graph->node(id);
    Attributes attributes;
    attributes.count = static_cast<int32_t>(out_.inputs.size());
    attributes.name = "x" + std::to_string(attributes.count);
    out_.inputs[attributes.count] = cropped(bytes.data(), node);
    return out_.module.graph->make(Op::kInput, {}, std::move(attributes), node.dtype, resized(node.shape));
  }
  NodeId copy(const Node& node, NodeId id) {
    if (node.op == Op::kInput) {
      numbers_[node.attributes.count] = static_cast<int32_t>(out_.inputs.size());
      return input(id, from_.inputs.at(node.attributes.count));
    }
    const Shape shape = resized(node.shape);
    if (node.op == Op::kConstant) {
      const ConstantData& data = *node.attributes.data;
      return make_constant(*out_.module.graph, node.dtype, shape,
                           constant_data(node.dtype, shape, cropped(data.bytes, node), data.name));
    }
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(copies_.at(operand));
    Attributes attributes = node.attributes;
    if (node.op == Op::kShrink) attributes.size = resized(attributes.size);
    return out_.module.graph->make(node.op, operands, std::move(attributes), node.dtype, shape);
  }

  const RandomGraph& from_;
  RandomGraph out_;
  std::map<NodeId, NodeId> copies_;
  std::map<int32_t, int32_t> numbers_;  ///< Of inputs that are left, old to new.
};

/// Does a smaller graph fail as the whole one did?
using Fails = std::function<bool(const RandomGraph&)>;

/// What cutting and resizing made of a graph need not be one: sizes may not fit, and a state may not fit its input.
bool is_valid(const RandomGraph& graph) {
  try {
    verify(graph.module, "shrinking");
  } catch (const std::exception&) {
    return false;
  }
  std::map<int32_t, const Node*> inputs;
  for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs))
    if (const Node& node = graph.module.graph->node(id); node.op == Op::kInput) inputs[node.attributes.count] = &node;
  for (const RandomState& state : graph.states) {
    const auto input = inputs.find(state.input);
    const Node& next = graph.module.graph->node(graph.module.outputs[state.output]);
    if (input == inputs.end() || input->second->dtype != next.dtype || input->second->shape != next.shape) return false;
  }
  return true;
}

std::string kind_of_fault(const RandomGraph& graph, const Trial& trial) {
  try {
    return trial(graph).kind;
  } catch (const std::exception&) {
    return "exception";  // an engine that throws on a valid graph is wrong as well
  }
}

/// The first node, in graph order, that fails as the only output.
bool keep_one_output(RandomGraph& graph, const Fails& fails) {
  for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs)) {
    if (graph.module.outputs.size() == 1 && graph.module.outputs[0] == id) return false;
    RandomGraph smaller = Rebuilder(graph).run({id});
    if (!fails(smaller)) continue;
    graph = std::move(smaller);
    return true;
  }
  return false;
}

/// Leaves an output out: for faults that need several.
bool drop_one_output(RandomGraph& graph, const Fails& fails) {
  for (size_t i = 0; graph.module.outputs.size() > 1 && i < graph.module.outputs.size(); i++) {
    std::vector<NodeId> outputs = graph.module.outputs;
    outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(i));
    RandomGraph smaller = Rebuilder(graph).run(outputs);
    if (!fails(smaller)) continue;
    graph = std::move(smaller);
    return true;
  }
  return false;
}

/// Makes a state an ordinary input and output.
bool drop_one_state(RandomGraph& graph, const Fails& fails) {
  for (size_t i = 0; i < graph.states.size(); i++) {
    RandomGraph smaller = graph;
    smaller.states.erase(smaller.states.begin() + static_cast<std::ptrdiff_t>(i));
    if (!fails(smaller)) continue;
    graph = std::move(smaller);
    return true;
  }
  return false;
}

/// Replaces the latest possible computed node by an input with the reference's values.
bool cut_one_node(RandomGraph& graph, const Fails& fails) {
  const std::vector<NodeId> nodes = reachable_nodes(*graph.module.graph, graph.module.outputs);
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = graph.module.graph->node(nodes[i]);
    if (node.operands.empty() || std::count(graph.module.outputs.begin(), graph.module.outputs.end(), nodes[i]) != 0)
      continue;
    GraphModule part{graph.module.graph, {nodes[i]}, {"part"}};
    const auto values = evaluate(part, Options{Mode::kRounded, {}, graph.inputs});
    Rebuilder rebuilder(graph);
    rebuilder.cuts[nodes[i]] = to_bytes(values[0]);
    RandomGraph smaller = rebuilder.run(graph.module.outputs);
    if (!fails(smaller)) continue;
    graph = std::move(smaller);
    return true;
  }
  return false;
}

bool reduce_one_size(RandomGraph& graph, const Fails& fails) {
  std::set<int64_t> present;
  for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs))
    for (const int64_t size : maximum(graph.module.graph->node(id).shape)) present.insert(size);
  for (const int64_t old_size : present)
    for (const int64_t new_size : {int64_t{1}, int64_t{2}, int64_t{3}, old_size / 2, old_size - 1}) {
      if (new_size < 1 || new_size >= old_size) continue;
      try {
        Rebuilder rebuilder(graph);
        rebuilder.old_size = old_size;
        rebuilder.new_size = new_size;
        RandomGraph smaller = rebuilder.run(graph.module.outputs);
        if (!fails(smaller)) continue;
        graph = std::move(smaller);
        return true;
      } catch (const TensorError&) {
        // This size is tied to another one, by a reshape for instance.
      }
    }
  return false;
}

}  // namespace

RandomGraph compacted(const RandomGraph& graph) { return Rebuilder(graph).run(graph.module.outputs); }

RandomGraph shrink(const RandomGraph& failing, const Trial& trial) {
  const std::string kind = kind_of_fault(failing, trial);
  if (kind.empty()) return failing;
  // A test that fails must end: whoever wants a smaller graph can start from what is left.
  constexpr int kMostTries = 1500;
  int tries = 0;
  const Fails limited = [&](const RandomGraph& smaller) {
    return ++tries <= kMostTries && is_valid(smaller) && kind_of_fault(smaller, trial) == kind;
  };
  RandomGraph graph = failing;
  while (tries < kMostTries &&
         (keep_one_output(graph, limited) || drop_one_output(graph, limited) || drop_one_state(graph, limited) ||
          cut_one_node(graph, limited) || reduce_one_size(graph, limited))) {
  }
  return graph;
}

}  // namespace tandem::reference
