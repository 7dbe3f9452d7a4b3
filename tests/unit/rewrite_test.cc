// The rewriter as a whole: normal forms, traces, rules that never end, random graphs.

#include "core/rewrite/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/graph/constant.h"
#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/rewrite/make.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"
#include "tests/reference/compare.h"
#include "tests/reference/random_graph.h"

namespace tandem {
namespace {

using rewriting::Match;
using rewriting::RuleSet;
using testing::HasSubstr;

/// The text of a graph after rewriting.
std::string rewritten(const std::string& text, RewriteOptions options = {}) {
  const GraphModule result = rewrite(parse_graph(text), options);
  verify(result, "rewrite");
  return print_graph(result);
}

TEST(Rewrite, DropsWhatChangesNothing) {
  EXPECT_EQ(rewritten("%0 = input f32[2, 3] number=0 \"x\"\n"
                      "%1 = scalar f32[] value=1\n"
                      "%2 = reshape f32[1, 1] %1\n"
                      "%3 = expand f32[2, 3] %2\n"
                      "%4 = mul f32[2, 3] %3, %0\n"
                      "%5 = permute f32[3, 2] %4 order=[1, 0]\n"
                      "%6 = permute f32[2, 3] %5 order=[1, 0]\n"
                      "%7 = reshape f32[6] %6\n"
                      "%8 = reshape f32[3, 2] %7\n"
                      "outputs %8 \"y\"\n"),
            "%0 = input f32[2, 3] number=0 \"x\"\n"
            "%1 = reshape f32[3, 2] %0\n"
            "outputs %1 \"y\"\n");
}

TEST(Rewrite, KeepsWhatWouldChangeABit) {
  const std::string text =
      "%0 = input f32[2] number=0 \"x\"\n"
      "%1 = scalar f32[] value=0\n"
      "%2 = reshape f32[1] %1\n"
      "%3 = expand f32[2] %2\n"
      "%4 = add f32[2] %0, %3\n"
      "outputs %4 \"y\"\n";
  EXPECT_EQ(rewritten(text), text);
}

Tensor input(const std::shared_ptr<Graph>& graph, const Shape& shape) {
  Attributes attributes;
  attributes.name = "x";
  return Tensor(graph, graph->make(Op::kInput, {}, std::move(attributes), DType::kF32, shape));
}

GraphModule convolved(const std::vector<float>& weights, int64_t samples, int64_t padding) {
  GraphModule module;
  const auto taps = static_cast<int64_t>(weights.size());
  const Tensor weight(module.graph, make_constant(*module.graph, Shape{1, 1, taps}, weights));
  Conv1dOptions options;
  options.padding = padding;
  const Tensor out = conv1d(input(module.graph, {2, 1, samples}), weight, {}, options);
  module.outputs = {out.node_in(module.graph)};
  module.output_names = {"y"};
  return module;
}

TEST(Rewrite, LeavesOutTapsThatMeetOnlyPadding) {
  const std::string text = print_graph(rewrite(convolved({1, 2, 3}, 1, 1)));
  EXPECT_EQ(text.find("pad"), std::string::npos) << text;
  EXPECT_EQ(text.find("window"), std::string::npos) << text;
}

TEST(Rewrite, KeepsTapsOfInfiniteWeights) {
  const std::string text = print_graph(rewrite(convolved({1, 2, INFINITY}, 1, 1)));
  EXPECT_NE(text.find("pad"), std::string::npos) << text;
}

TEST(Rewrite, ReordersSumsOnlyWhenAllowed) {
  const std::string text =
      "%0 = input f32[1, 64] number=0 \"x\"\n"
      "%1 = input f32[1, 64] number=1 \"y\"\n"
      "%2 = contract f32[1] %0, %1 count=1\n"
      "outputs %2 \"dot\"\n";
  EXPECT_EQ(rewritten(text), text);
  RewriteOptions fast;
  fast.reorder_sums = true;
  EXPECT_THAT(rewritten(text, fast), HasSubstr("reduce_sum"));
}

TEST(Rewrite, WritesATrace) {
  RewriteTrace trace;
  RewriteOptions options;
  options.trace = &trace;
  rewritten("%0 = input f32[2] number=0 \"x\"\n%1 = neg f32[2] %0\n%2 = neg f32[2] %1\noutputs %2 \"y\"\n", options);
  EXPECT_EQ(trace.text(), "algebra.negate_twice: neg f32[2] %1 -> input f32[2] \"x\"\n");
}

TEST(Rewrite, KeepsOrigins) {
  GraphModule module;
  const Tensor x = input(module.graph, {4});
  NodeId out = kNoNode;
  {
    OriginScope scope(*module.graph, "encoder");
    out = (exp(x) + sqrt(x)).node_in(module.graph);
  }
  module.outputs = {out};
  module.output_names = {"y"};
  const GraphModule result = rewrite(module);
  EXPECT_EQ(result.graph->node(result.outputs[0]).origin, "encoder");
}

TEST(Rewrite, NamesRulesThatUndoEachOther) {
  using namespace rewriting;
  const RuleSet rules = {{"test.there", "", op(Op::kNeg, {any('x')}), nullptr,
                          [](const Match& m) { return make(m.graph, Op::kAbs, {m('x')}); }},
                         {"test.back", "", op(Op::kAbs, {any('x')}), nullptr,
                          [](const Match& m) { return make(m.graph, Op::kNeg, {m('x')}); }}};
  RewriteOptions options;
  options.rules = &rules;
  try {
    rewritten("%0 = input f32[2] number=0 \"x\"\n%1 = neg f32[2] %0\noutputs %1 \"y\"\n", options);
    FAIL() << "no error";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("test.there"), HasSubstr("test.back")));
  }
}

TEST(Rewrite, NamesARuleThatGrows) {
  using namespace rewriting;
  const RuleSet rules = {{"test.grows", "", op(Op::kNeg, {any('x')}), nullptr,
                          [](const Match& m) {
                            const NodeId wrapped = make(m.graph, Op::kAbs, {m('x')});
                            return make(m.graph, Op::kNeg, {wrapped});
                          }},
                         {"test.contains", "", op(Op::kExp, {any('x')}), nullptr,
                          [](const Match& m) { return make(m.graph, Op::kSqrt, {m.root}); }}};
  RewriteOptions options;
  options.rules = &rules;
  const std::string head = "%0 = input f32[2] number=0 \"x\"\n";
  EXPECT_THROW(rewritten(head + "%1 = neg f32[2] %0\noutputs %1 \"y\"\n", options), InternalError);
  EXPECT_THROW(rewritten(head + "%1 = exp f32[2] %0\noutputs %1 \"y\"\n", options), InternalError);
}

TEST(Rewrite, TakesLongChainsWithoutRecursion) {
  GraphModule module;
  NodeId x = input(module.graph, {4}).node_in(module.graph);
  for (int i = 0; i < 100000; i++) x = rewriting::make(*module.graph, i % 3 == 0 ? Op::kExp : Op::kNeg, {x});
  module.outputs = {x};
  module.output_names = {"y"};
  const GraphModule result = rewrite(module);
  EXPECT_LT(result.graph->size(), 40000u);
}

TEST(Rewrite, IsANormalForm) {
  for (uint32_t seed = 1; seed <= 100; seed++) {
    const reference::RandomGraph graph = reference::random_graph(seed);
    const GraphModule once = rewrite(graph.module);
    EXPECT_EQ(print_graph(rewrite(once)), print_graph(once)) << "seed " << seed;
  }
}

TEST(Rewrite, KeepsEveryBitOfRandomGraphs) {
  for (uint32_t seed = 1; seed <= 300; seed++) {
    const reference::RandomGraph graph = reference::random_graph(seed);
    reference::Options options;
    options.mode = reference::Mode::kRounded;
    options.inputs = graph.inputs;
    const GraphModule result = rewrite(graph.module);
    verify(result, "rewrite");
    const auto expected = reference::evaluate(graph.module, options);
    const auto actual = reference::evaluate(result, options);
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); i++)
      EXPECT_EQ(reference::mismatch_exact(expected[i], reference::to_bytes(actual[i])), std::nullopt)
          << "seed " << seed << "\n"
          << print_graph(graph.module) << print_graph(result);
  }
}

}  // namespace
}  // namespace tandem
