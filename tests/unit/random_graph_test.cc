#include "tests/reference/random_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "tests/reference/compare.h"

namespace tandem::reference {
namespace {

TEST(RandomGraph, NumbersAreTheSameEverywhere) {
  Random random(1);  // the first numbers of mulberry32(1) in JavaScript
  EXPECT_EQ(random.next(), 2693262067u);
  EXPECT_EQ(random.next(), 11749833u);
  EXPECT_EQ(random.next(), 2265367787u);
}

TEST(RandomGraph, OneSeedGivesOneGraph) {
  EXPECT_EQ(print_graph(random_graph(7).module), print_graph(random_graph(7).module));
  EXPECT_EQ(random_graph(7).inputs, random_graph(7).inputs);
  EXPECT_NE(print_graph(random_graph(7).module), print_graph(random_graph(8).module));
}

TEST(RandomGraph, GraphsAreValidVariedAndDecided) {
  std::set<Op> ops;
  std::set<DType> dtypes;
  for (uint32_t seed = 1; seed <= 300; seed++) {
    const RandomGraph graph = random_graph(seed);
    verify(graph.module, "random graph");
    for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs)) {
      ops.insert(graph.module.graph->node(id).op);
      dtypes.insert(graph.module.graph->node(id).dtype);
    }
    const auto exact = evaluate(graph.module, Options{Mode::kExact, {}, graph.inputs});
    const auto rounded = evaluate(graph.module, Options{Mode::kRounded, {}, graph.inputs});
    for (size_t i = 0; i < exact.size(); i++) {
      EXPECT_EQ(decided(exact[i]), 1) << "seed " << seed;
      EXPECT_EQ(mismatch(exact[i], to_bytes(rounded[i])), std::nullopt) << "seed " << seed;
    }
  }
  EXPECT_GE(ops.size(), 45u);
  EXPECT_GE(dtypes.size(), 9u);
}

TEST(RandomGraph, ShrinkingFindsTheGuiltyOp) {
  // An engine that is wrong about tanh alone.
  const auto uses_tanh = [](const RandomGraph& graph) {
    for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs))
      if (graph.module.graph->node(id).op == Op::kTanh) return true;
    return false;
  };
  int shrunk = 0;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    const RandomGraph graph = random_graph(seed);
    if (!uses_tanh(graph)) continue;
    const RandomGraph small = shrink(graph, uses_tanh);
    EXPECT_TRUE(uses_tanh(small));
    EXPECT_EQ(small.module.graph->size(), 2u) << print_graph(small.module);
    EXPECT_EQ(small.inputs.size(), 1u);
    for (const int64_t size : maximum(small.module.graph->node(0).shape))
      EXPECT_EQ(size, 1) << print_graph(small.module);
    shrunk++;
  }
  EXPECT_GT(shrunk, 3);
}

}  // namespace
}  // namespace tandem::reference
