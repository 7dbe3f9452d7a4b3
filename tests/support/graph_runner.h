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

/// Result of one output: its dense live bytes. All NaNs are one NaN: they count as one value, and targets differ in
/// their bits.
using OutputBytes = std::vector<std::vector<std::byte>>;

/// Gives all NaNs of a float dtype the same bits.
void unify_nans(std::vector<std::byte>& bytes, DType dtype);

/// Is a graph rewritten first, as a wrapper does?
enum class Rewriting { kOn, kOff };

/// One plan of a graph, to be run for several inputs and values of its variables.
class PlannedGraph {
 public:
  static Result<PlannedGraph> make(const GraphModule& module, const Target& target, Numerics numerics,
                                   Rewriting rewriting = Rewriting::kOn);

  /// Overwrites inputs, outputs and intermediates with garbage, then runs with the inputs and variables of `options`:
  /// what comes back was computed from them alone. Inputs are as long as the options say: the rest of an input with
  /// variables in its shape stays garbage.
  Result<OutputBytes> run(const reference::Options& options);

  /// Runs at the variables' maxima with every byte of the inputs set: NaN and -1 in all that the plan leaves behind,
  /// on targets whose memory is elsewhere too.
  Result<void> spoil();

  /// Runs with what the inputs hold, at these values of the plan's variables.
  bool replay(const int64_t* values) { return plan_->run(values); }

  const Plan& plan() const { return *plan_; }

 private:
  explicit PlannedGraph(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
  void fill_memory(int byte);
  std::unique_ptr<Plan> plan_;
  int byte_ = 0xA5;  ///< The garbage of the next run: a small number, then NaN, by turns.
};

/// Rewrites and plans the graph and runs it once.
Result<OutputBytes> run_graph(const GraphModule& module, const reference::Options& options, const Target& target,
                              Numerics numerics, Rewriting rewriting = Rewriting::kOn);

}  // namespace tandem::test
