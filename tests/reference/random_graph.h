#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "tests/reference/random.h"

namespace tandem::reference {

/// Raw bytes by input number.
using InputBytes = std::map<int32_t, std::vector<std::byte>>;

/// An input whose next value is an output.
struct RandomState {
  int32_t input;
  size_t output;
};

/// A graph with inputs to run it on.
struct RandomGraph {
  GraphModule module;
  InputBytes inputs;
  std::vector<RandomState> states;  ///< Their first values are the inputs'.
};

struct RandomGraphOptions {
  int operations = 12;          ///< Steps of the generator; each adds one op or one composition.
  int64_t max_elements = 2048;  ///< Of any intermediate value.
  int variables = 0;            ///< Symbolic sizes that shapes may have, 0 to 2; inputs are sized for their maxima.
  int states = 0;               ///< Most inputs that become states.
  bool floats_only = false;     ///< f32 alone, for backends that are being brought up.
};

/// The graph of a seed: the same on every platform. Values stay of moderate size, and steps whose results a correct
/// engine could not reproduce (a rounding or comparison decided by the last bit) are taken back.
RandomGraph random_graph(uint32_t seed, const RandomGraphOptions& options = {});

/// The same graph without nodes and inputs that no output needs; inputs are numbered from 0.
RandomGraph compacted(const RandomGraph& graph);

/// How an engine is wrong about a graph.
struct Fault {
  std::string kind;  ///< One word for all faults of a kind ("values", "bits", the code of an error); empty: none.
  std::string text;  ///< What a person reads: the place and the numbers.
};

/// Tries the engine under test on a graph. What it throws is a fault of a kind of its own.
using Trial = std::function<Fault(const RandomGraph&)>;

/// Makes a failing graph small: fewer outputs, values in place of what computes them, smaller dimensions. What comes
/// back is valid and fails in the same way (it may not drift to another fault, which the graph may not have had); a
/// graph that does not fail comes back as it is. Print it with `print_graph`.
RandomGraph shrink(const RandomGraph& failing, const Trial& trial);

}  // namespace tandem::reference
