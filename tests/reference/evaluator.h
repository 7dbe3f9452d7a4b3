#pragma once

#include <unordered_map>

#include "tests/reference/evaluate.h"
#include "tests/reference/scalar.h"
#include "tests/reference/value.h"

namespace tandem::reference {

/// The state of one evaluation: the value of each node so far. `evaluate` is the way in.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Options& options) : graph_(graph), options_(options) {}

  /// Nodes in graph order, all operands included.
  void run(const std::vector<NodeId>& nodes);
  ReferenceResult result(NodeId id) const;
  /// The nodes that must still be run before `result(id)`.
  std::vector<NodeId> missing(NodeId id) const;

 private:
  int64_t number(const Index& index) const;
  Extents numbers(const std::vector<Index>& list) const;
  Element load(const Value& value, int64_t offset) const;
  void store(Elements& out, DType dtype, Element element, double magnitude) const;
  /// Where value and error reach the end of the dtype's range, an engine may have an infinity.
  static void settle_range(DType dtype, Element& element);

  Value input(const Node& node) const;
  Value leaf(const Node& node) const;
  Value elementwise(const Node& node) const;
  Value reduction(const Node& node) const;
  Value contraction(const Node& node) const;
  Element float_products(DType dtype, const Value& left, const Value& right, const Walker& outer, Walker& inner,
                         double& magnitude) const;
  Element integer_products(DType dtype, const Value& left, const Value& right, const Walker& outer, Walker& inner,
                           double& magnitude) const;

  // movement.cc
  Value movement(const Node& node) const;
  Value padding(const Node& node) const;
  Value concatenation(const Node& node) const;
  Value gathering(const Node& node) const;
  Value limiting(const Node& node) const;
  /// Copies one element, with its error and magnitude.
  static void copy(Elements& out, const Value& from, int64_t offset);

  const Graph& graph_;
  const Options& options_;
  std::unordered_map<NodeId, Value> values_;
};

}  // namespace tandem::reference
