// Every rule on instances made from its own pattern: both sides have the same bits, for special values too.

#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/text.h"
#include "core/rewrite/make.h"
#include "core/rewrite/rewrite.h"
#include "tests/reference/compare.h"
#include "tests/support/rule_instance.h"

namespace tandem {
namespace {

using reference::Random;
using rewriting::Match;
using rewriting::Rule;

bool reorders(const Rule& rule) {
  for (const Rule& fast : rewriting::fast_rules())
    if (std::string(fast.name) == rule.name) return true;
  return false;
}

GraphModule with_output(const std::shared_ptr<Graph>& graph, NodeId output) {
  GraphModule module;
  module.graph = graph;
  module.outputs = {output};
  module.output_names = {"root"};
  return module;
}

/// Why two modules differ; empty when they don't. A rule that may reorder sums keeps the bounds of the reference.
std::string difference(const GraphModule& before, const GraphModule& after, reference::Options options, bool exact) {
  options.mode = exact ? reference::Mode::kRounded : reference::Mode::kExact;
  const auto expected = reference::evaluate(before, options);
  options.mode = reference::Mode::kRounded;
  const auto actual = reference::evaluate(after, options);
  for (size_t i = 0; i < expected.size(); i++) {
    const auto bytes = reference::to_bytes(actual[i]);
    const auto wrong = exact ? reference::mismatch_exact(expected[i], bytes) : reference::mismatch(expected[i], bytes);
    if (wrong) return concat(*wrong, "\nbefore:\n", print_graph(before), "after:\n", print_graph(after));
  }
  return {};
}

struct Outcome {
  int fired = 0;
  std::string fault;
};

Outcome fuzz(const Rule& rule, int wanted) {
  Outcome outcome;
  for (uint32_t seed = 1; seed < 3000 && outcome.fired < wanted && outcome.fault.empty(); seed++) {
    Random random(seed * 7919);
    test::RuleInstance instance;
    std::optional<NodeId> result;
    try {
      instance = test::make_instance(rule, random);
      result = rewriting::apply(rule, *instance.module.graph, instance.root());
    } catch (const TensorError&) {
      continue;  // The pieces did not fit: the next seed.
    }
    if (!result || *result == instance.root()) continue;
    outcome.fired++;
    const GraphModule after = with_output(instance.module.graph, *result);
    for (const int64_t t : {test::kLargestT, test::kSmallestT + 1}) {
      // In a contraction the reference sums exactly and rounds once: overflow and underflow differ from step to step.
      const bool special = rule.pattern.ops[0] != Op::kContract || std::string(rule.name) == "contract.dead_taps";
      const reference::Options options = test::random_inputs(instance.module, random, t, special);
      std::string fault = difference(instance.module, after, options, !reorders(rule));
      if (fault.empty()) fault = difference(instance.module, rewrite(instance.module), options, true);
      if (!fault.empty()) outcome.fault = concat("seed ", seed, ", t = ", t, ": ", fault);
    }
  }
  return outcome;
}

class RewriteRule : public testing::TestWithParam<size_t> {};

TEST_P(RewriteRule, KeepsEveryBit) {
  const Rule& rule = rewriting::all_rules()[GetParam()];
  const Outcome outcome = fuzz(rule, 60);
  EXPECT_EQ(outcome.fault, "") << rule.name << ": " << rule.identity;
  EXPECT_GE(outcome.fired, 8) << rule.name << " hardly ever applies to instances of its own pattern";
}

INSTANTIATE_TEST_SUITE_P(All, RewriteRule, testing::Range(size_t{0}, rewriting::all_rules().size()),
                         [](const testing::TestParamInfo<size_t>& parameter) {
                           std::string name = rewriting::all_rules()[parameter.param].name;
                           for (char& letter : name)
                             if (letter == '.') letter = '_';
                           return name;
                         });

NodeId x(const Match& m) { return m('x'); }

TEST(RewriteRules, FuzzingCatchesWrongRules) {
  using namespace rewriting;
  const RuleSet wrong = {
      {"wrong.add_zero", "-0 + 0 is +0", either(Op::kAdd, any('x'), number(0)), nullptr, x},
      {"wrong.multiply_zero", "NaN and infinities", either(Op::kMul, any('x'), number(0)), nullptr,
       [](const Match& m) { return filled(m.graph, m.top().dtype, 0, m.top().shape); }},
      {"wrong.equal_same", "NaN", op(Op::kEqual, {any('x'), any('x')}), nullptr,
       [](const Match& m) { return filled(m.graph, DType::kBool, 1, m.top().shape); }},
      {"wrong.cast_twice", "narrow between", op(Op::kCast, {op(Op::kCast, {any('x')})}), nullptr,
       [](const Match& m) { return make(m.graph, Op::kCast, {m('x')}, m.top().dtype); }},
      {"wrong.shrink_of_flip", "the other end", op(Op::kShrink, {op(Op::kFlip, {any('x')}, 'z')}), nullptr,
       [](const Match& m) {
         const NodeId part = shrink(m.graph, m('x'), m.top().attributes.begin, m.top().shape);
         return flip(m.graph, part, m.node('z').attributes.order);
       }},
      {"wrong.sum_of_expand", "count forgotten", op(Op::kReduceSum, {op(Op::kExpand, {any('x')}, 'z')}), nullptr,
       [](const Match& m) {
         const Shape& narrow = m.node('x').shape;
         if (!narrow.back().is(1)) return kNoNode;
         Shape shape = m.node('z').shape;
         shape.back() = 1;
         return accumulate(m.graph, Op::kReduceSum, {expand(m.graph, m('x'), shape)}, m.top().attributes.count);
       }},
  };
  for (const Rule& rule : wrong) EXPECT_NE(fuzz(rule, 200).fault, "") << rule.name;
}

TEST(RewriteRules, NamesAreUniqueAndEachRuleHasAnIdentity) {
  std::set<std::string> names;
  for (const Rule& rule : rewriting::all_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_NE(std::string(rule.identity), "");
    EXPECT_FALSE(rule.pattern.ops.empty()) << rule.name << " has no root op";
  }
}

}  // namespace
}  // namespace tandem
