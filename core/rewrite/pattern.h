#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace tandem::rewriting {

/// What a rule looks for: a small tree, as data.
struct Pattern {
  enum class Kind : uint8_t {
    kAny,      ///< Any node.
    kUniform,  ///< A scalar, or a tensor whose elements are all one scalar (expanded, reshaped, ...).
    kOp,       ///< A node of one of `ops` with operands that match.
  };
  Kind kind = Kind::kAny;
  char name = 0;  ///< 'a' .. 'z': what the match calls it; a repeated name means the same node. 0: unnamed.
  std::optional<double> value = {};  ///< kUniform: this number, with the sign of a zero; wrapped for integers.
  std::vector<Op> ops = {};
  std::vector<Pattern> operands = {};  ///< kOp; none: whatever the operands are.
  bool commutative = false;            ///< Two operands match in either order.
};

/// Any node.
Pattern any(char name);
/// A tensor of one number; the match holds the scalar under `name`.
Pattern uniform(char name);
/// A tensor whose elements are all this number; -1 is "all bits set" for unsigned integers and true for bool.
Pattern number(double value);
/// A node of this op (or one of these).
Pattern op(Op op, std::vector<Pattern> operands = {}, char name = 0);
Pattern op(std::vector<Op> ops, std::vector<Pattern> operands = {}, char name = 0);
/// The same with two operands in either order.
Pattern either(Op op, Pattern first, Pattern second, char name = 0);
Pattern either(std::vector<Op> ops, Pattern first, Pattern second, char name = 0);

/// Where a pattern fits: the root, and the nodes behind its names.
struct Match {
  Graph& graph;
  NodeId root;
  std::array<NodeId, 26> bound = {};

  NodeId operator()(char name) const { return bound[static_cast<size_t>(name - 'a')]; }
  const Node& node(char name) const { return graph.node((*this)(name)); }
  const Node& at(NodeId id) const { return graph.node(id); }
  const Node& top() const { return graph.node(root); }
};

/// The match of a pattern at a node, or nothing.
std::optional<Match> match(const Pattern& pattern, Graph& graph, NodeId root);

/// The scalar that every element of this node is, when it is a scalar seen through rearrangements only.
std::optional<NodeId> uniform_scalar(const Graph& graph, NodeId id);
/// Is this scalar node the number `value` in its dtype? The sign of a float zero counts.
bool is_number(const Node& scalar, double value);

}  // namespace tandem::rewriting
