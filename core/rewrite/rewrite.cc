#include "core/rewrite/rewrite.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/rewrite/make.h"

namespace tandem {

using rewriting::Match;
using rewriting::Rule;
using rewriting::RuleSet;

namespace {

/// Steps that one node of the source may cause before the rules count as endless. The longest useful chains, a part of
/// a part through a stack of movement ops, have some dozens.
constexpr int64_t kMostSteps = 20000;

std::string line_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string line = concat(name_of(node.op), " ", name_of(node.dtype), text(node.shape));
  for (size_t i = 0; i < node.operands.size(); i++) line += concat(i == 0 ? " %" : ", %", node.operands[i]);
  if (!node.attributes.name.empty()) line += concat(" \"", node.attributes.name, "\"");
  if (node.op == Op::kScalar)
    line += is_float(node.dtype) ? concat(" ", node.attributes.value) : concat(" ", node.attributes.integer);
  return line;
}

/// Computes normal forms in a growing graph. A rule sees only what is under its root, never users, so that the normal
/// form of a node is a function of the node: each is computed once, operands first, and no user is looked at twice.
class Rewriter {
 public:
  Rewriter(const RuleSet& rules, RewriteTrace* trace) : trace_(trace) {
    for (const Rule& rule : rules)
      for (const Op op : rule.pattern.ops) by_op_[static_cast<size_t>(op)].push_back(&rule);
  }

  GraphModule run(const GraphModule& source) {
    std::vector<NodeId> copies(source.graph->size(), kNoNode);
    for (const NodeId id : reachable_nodes(*source.graph, source.outputs)) {
      const Node& node = source.graph->node(id);
      OriginScope origin(graph_, node.origin);
      steps_ = 0;
      copies[id] = normal_form(copy(graph_, node, copies));
    }
    std::vector<NodeId> outputs;
    for (const NodeId output : source.outputs) outputs.push_back(copies[output]);
    return compacted(outputs, source.output_names);
  }

 private:
  enum class Stage : uint8_t { kNew, kOpen, kDone };
  struct State {
    Stage stage = Stage::kNew;
    const Rule* rule = nullptr;  // What made `next` of it; null: its operands changed.
    NodeId next = kNoNode;       // kOpen: equal to this node, and closer to the normal form.
    NodeId normal = kNoNode;     // kDone
  };

  static NodeId copy(Graph& target, const Node& node, const std::vector<NodeId>& copies) {
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(copies[operand]);
    return target.make(node.op, operands, node.attributes, node.dtype, node.shape);
  }

  State& state(NodeId id) {
    if (states_.size() <= id) states_.resize(std::max<size_t>(graph_.size(), id + 1));
    return states_[id];
  }

  /// Not recursive: a model may be a chain of a hundred thousand nodes.
  NodeId normal_form(NodeId wanted) {
    std::vector<NodeId> pending = {wanted};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      if (state(id).stage == Stage::kDone) {
        pending.pop_back();
      } else if (const NodeId next = state(id).next; next != kNoNode) {
        if (state(next).stage != Stage::kDone) fail_endless(pending, "makes a node that contains what it replaces");
        state(id).normal = state(next).normal;
        state(id).stage = Stage::kDone;
        pending.pop_back();
      } else if (const size_t before = pending.size(); open_operands(id, pending), pending.size() == before) {
        advance(id, pending);
      }
    }
    return state(wanted).normal;
  }

  void open_operands(NodeId id, std::vector<NodeId>& pending) {
    for (const NodeId operand : graph_.node(id).operands)
      if (state(operand).stage != Stage::kDone) pending.push_back(operand);
  }

  /// Takes one step from a node whose operands are in normal form.
  void advance(NodeId id, std::vector<NodeId>& pending) {
    state(id).stage = Stage::kOpen;
    const Rule* used = nullptr;
    NodeId next = with_normal_operands(id);
    if (next == id) next = apply_rules(id, used);
    if (next == id) {
      state(id).normal = id;
      state(id).stage = Stage::kDone;
      return;
    }
    state(id).next = next;
    state(id).rule = used;
    if (used != nullptr && ++steps_ > kMostSteps) fail_endless(pending, "applies without end");
    if (state(next).stage == Stage::kOpen) fail_endless(pending, "leads back to where it began");
    pending.push_back(next);
  }

  NodeId with_normal_operands(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(state(operand).normal);
    if (operands == node.operands) return id;
    return graph_.make(node.op, operands, node.attributes, node.dtype, node.shape);
  }

  NodeId apply_rules(NodeId id, const Rule*& used) {
    for (const Rule* rule : by_op_[static_cast<size_t>(graph_.node(id).op)]) {
      const std::optional<NodeId> result = rewriting::apply(*rule, graph_, id);
      if (!result || *result == id) continue;
      used = rule;
      if (trace_ != nullptr) trace_->steps.push_back({rule->name, line_of(graph_, id), line_of(graph_, *result)});
      return *result;
    }
    return id;
  }

  [[noreturn]] void fail_endless(const std::vector<NodeId>& pending, const char* how) {
    // The rules that are open now are those of the loop, with what led there.
    std::vector<std::string> names;
    for (const NodeId id : pending)
      if (const Rule* rule = state(id).rule)
        if (std::find(names.begin(), names.end(), rule->name) == names.end()) names.emplace_back(rule->name);
    throw InternalError(
        concat("rewrite: a rule ", how, "; rules involved: ", join(names), "; at ", line_of(graph_, pending.back())));
  }

  GraphModule compacted(const std::vector<NodeId>& outputs, const std::vector<std::string>& names) const {
    GraphModule result;
    std::vector<NodeId> copies(graph_.size(), kNoNode);
    for (const NodeId id : reachable_nodes(graph_, outputs)) {
      const Node& node = graph_.node(id);
      OriginScope origin(*result.graph, node.origin);
      copies[id] = copy(*result.graph, node, copies);
    }
    for (const NodeId output : outputs) result.outputs.push_back(copies[output]);
    result.output_names = names;
    return result;
  }

  RewriteTrace* trace_;
  std::vector<const Rule*> by_op_[kOpCount];
  Graph graph_;
  std::vector<State> states_;
  int64_t steps_ = 0;
};

}  // namespace

namespace rewriting {

RuleSet operator+(RuleSet first, const RuleSet& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const RuleSet& exact_rules() {
  // Rules that make a node vanish come before those that move it.
  static const RuleSet rules = scalar_rules() + algebra_rules() + logic_rules() + cast_rules() + movement_rules() +
                               shrink_rules() + join_rules() + reduce_rules() + contract_rules();
  return rules;
}

const RuleSet& all_rules() {
  static const RuleSet rules = exact_rules() + fast_rules();
  return rules;
}

std::optional<NodeId> apply(const Rule& rule, Graph& graph, NodeId root) {
  const std::optional<Match> found = match(rule.pattern, graph, root);
  if (!found || (rule.condition != nullptr && !rule.condition(*found))) return std::nullopt;
  NodeId result = kNoNode;
  try {
    result = rule.replacement(*found);
  } catch (const TensorError&) {
    // A bound that cannot be proven for the whole range of a symbolic variable: the node stays as it is.
    return std::nullopt;
  }
  if (result == kNoNode) return std::nullopt;
  const Node& before = graph.node(root);
  const Node& after = graph.node(result);
  const bool fits = before.dtype == after.dtype && same(before.shape, after.shape);
  TANDEM_CHECK(fits || !is_constant(before.shape),
               concat("rule ", rule.name, " turns ", line_of(graph, root), " into ", line_of(graph, result)));
  if (!fits) return std::nullopt;
  return result;
}

}  // namespace rewriting

std::string RewriteTrace::text() const {
  std::string out;
  for (const Step& step : steps) out += concat(step.rule, ": ", step.before, " -> ", step.after, "\n");
  return out;
}

GraphModule rewrite(const GraphModule& module, const RewriteOptions& options) {
  const RuleSet& own = options.reorder_sums ? rewriting::all_rules() : rewriting::exact_rules();
  return Rewriter(options.rules != nullptr ? *options.rules : own, options.trace).run(module);
}

}  // namespace tandem
