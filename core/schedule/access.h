#pragma once

#include <functional>
#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/movement_index.h"

namespace tandem {

/// A place where an index function of an axis changes: at `position` = `bound` the element comes from elsewhere (the
/// end of a padding, of a part of a concatenation).
struct Breakpoint {
  Index position;
  Index bound;
};

/// A walk's stand-ins for counters of reduced axes and for gathered subscripts are numbered from here on.
inline constexpr uint32_t kFirstWalked = 1u << 20;

/// Walks the expression under a node with symbolic subscripts, as lowering would, without making instructions.
class AccessWalk {
 public:
  /// Called once for each node and subscript reached; returns whether to go on below it.
  std::function<bool(NodeId node, const std::vector<Index>& index)> visit;
  /// Called at each choice between parts.
  std::function<void(const Breakpoint& breakpoint)> choose;
  /// Called at each axis that ends early.
  std::function<void(NodeId limit, const std::vector<Index>& index)> end;
  /// Gives the subscript at which to go on below an axis that ends early; without it that is the same one.
  std::function<std::vector<Index>(NodeId limit, const std::vector<Index>& index)> inside;
  uint32_t next_loop = kFirstWalked;

  explicit AccessWalk(const Graph& graph) : graph_(graph) {}
  void walk(NodeId node, const std::vector<Index>& index);

 private:
  const Graph& graph_;
  std::unordered_set<uint64_t> seen_;
};

/// Is this the number that a `limit` gives beyond the length?
bool fills_with(const Graph& graph, const Node& limit, double value, int64_t integer);

/// Is this what an end of an axis shows through: a rearrangement, or a cast between floats, which keeps 0, 1 and
/// infinity as they are?
bool shows_limit(const Graph& graph, const Node& node);

/// Rough cost of computing an element of a node again when its operands are there, in simple instructions.
int cost_of(const Node& node);

}  // namespace tandem
