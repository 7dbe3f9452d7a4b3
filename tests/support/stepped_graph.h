#pragma once

#include <map>
#include <string>

#include "core/jit/session.h"
#include "tests/reference/random_graph.h"
#include "tests/support/graph_runner.h"

namespace tandem::test {

/// A graph with states as a wrapper: the plan keeps them from step to step.
class SteppedGraph {
 public:
  /// Prepares it and writes the inputs and the first values of the states. kInputBufferNotFound when rewriting finds
  /// that an input does not matter.
  static Result<SteppedGraph> make(const reference::RandomGraph& graph, const Target& target, Numerics numerics);

  /// The inputs of the next step: the graph's, with the present values of the states.
  reference::InputBytes inputs();
  /// One step with these values of the variables; outputs in the graph's order, new values of states among them.
  Result<OutputBytes> step(const std::map<std::string, int64_t>& variables);

 private:
  SteppedGraph(reference::RandomGraph graph, std::string name) : graph_(std::move(graph)), session_(std::move(name)) {}
  void declare();
  Outputs build(const Trace& trace) const;
  void write_inputs();

  reference::RandomGraph graph_;
  Session session_;
};

}  // namespace tandem::test
