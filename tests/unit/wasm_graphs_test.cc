// Scheduled graphs in WebAssembly and in the interpreter: the same bits.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/interpreter/interpreter.h"
#include "backends/wasm/node/node_backend.h"
#include "core/base/text.h"
#include "core/plan/plan.h"
#include "tests/reference/random_graph.h"

namespace tandem {
namespace {

std::shared_ptr<Backend> node() {
  static std::shared_ptr<Backend> backend = [] {
    auto made = make_node_backend(NodeBackendOptions::from_environment());
    if (!made) throw std::runtime_error(made.error().text());
    return std::shared_ptr<Backend>(std::move(*made));
  }();
  return backend;
}

/// Bytes of all outputs, for two runs one after the other (states, and what a run leaves behind, count).
Result<std::vector<std::vector<std::byte>>> run_on(const std::shared_ptr<Backend>& backend,
                                                   const reference::RandomGraph& graph) {
  PlanOptions options;
  options.schedule.capabilities = *capabilities_named("wasm-simd128");
  options.schedule.numerics = Numerics::kReproducible;
  TANDEM_TRY(plan, Plan::make(graph.module, backend, options));
  std::vector<int64_t> values;
  for (const Index& variable : plan->variables()) values.push_back(variable.upper());
  std::vector<std::vector<std::byte>> results;
  for (int run = 0; run < 2; run++) {
    for (size_t i = 0; i < plan->inputs().size(); i++) {
      if (!plan->inputs()[i].used) continue;
      const std::vector<std::byte>& bytes = graph.inputs.at(static_cast<int32_t>(i));
      std::memcpy(plan->input_data(i), bytes.data(), bytes.size());
    }
    if (!plan->run(values.data())) return fail(ErrorCode::kRuntime, plan->failure());
    for (size_t i = 0; i < plan->outputs().size(); i++) {
      const uint32_t slot = plan->outputs()[i].buffer.slot;
      const std::byte* data = plan->slot_data(slot);
      results.emplace_back(data, data + plan->slot_bytes(slot));
    }
  }
  return results;
}

bool same_bits(const std::vector<std::byte>& a, const std::vector<std::byte>& b, DType dtype) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i += size_of(dtype)) {
    if (std::memcmp(&a[i], &b[i], size_of(dtype)) == 0) continue;
    float x = 0, y = 0;
    double wide_x = 0, wide_y = 0;
    if (dtype == DType::kF32) {
      std::memcpy(&x, &a[i], 4);
      std::memcpy(&y, &b[i], 4);
      if (x != x && y != y) continue;
    } else if (dtype == DType::kF64) {
      std::memcpy(&wide_x, &a[i], 8);
      std::memcpy(&wide_y, &b[i], 8);
      if (wide_x != wide_x && wide_y != wide_y) continue;
    }
    return false;
  }
  return true;
}

/// False when the scheduler or the interpreter does not take the graph: their own tests tell.
bool check_seed(uint32_t seed) {
  const reference::RandomGraph graph = reference::random_graph(seed);
  const auto expected = run_on(std::make_shared<InterpreterBackend>(), graph);
  if (!expected) return false;
  const auto got = run_on(node(), graph);
  if (!got) {
    ADD_FAILURE() << "seed " << seed << ": " << got.error().text();
    return true;
  }
  for (size_t i = 0; i < expected->size(); i++) {
    const DType dtype = graph.module.graph->node(graph.module.outputs[i % graph.module.outputs.size()]).dtype;
    EXPECT_TRUE(same_bits((*expected)[i], (*got)[i], dtype)) << "seed " << seed << " output " << i;
  }
  return true;
}

TEST(WasmGraphs, RandomGraphsGiveTheInterpretersBits) {
  int checked = 0;
  for (uint32_t seed = 1; seed <= 60; seed++) checked += check_seed(seed);
  EXPECT_GT(checked, 50);
}

TEST(WasmGraphsSlow, ManyRandomGraphsGiveTheInterpretersBits) {
  int checked = 0;
  for (uint32_t seed = 1000; seed < 2000; seed++) checked += check_seed(seed);
  EXPECT_GT(checked, 900);
}

}  // namespace
}  // namespace tandem
