// Graphs given as text: parse, plan, run. The door for every operation, and for the test table that all targets share.

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "core/graph/constant.h"
#include "core/graph/text.h"
#include "core/plan/plan.h"
#include "core/rewrite/rewrite.h"
#include "web/boundary.h"
#include "web/engine.h"
#include "web/profile.h"

namespace tandem::web {

namespace {

/// What a getter of a graph is about.
enum class Part : int { kInput, kOutput, kVariable };

struct CompiledGraph {
  std::unique_ptr<Plan> plan;
  std::vector<std::string> variable_names;
  std::vector<int64_t> values;
  std::vector<uint8_t> module;
};

Handles<CompiledGraph>& graphs() {
  static Handles<CompiledGraph> all;
  return all;
}

/// Constants for the next graph.
std::map<std::string, std::vector<std::byte>, std::less<>>& constants() {
  static std::map<std::string, std::vector<std::byte>, std::less<>> all;
  return all;
}

std::shared_ptr<const ConstantData> resolve(std::string_view name, DType dtype, const Shape& shape) {
  const auto found = constants().find(name);
  if (found == constants().end()) return nullptr;
  const int64_t wanted = element_count(shape).upper() * static_cast<int64_t>(size_of(dtype));
  if (wanted != static_cast<int64_t>(found->second.size()))
    throw TensorError(concat("constant \"", name, "\" has ", found->second.size(), " bytes; ", name_of(dtype), " ",
                             text(shape), " needs ", wanted));
  return constant_data(dtype, shape, found->second, std::string(name));
}

std::unique_ptr<CompiledGraph> compile(std::string_view graph_text, const char* isa, bool reproducible) {
  PlanOptions options;
  options.schedule.capabilities = capabilities_for(isa);
  options.schedule.numerics = reproducible ? Numerics::kReproducible : Numerics::kFast;
  options.memory_limit = plan_memory_limit();
  RewriteOptions rewriting;
  rewriting.reorder_sums = !reproducible;
  auto plan = Plan::make(rewrite(parse_graph(graph_text, resolve), rewriting), engine_backend(), options);
  if (!plan) throw TensorError(plan.error().message, plan.error().code);
  auto graph = std::make_unique<CompiledGraph>();
  graph->plan = std::move(*plan);
  graph->module = graph->plan->executable().binary();
  for (const Index& variable : graph->plan->variables()) {
    graph->variable_names.push_back(variable.name());
    graph->values.push_back(variable.upper());
  }
  return graph;
}

const Shape& shape_of(const CompiledGraph& graph, Part part, uint32_t i) {
  return part == Part::kInput ? graph.plan->inputs()[i].shape : graph.plan->outputs()[i].shape;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// Copies the bytes of a constant that the next graph names.
TANDEM_EXPORT int tandem_graph_constant(const char* name, const uint8_t* bytes, uint32_t size) {
  return guarded(0, [&]() -> Result<int> {
    const auto* first = reinterpret_cast<const std::byte*>(bytes);
    constants()[name] = std::vector<std::byte>(first, first + size);
    return 1;
  });
}

/// A graph by number; 0: failed. The constants given before are used up.
TANDEM_EXPORT uint32_t tandem_graph_compile(const char* text, uint32_t size, const char* isa, int reproducible) {
  const uint32_t handle = guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    return graphs().add(compile(std::string_view(text, size), isa, reproducible != 0));
  });
  constants().clear();
  return handle;
}

TANDEM_EXPORT uint32_t tandem_graph_count(uint32_t handle, Part part) {
  const CompiledGraph* graph = graphs().find(handle);
  if (!graph) return 0;
  if (part == Part::kVariable) return graph->values.size();
  return part == Part::kInput ? graph->plan->inputs().size() : graph->plan->outputs().size();
}

TANDEM_EXPORT const char* tandem_graph_name(uint32_t handle, Part part, uint32_t i) {
  const CompiledGraph& graph = *graphs().find(handle);
  if (part == Part::kVariable) return graph.variable_names[i].c_str();
  return part == Part::kInput ? graph.plan->inputs()[i].name.c_str() : graph.plan->outputs()[i].name.c_str();
}

TANDEM_EXPORT const char* tandem_graph_dtype(uint32_t handle, Part part, uint32_t i) {
  const Plan& plan = *graphs().find(handle)->plan;
  return name_of(part == Part::kInput ? plan.inputs()[i].buffer.dtype : plan.outputs()[i].buffer.dtype).data();
}

/// Where the elements lie; null for an input that no output depends on.
TANDEM_EXPORT void* tandem_graph_data(uint32_t handle, Part part, uint32_t i) {
  const Plan& plan = *graphs().find(handle)->plan;
  if (part == Part::kOutput) return plan.output_data(i);
  return plan.inputs()[i].used ? plan.input_data(i) : nullptr;
}

TANDEM_EXPORT uint32_t tandem_graph_rank(uint32_t handle, Part part, uint32_t i) {
  return shape_of(*graphs().find(handle), part, i).size();
}

/// Live extent of an axis: with the variables at their present values; largest one when `largest` is not 0.
TANDEM_EXPORT double tandem_graph_extent(uint32_t handle, Part part, uint32_t i, uint32_t axis, int largest) {
  const CompiledGraph& graph = *graphs().find(handle);
  const Dim& dim = shape_of(graph, part, i)[axis];
  return static_cast<double>(largest != 0 ? dim.upper() : graph.plan->evaluate(dim, graph.values));
}

/// All variables to their upper bounds: what a call does not name has its maximum, not its last value.
TANDEM_EXPORT void tandem_graph_reset_variables(uint32_t handle) {
  CompiledGraph* graph = graphs().find(handle);
  if (!graph) return;
  for (size_t i = 0; i < graph->values.size(); i++) graph->values[i] = graph->plan->variables()[i].upper();
}

TANDEM_EXPORT int tandem_graph_set_variable(uint32_t handle, uint32_t i, double value) {
  return guarded(0, [&]() -> Result<int> {
    CompiledGraph& graph = graphs().get(handle);
    const Index& variable = graph.plan->variables()[i];
    if (!(value >= static_cast<double>(variable.lower()) && value <= static_cast<double>(variable.upper())) ||
        value != std::floor(value))
      return fail(ErrorCode::kVariable,
                  concat("variable \"", variable.name(), "\" is ", value, "; it must be a whole number from ",
                         variable.lower(), " to ", variable.upper()));
    graph.values[i] = static_cast<int64_t>(value);
    return 1;
  });
}

/// 1: done, 0: failed, -1: the engine is broken from now on.
TANDEM_EXPORT int tandem_graph_run(uint32_t handle) {
  return guarded(0, [&]() -> Result<int> {
    CompiledGraph& graph = graphs().get(handle);
    if (graph.plan->run(graph.values.data())) return 1;
    report("Broken", graph.plan->failure());
    return -1;
  });
}

/// Measures the kernels on the present inputs: how many there are (their rows: profile_entry.cc), -1: failed.
TANDEM_EXPORT int tandem_graph_profile(uint32_t handle, int repetitions) {
  return guarded(-1, [&]() -> Result<int> {
    CompiledGraph& graph = graphs().get(handle);
    return profile(*graph.plan, repetitions, [&]() -> Result<std::vector<KernelProfile>> {
      std::vector<KernelProfile> profiles;
      if (!graph.plan->run_profiled(graph.values.data(), profiles))
        return fail(ErrorCode::kRuntime, graph.plan->failure());
      return profiles;
    });
  });
}

/// The Wasm module that was emitted for the graph.
TANDEM_EXPORT const uint8_t* tandem_graph_module(uint32_t handle) { return graphs().find(handle)->module.data(); }
TANDEM_EXPORT uint32_t tandem_graph_module_size(uint32_t handle) { return graphs().find(handle)->module.size(); }

TANDEM_EXPORT void tandem_graph_destroy(uint32_t handle) { graphs().remove(handle); }
