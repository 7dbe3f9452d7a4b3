#include "tests/support/graph_runner.h"

#include <cstring>

#include "backends/clang/clang_backend.h"
#include "backends/interpreter/interpreter.h"

namespace tandem::test {

const std::vector<Target>& all_targets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> found;
    const std::shared_ptr<Backend> interpreter = std::make_shared<InterpreterBackend>();
    found.push_back({"interpreter", interpreter, interpreter->capabilities()});
    const std::shared_ptr<Backend> native = make_clang_backend(ClangBackendOptions::from_environment());
    for (const char* isa : {"avx512", "avx2", "sse+fma", "sse"})
      if (host_supports(*capabilities_named(isa)))
        found.push_back({std::string("native ") + isa, native, *capabilities_named(isa)});
    return found;
  }();
  return targets;
}

Result<OutputBytes> run_graph(const GraphModule& module, const reference::Options& options, const Target& target,
                              Numerics numerics) {
  PlanOptions plan_options;
  plan_options.schedule.capabilities = target.capabilities;
  plan_options.schedule.numerics = numerics;
  auto made = Plan::make(module, target.backend, plan_options);
  if (!made) return tl::unexpected<JitError>(made.error());
  Plan& plan = **made;
  for (const auto& [number, bytes] : options.inputs)
    if (static_cast<size_t>(number) < plan.inputs().size() && plan.inputs()[number].used)
      std::memcpy(plan.input_data(number), bytes.data(), bytes.size());
  for (size_t i = 0; i < plan.outputs().size(); i++)
    std::memset(plan.output_data(i), 0xA5, plan.slot_bytes(plan.outputs()[i].buffer.slot));
  std::vector<int64_t> values;
  for (const Index& variable : plan.variables()) {
    const auto named = options.variables.find(variable.name());
    values.push_back(named == options.variables.end() ? variable.upper() : named->second);
  }
  if (!plan.run(values.data())) return fail(ErrorCode::kRuntime, plan.failure());
  OutputBytes outputs;
  for (size_t i = 0; i < plan.outputs().size(); i++) {
    const size_t elements = static_cast<size_t>(plan.evaluate(element_count(plan.outputs()[i].shape), values));
    const std::byte* data = plan.output_data(i);
    outputs.emplace_back(data, data + elements * size_of(plan.outputs()[i].buffer.dtype));
  }
  return outputs;
}

}  // namespace tandem::test
