#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "tests/reference/evaluate.h"

namespace tandem::test {

/// A machine to run graphs on: a backend, with capabilities that may be below what it has.
struct Target {
  std::string name;  ///< "native avx2", "interpreter", ...: for messages.
  std::shared_ptr<Backend> backend;
  Capabilities capabilities;
};

/// Every target that this machine has: interpreter, native at each instruction set, Wasm in Node.
const std::vector<Target>& all_targets();

/// Result of one output: its dense live bytes.
using OutputBytes = std::vector<std::vector<std::byte>>;

/// Plans the graph, runs it once with the inputs and variables of `options`, and returns the outputs. Every byte of the
/// plan's outputs is overwritten with garbage first, so that what is compared was computed.
Result<OutputBytes> run_graph(const GraphModule& module, const reference::Options& options, const Target& target,
                              Numerics numerics);

}  // namespace tandem::test
