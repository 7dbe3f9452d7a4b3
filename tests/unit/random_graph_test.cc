#include "tests/reference/random_graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>

#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/rewrite/make.h"
#include "core/rewrite/rewrite.h"
#include "tests/reference/cases.h"
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

TEST(RandomGraph, AxesEndEarlyIndicesLieOutsideAndStatesAreKept) {
  int limits = 0, gathers = 0, outside = 0, states = 0, several = 0;
  for (uint32_t seed = 1; seed <= 300; seed++) {
    const RandomGraph graph = random_graph(seed, {.states = 2});
    states += static_cast<int>(graph.states.size());
    several += graph.module.outputs.size() > 2;
    for (const RandomState& state : graph.states) {
      ASSERT_LT(state.output, graph.module.outputs.size());
      EXPECT_EQ(graph.inputs.count(state.input), 1u);
    }
    for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs)) {
      const Node& node = graph.module.graph->node(id);
      limits += node.op == Op::kLimit;
      if (node.op != Op::kGather) continue;
      gathers++;
      const auto indices =
          evaluate({graph.module.graph, {node.operands[1]}, {"indices"}}, Options{Mode::kExact, {}, graph.inputs})[0];
      const int64_t size =
          graph.module.graph->node(node.operands[0]).shape[static_cast<size_t>(node.attributes.axis)].constant();
      for (const int64_t index : indices.integers) outside += index < 0 || index >= size;
    }
  }
  EXPECT_GT(limits, 100);
  EXPECT_GT(gathers, 30);
  EXPECT_GT(outside, 100);
  EXPECT_GT(states, 150);
  EXPECT_GT(several, 100);
}

/// A trial that knows one fault.
Trial trial_of(std::function<bool(const RandomGraph&)> wrong) {
  return [wrong](const RandomGraph& graph) { return wrong(graph) ? Fault{"values", "wrong"} : Fault{}; };
}

TEST(RandomGraph, ShrinkingKeepsAStateThatMattersAndWritesACase) {
  // An engine that is wrong whenever a state stays in the plan.
  const auto wrong = [](const RandomGraph& graph) { return !graph.states.empty(); };
  int shrunk = 0;
  for (uint32_t seed = 1; seed <= 12; seed++) {
    const RandomGraph graph = random_graph(seed, {.states = 2});
    if (!wrong(graph)) continue;
    const RandomGraph small = shrink(graph, trial_of(wrong));
    ASSERT_EQ(small.states.size(), 1u);
    EXPECT_EQ(small.module.outputs.size(), 1u);
    EXPECT_EQ(small.module.output_names[0], "state0");
    EXPECT_LT(small.module.graph->size(), graph.module.graph->size());
    shrunk++;
    // The case that it is kept as is the same graph, with the same inputs.
    const std::string text = print_cases("random", {as_case("random/case", small)});
    const LoadedCase loaded = load(parse_cases(text)[0]);
    EXPECT_EQ(print_graph(loaded.module), print_graph(small.module));
    EXPECT_EQ(loaded.options.inputs, small.inputs);
  }
  EXPECT_GT(shrunk, 3);
}

TEST(RandomGraph, ShrinkingStaysWithTheFaultAndWithValidGraphs) {
  // An engine that is wrong about states, and refuses graphs that are small or that have no states: these are other
  // faults, which the graph never had. A state must fit its input, and each node what its op makes of its operands.
  const auto trial = [](const RandomGraph& graph) -> Fault {
    verify(graph.module, "trial");
    if (graph.states.empty()) throw std::runtime_error("no states");
    for (const RandomState& state : graph.states)
      for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs)) {
        const Node& node = graph.module.graph->node(id);
        if (node.op != Op::kInput || node.attributes.count != state.input) continue;
        const Node& next = graph.module.graph->node(graph.module.outputs[state.output]);
        EXPECT_EQ(node.dtype, next.dtype);
        EXPECT_EQ(node.shape, next.shape);
      }
    if (graph.module.graph->size() < 6) return {"refused", "too small"};
    return {"values", "wrong"};
  };
  int shrunk = 0;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    const RandomGraph graph = random_graph(seed, {.states = 2});
    if (graph.states.empty() || graph.module.graph->size() < 6) continue;
    const RandomGraph small = shrink(graph, trial);
    EXPECT_EQ(trial(small).kind, "values") << "seed " << seed;
    shrunk++;
  }
  EXPECT_GT(shrunk, 20);
  const RandomGraph right = random_graph(3);
  EXPECT_EQ(print_graph(shrink(right, trial_of([](const RandomGraph&) { return false; })).module),
            print_graph(right.module));
}

TEST(RandomGraph, APlantedWrongRuleIsFoundAndMadeSmall) {
  using namespace rewriting;
  // An axis that forgets its length, and a difference that changes its sign.
  const Rule planted[] = {
      {"wrong.forget_length", "", op(Op::kLimit, {any('x'), any('n'), any('f')}), nullptr,
       [](const Match& found) { return found('x'); }},
      {"wrong.swap_difference", "", op(Op::kSub, {any('a'), any('b')}), nullptr,
       [](const Match& found) { return rewriting::make(found.graph, Op::kAdd, {found('a'), found('b')}); }},
  };
  const size_t most_nodes[] = {4, 3};
  for (size_t i = 0; i < 2; i++) {
    RuleSet rules = {planted[i]};
    rules.insert(rules.end(), exact_rules().begin(), exact_rules().end());
    const auto fails = [&](const RandomGraph& graph) {
      const GraphModule rewritten = rewrite(graph.module, {.rules = &rules});
      const auto expected = evaluate(graph.module, Options{Mode::kExact, {}, graph.inputs});
      const auto found = evaluate(rewritten, Options{Mode::kRounded, {}, graph.inputs});
      for (size_t k = 0; k < expected.size(); k++)
        if (mismatch(expected[k], to_bytes(found[k]))) return true;
      return false;
    };
    int shrunk = 0;
    for (uint32_t seed = 1; seed <= 400 && shrunk < 3; seed++) {
      const RandomGraph graph = random_graph(seed);
      if (!fails(graph)) continue;
      const RandomGraph small = shrink(graph, trial_of(fails));
      EXPECT_TRUE(fails(small));
      EXPECT_LE(small.module.graph->size(), most_nodes[i]) << planted[i].name << "\n" << print_graph(small.module);
      shrunk++;
    }
    EXPECT_GE(shrunk, 1) << planted[i].name;
  }
}

TEST(RandomGraph, ShrinkingFindsTheGuiltyOp) {
  // An engine that is wrong about tanh alone.
  const auto uses_tanh = [](const RandomGraph& graph) {
    for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs))
      if (graph.module.graph->node(id).op == Op::kTanh) return true;
    return false;
  };
  int shrunk = 0;
  for (uint32_t seed = 1; seed <= 200; seed++) {
    const RandomGraph graph = random_graph(seed);
    if (!uses_tanh(graph)) continue;
    const RandomGraph small = shrink(graph, trial_of(uses_tanh));
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
