// Rewriting changes no bit of what kernels compute under reproducible numerics: graphs with and without it, on the
// interpreter. The float64 reference rounds a sum once, at its end; kernels show that its order has stayed.

#include "core/rewrite/rewrite.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/constant.h"
#include "core/graph/text.h"
#include "tests/reference/compare.h"
#include "tests/reference/random_graph.h"
#include "tests/support/graph_runner.h"
#include "tests/support/rule_instance.h"

namespace tandem {
namespace {

/// Bytes of a run as numbers, in which all NaNs are one value.
reference::ReferenceResult as_numbers(DType dtype, const std::vector<std::byte>& bytes) {
  reference::ReferenceResult result;
  result.dtype = dtype;
  result.shape = {static_cast<int64_t>(bytes.size() / size_of(dtype))};
  for (size_t i = 0; i < bytes.size() / size_of(dtype); i++) {
    result.values.push_back(constant_element(dtype, bytes.data(), i));
    if (!is_float(dtype)) result.integers.push_back(constant_integer(dtype, bytes.data(), i));
  }
  return result;
}

/// What rewriting changed; empty when nothing. `runs` counts graphs that the engine takes without it.
std::string change(const GraphModule& module, const reference::Options& options, int& runs) {
  const test::Target& interpreter = test::all_targets()[0];
  const auto plain = test::run_graph(module, options, interpreter, Numerics::kReproducible, test::Rewriting::kOff);
  if (!plain) return {};
  runs++;
  const auto rewritten = test::run_graph(module, options, interpreter, Numerics::kReproducible);
  if (!rewritten) return concat(rewritten.error().text(), "\n", print_graph(module), print_graph(rewrite(module)));
  for (size_t i = 0; i < plain->size(); i++) {
    const DType dtype = module.graph->node(module.outputs[i]).dtype;
    const auto wrong = reference::mismatch_exact(as_numbers(dtype, (*plain)[i]), (*rewritten)[i]);
    if (wrong) return concat(*wrong, "\n", print_graph(module), print_graph(rewrite(module)));
  }
  return {};
}

TEST(RewriteInKernels, RandomGraphsKeepEveryBit) {
  int runs = 0;
  for (uint32_t seed = 1; seed <= 150; seed++) {
    const reference::RandomGraph graph = reference::random_graph(seed);
    reference::Options options;
    options.inputs = graph.inputs;
    EXPECT_EQ(change(graph.module, options, runs), "") << "seed " << seed;
  }
  EXPECT_EQ(runs, 150);
}

TEST(RewriteInKernels, InstancesOfEveryRuleKeepEveryBit) {
  int runs = 0, fired = 0;
  for (const rewriting::Rule& rule : rewriting::exact_rules()) {
    for (uint32_t seed = 1, wanted = 3; seed < 2000 && wanted > 0; seed++) {
      reference::Random random(seed * 104729);
      test::RuleInstance instance;
      try {
        instance = test::make_instance(rule, random);
        if (!rewriting::apply(rule, *instance.module.graph, instance.root())) continue;
        // Without elements there are no bits; the unit test takes these.
        if (element_count(instance.module.graph->node(instance.root()).shape).is(0)) continue;
      } catch (const TensorError&) {
        continue;  // The pieces did not fit: the next seed.
      }
      wanted--;
      fired++;
      const auto options = test::random_inputs(instance.module, random, test::kSmallestT + 1, true);
      const std::string changed = change(instance.module, options, runs);
      EXPECT_EQ(changed, "") << rule.name << ", seed " << seed;
    }
  }
  EXPECT_GE(runs, fired * 9 / 10) << "of " << fired << ": the engine refuses too many instances";
}

}  // namespace
}  // namespace tandem
