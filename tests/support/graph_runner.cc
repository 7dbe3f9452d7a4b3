#include "tests/support/graph_runner.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "backends/clang/clang_backend.h"
#include "backends/interpreter/interpreter.h"
#include "backends/wasm/node/node_backend.h"
#include "core/rewrite/rewrite.h"

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
    auto node = make_node_backend(NodeBackendOptions::from_environment());
    if (!node) throw std::runtime_error(node.error().text());
    const Capabilities web = (*node)->capabilities();
    found.push_back({"wasm " + std::string(web.isa), std::move(*node), web});
    return found;
  }();
  return targets;
}

void unify_nans(std::vector<std::byte>& bytes, DType dtype) {
  const size_t width = size_of(dtype);
  const int mantissa = dtype == DType::kF64 ? 52 : dtype == DType::kF32 ? 23 : dtype == DType::kF16 ? 10 : 7;
  const uint64_t magnitudes = (uint64_t{1} << (8 * width - 1)) - 1;
  const uint64_t infinity = magnitudes >> mantissa << mantissa;
  const uint64_t quiet = infinity | uint64_t{1} << (mantissa - 1);
  for (size_t at = 0; at < bytes.size(); at += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[at], width);
    if ((bits & magnitudes) > infinity) std::memcpy(&bytes[at], &quiet, width);
  }
}

Result<PlannedGraph> PlannedGraph::make(const GraphModule& module, const Target& target, Numerics numerics,
                                        Rewriting rewriting) {
  RewriteOptions rewrite_options;
  rewrite_options.reorder_sums = numerics == Numerics::kFast;
  PlanOptions plan_options;
  plan_options.schedule.capabilities = target.capabilities;
  plan_options.schedule.numerics = numerics;
  auto made =
      Plan::make(rewriting == Rewriting::kOn ? rewrite(module, rewrite_options) : module, target.backend, plan_options);
  if (!made) return tl::unexpected<JitError>(made.error());
  return PlannedGraph(std::move(*made));
}

void PlannedGraph::fill_memory(int byte) {
  const std::vector<Slot>& slots = plan_->program().slots;
  for (size_t i = 0; i < slots.size(); i++) {
    const SlotRole role = slots[i].role;
    if (role == SlotRole::kConstant || role == SlotRole::kPacked || role == SlotRole::kState) continue;
    std::memset(plan_->slot_data(static_cast<uint32_t>(i)), byte, static_cast<size_t>(slots[i].bytes));
  }
}

Result<OutputBytes> PlannedGraph::run(const reference::Options& options) {
  fill_memory(byte_);
  byte_ = byte_ == 0xFF ? 0xA5 : 0xFF;
  std::vector<int64_t> values;
  for (const Index& variable : plan_->variables()) {
    const auto named = options.variables.find(variable.name());
    values.push_back(named == options.variables.end() ? variable.upper() : named->second);
  }
  for (const auto& [number, bytes] : options.inputs) {
    if (static_cast<size_t>(number) >= plan_->inputs().size() || !plan_->inputs()[number].used) continue;
    const ScheduledInput& input = plan_->inputs()[number];
    // What lies beyond the last live element must not matter.
    int64_t elements = 1;
    for (size_t axis = 0; axis < input.shape.size(); axis++)
      elements +=
          (plan_->evaluate(input.shape[axis], values) - 1) * plan_->evaluate(input.buffer.strides[axis], values);
    const size_t live = static_cast<size_t>(elements) * size_of(input.buffer.dtype);
    std::memcpy(plan_->input_data(number), bytes.data(), std::min(live, bytes.size()));
  }
  if (!plan_->run(values.data())) return fail(ErrorCode::kRuntime, plan_->failure());
  OutputBytes outputs;
  for (size_t i = 0; i < plan_->outputs().size(); i++) {
    const size_t elements = static_cast<size_t>(plan_->evaluate(element_count(plan_->outputs()[i].shape), values));
    const std::byte* data = plan_->output_data(i);
    const DType dtype = plan_->outputs()[i].buffer.dtype;
    outputs.emplace_back(data, data + elements * size_of(dtype));
    if (is_float(dtype)) unify_nans(outputs.back(), dtype);
  }
  return outputs;
}

Result<void> PlannedGraph::spoil() {
  fill_memory(0xFF);
  std::vector<int64_t> values;
  for (const Index& variable : plan_->variables()) values.push_back(variable.upper());
  if (!plan_->run(values.data())) return fail(ErrorCode::kRuntime, plan_->failure());
  return {};
}

Result<OutputBytes> run_graph(const GraphModule& module, const reference::Options& options, const Target& target,
                              Numerics numerics, Rewriting rewriting) {
  auto planned = PlannedGraph::make(module, target, numerics, rewriting);
  if (!planned) return tl::unexpected<JitError>(planned.error());
  return planned->run(options);
}

}  // namespace tandem::test
