// The writer of Binaryen asks its pass runner for one analysis (which function types a module uses), and the real runner
// brings in every pass there is: ten times the code. These four definitions stand in for the files pass.cpp and
// stack-opts.cpp. They must never be linked together with a full Binaryen.

#include <cstdlib>

#include "pass.h"
#include "wasm-stack.h"

namespace wasm {

void PassRunner::doAdd(std::unique_ptr<Pass> pass) { passes.push_back(std::move(pass)); }

// All passes on this path work on one function at a time, and one thread is enough for modules of this size.
void PassRunner::run() {
  for (auto& pass : passes) {
    for (auto& function : wasm->functions) {
      if (function->imported()) continue;
      auto instance = pass->create();
      instance->setPassRunner(this);
      instance->runOnFunction(wasm, function.get());
    }
  }
}

// Only reached with PassOptions that ask for the optimisation of stack code, which the emitter never does.
StackIROptimizer::StackIROptimizer(Function* function, StackIR& instructions, const PassOptions& options,
                                   FeatureSet feature_set)
    : func(function), insts(instructions), passOptions(options), features(feature_set) {
  std::abort();
}

void StackIROptimizer::run() { std::abort(); }

}  // namespace wasm
