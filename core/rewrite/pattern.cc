#include "core/rewrite/pattern.h"

#include <algorithm>
#include <cmath>

#include "core/base/bits.h"
#include "core/graph/movement_index.h"

namespace tandem::rewriting {

Pattern any(char name) { return {Pattern::Kind::kAny, name}; }
Pattern uniform(char name) { return {Pattern::Kind::kUniform, name}; }
Pattern number(double value) { return {Pattern::Kind::kUniform, 0, value}; }
Pattern op(std::vector<Op> ops, std::vector<Pattern> operands, char name) {
  return {Pattern::Kind::kOp, name, std::nullopt, std::move(ops), std::move(operands)};
}
Pattern op(Op op, std::vector<Pattern> operands, char name) {
  return rewriting::op(std::vector<Op>{op}, std::move(operands), name);
}
Pattern either(std::vector<Op> ops, Pattern first, Pattern second, char name) {
  Pattern pattern = op(std::move(ops), {std::move(first), std::move(second)}, name);
  pattern.commutative = true;
  return pattern;
}
Pattern either(Op op, Pattern first, Pattern second, char name) {
  return either(std::vector<Op>{op}, std::move(first), std::move(second), name);
}

std::optional<NodeId> uniform_scalar(const Graph& graph, NodeId id) {
  id = below_rearrangements(graph, id);
  if (graph.node(id).op != Op::kScalar) return std::nullopt;
  return id;
}

namespace {

int64_t wrapped(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  const size_t bits = 8 * size_of(dtype);
  if (bits == 64) return value;
  const auto kept = static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - bits));
  return is_unsigned(dtype) ? static_cast<int64_t>(static_cast<uint64_t>(kept) >> (64 - bits)) : kept >> (64 - bits);
}

bool bind(Match& match, char name, NodeId id) {
  if (name == 0) return true;
  NodeId& bound = match.bound[static_cast<size_t>(name - 'a')];
  if (bound != kNoNode && bound != id) return false;
  bound = id;
  return true;
}

bool matches(const Pattern& pattern, Match& match, NodeId id);

bool operands_match(const Pattern& pattern, Match& match, const Node& node, bool swapped) {
  for (size_t i = 0; i < pattern.operands.size(); i++)
    if (!matches(pattern.operands[i], match, node.operands[swapped ? 1 - i : i])) return false;
  return true;
}

bool matches(const Pattern& pattern, Match& match, NodeId id) {
  if (pattern.kind == Pattern::Kind::kAny) return bind(match, pattern.name, id);
  if (pattern.kind == Pattern::Kind::kUniform) {
    const std::optional<NodeId> scalar = uniform_scalar(match.graph, id);
    if (!scalar || (pattern.value && !is_number(match.graph.node(*scalar), *pattern.value))) return false;
    return bind(match, pattern.name, *scalar);
  }
  const Node& node = match.graph.node(id);
  if (std::find(pattern.ops.begin(), pattern.ops.end(), node.op) == pattern.ops.end()) return false;
  if (!pattern.operands.empty() && pattern.operands.size() != node.operands.size()) return false;
  if (!bind(match, pattern.name, id)) return false;
  if (!pattern.commutative) return operands_match(pattern, match, node, false);
  const auto before = match.bound;
  if (operands_match(pattern, match, node, false)) return true;
  match.bound = before;
  return operands_match(pattern, match, node, true);
}

}  // namespace

bool is_number(const Node& scalar, double value) {
  if (!is_float(scalar.dtype)) return scalar.attributes.integer == wrapped(scalar.dtype, static_cast<int64_t>(value));
  return bit_cast<uint64_t>(scalar.attributes.value) == bit_cast<uint64_t>(value);
}

std::optional<Match> match(const Pattern& pattern, Graph& graph, NodeId root) {
  Match found = {graph, root};
  found.bound.fill(kNoNode);
  if (!matches(pattern, found, root)) return std::nullopt;
  return found;
}

}  // namespace tandem::rewriting
