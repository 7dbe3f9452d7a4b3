#include "backends/wasm/encode.h"

#include <cstdlib>

#include "core/base/error.h"
#include "core/base/text.h"
#include "pass.h"
#include "wasm-binary.h"
#include "wasm-stack.h"

// The writer of Binaryen asks its pass runner for one analysis (which function types a module uses), and the real
// runner brings in every pass there is: ten times the code. These four definitions stand in for the files pass.cpp and
// stack-opts.cpp. They must never be linked together with a full Binaryen. They lie beside the code that calls the
// writer, so that whoever links the one has the others.
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

namespace tandem::wasm_emitter {

namespace {

/// V8, SpiderMonkey and JavaScriptCore agree on this limit.
constexpr size_t kLargestFunction = 7654321;

}  // namespace

std::vector<uint8_t> encode(wasm::Module& module, bool names) {
  // The order of types would otherwise come from a map whose keys are pointers.
  for (const auto& function : module.functions) {
    module.typeIndices.insert({function->type.getHeapType(), static_cast<wasm::Index>(module.typeIndices.size())});
  }
  const wasm::PassOptions pass_options;
  wasm::BufferWithRandomAccess buffer;
  wasm::WasmBinaryWriter writer(&module, buffer, pass_options);
  writer.setNamesSection(names);
  writer.setEmitModuleName(false);
  writer.write();
  for (const auto& entry : writer.tableOfContents.functionBodies) {
    if (entry.size <= kLargestFunction) continue;
    throw TensorError(concat("function ", entry.name.toString(), " has ", entry.size,
                             " bytes of WebAssembly, and engines allow ", kLargestFunction, "; split the kernel"),
                      ErrorCode::kUnsupported);
  }
  return std::vector<uint8_t>(buffer.begin(), buffer.end());
}

}  // namespace tandem::wasm_emitter
