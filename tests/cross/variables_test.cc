// One plan of a graph with variables serves every value: within the stated bounds of the float64 reference, under
// reproducible numerics with the bits of a plan in which the value is a number.

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "core/graph/text.h"
#include "tests/reference/cases.h"
#include "tests/reference/fixed.h"
#include "tests/reference/random.h"
#include "tests/reference/random_graph.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

using Values = std::map<std::string, int64_t>;

std::vector<Index> variables_of(const GraphModule& module) {
  std::vector<Index> found;
  const auto note = [&](const std::vector<Index>& list) {
    for (const Index& entry : list)
      entry.for_each_leaf([&](const Index& leaf) {
        if (std::find(found.begin(), found.end(), leaf) == found.end()) found.push_back(leaf);
      });
  };
  for (const NodeId id : reachable_nodes(*module.graph, module.outputs)) {
    const Node& node = module.graph->node(id);
    note(node.shape);
    note(node.attributes.begin);
    note(node.attributes.size);
  }
  return found;
}

const std::vector<reference::Case>& cases() {
  static const std::vector<reference::Case> loaded = [] {
    std::vector<reference::Case> found;
    for (reference::Case& entry : reference::load_cases(TANDEM_SOURCE_DIR))
      if (!variables_of(reference::load(entry).module).empty()) found.push_back(std::move(entry));
    return found;
  }();
  return loaded;
}

/// The ends of a variable's range, one more and one less than vectors and tiles hold, and some at random.
std::vector<int64_t> edges(const Index& variable, reference::Random& random) {
  std::set<int64_t> chosen = {variable.lower(), variable.upper()};
  for (const int64_t value : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65})
    chosen.insert(value);
  for (int i = 0; i < 4; i++) chosen.insert(random.between(variable.lower(), variable.upper()));
  std::vector<int64_t> values;
  for (const int64_t value : chosen)
    if (value >= variable.lower() && value <= variable.upper() && value % variable.multiple() == 0)
      values.push_back(value);
  return values;
}

/// All edges of each variable beside random values of the others, largest and smallest by turns, so that a call
/// follows one that left more behind.
std::vector<Values> choices(const std::vector<Index>& variables, uint32_t seed) {
  reference::Random random(seed);
  std::vector<Values> out;
  for (const Index& variable : variables) {
    const std::vector<int64_t> values = edges(variable, random);
    for (size_t i = 0; i < values.size(); i++) {
      Values choice;
      for (const Index& other : variables) {
        const std::vector<int64_t> possible = edges(other, random);
        choice[other.name()] = random.pick(possible);
      }
      choice[variable.name()] = values[i % 2 == 0 ? values.size() - 1 - i / 2 : i / 2];
      out.push_back(std::move(choice));
    }
  }
  return out;
}

std::string text(const Values& values) {
  std::string out;
  for (const auto& [name, value] : values) out += " " + name + " = " + std::to_string(value);
  return out;
}

class Variables : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    entry_ = cases()[GetParam()];
    loaded_ = reference::load(entry_);
    loaded_.options.mode = exact() ? reference::Mode::kRounded : reference::Mode::kExact;
    choices_ = choices(variables_of(loaded_.module), static_cast<uint32_t>(GetParam()) + 1);
    for (const Values& values : choices_) {
      loaded_.options.variables = values;
      expected_.push_back(reference::evaluate(loaded_.module, loaded_.options));
    }
  }
  bool exact() const { return entry_.tolerance == reference::Tolerance::kExact; }

  /// One plan, all values; the bits of each under reproducible numerics.
  std::vector<test::OutputBytes> run(const test::Target& target, Numerics numerics) {
    std::vector<test::OutputBytes> bits;
    auto planned = test::PlannedGraph::make(loaded_.module, target, numerics);
    EXPECT_TRUE(planned) << planned.error().text();
    if (!planned) return bits;
    for (size_t i = 0; i < choices_.size(); i++) {
      SCOPED_TRACE(entry_.name + " on " + target.name + ", " + std::string(name_of(numerics)) + "," +
                   text(choices_[i]));
      loaded_.options.variables = choices_[i];
      const auto spoiled = planned->spoil();
      EXPECT_TRUE(spoiled) << spoiled.error().text();
      const auto outputs = planned->run(loaded_.options);
      EXPECT_TRUE(outputs) << outputs.error().text();
      if (!outputs) return bits;
      for (size_t k = 0; k < expected_[i].size(); k++) {
        const auto wrong = exact() ? reference::mismatch_exact(expected_[i][k], (*outputs)[k])
                                   : reference::mismatch(expected_[i][k], (*outputs)[k]);
        EXPECT_FALSE(wrong) << *wrong;
      }
      bits.push_back(*outputs);
    }
    return bits;
  }

  /// Plans with numbers in place of the variables, for every `step`-th choice.
  void compare_with_fixed(const std::vector<test::OutputBytes>& bits, const test::Target& target, size_t step) {
    for (size_t i = GetParam() % step; i < bits.size(); i += step) {
      SCOPED_TRACE(entry_.name + " fixed on " + target.name + "," + text(choices_[i]));
      const GraphModule fixed = reference::with_variables_fixed(loaded_.module, choices_[i]);
      loaded_.options.variables = choices_[i];
      const auto outputs = test::run_graph(fixed, loaded_.options, target, Numerics::kReproducible);
      ASSERT_TRUE(outputs) << outputs.error().text();
      EXPECT_TRUE(*outputs == bits[i]) << "other bits than the plan with variables";
    }
  }

  reference::Case entry_;
  reference::LoadedCase loaded_;
  std::vector<Values> choices_;
  std::vector<std::vector<reference::ReferenceResult>> expected_;
};

TEST_P(Variables, OnePlanServesEveryValue) {
  const std::vector<test::Target>& targets = test::all_targets();
  std::vector<test::OutputBytes> first;
  for (size_t i = 0; i < targets.size(); i++) {
    const std::vector<test::OutputBytes> bits = run(targets[i], Numerics::kReproducible);
    if (i == 0) first = bits;
    EXPECT_TRUE(bits == first) << entry_.name << " on " << targets[i].name << ": other bits than on "
                               << targets[0].name;
    run(targets[i], Numerics::kFast);
  }
  // The interpreter compiles nothing: it can make a plan for every value. The others take turns.
  compare_with_fixed(first, targets[0], 1);
  compare_with_fixed(first, targets[1 + GetParam() % (targets.size() - 1)], 9);
}

INSTANTIATE_TEST_SUITE_P(All, Variables, testing::Range(size_t{0}, cases().size()));

/// How a target is wrong about a graph at one of some values.
reference::Fault fault(const reference::RandomGraph& graph, const test::Target& target, Numerics numerics,
                       uint32_t seed) {
  const auto fault_of = [](const JitError& error, const std::string& where) {
    return reference::Fault{name_of(error.code), error.text() + where};
  };
  auto planned = test::PlannedGraph::make(graph.module, target, numerics);
  if (!planned) return fault_of(planned.error(), "");
  std::vector<Values> all = choices(variables_of(graph.module), seed);
  if (all.size() > 7) all.resize(7);
  for (const Values& values : all) {
    const reference::Options options{reference::Mode::kExact, values, graph.inputs};
    const auto expected = reference::evaluate(graph.module, options);
    const auto outputs = planned->run(options);
    if (!outputs) return fault_of(outputs.error(), " at" + text(values));
    for (size_t i = 0; i < expected.size(); i++)
      if (const auto wrong = reference::mismatch(expected[i], (*outputs)[i]))
        return {"values", *wrong + " at" + text(values)};
    if (numerics != Numerics::kReproducible) continue;
    const GraphModule fixed = reference::with_variables_fixed(graph.module, values);
    const auto bits = test::run_graph(fixed, options, test::all_targets()[0], numerics);
    if (!bits) return fault_of(bits.error(), " fixed at" + text(values));
    if (!(*bits == *outputs))
      return {"bits", "other bits than with a number in place of the variable, at" + text(values)};
  }
  return {};
}

/// The seeds are dealt out to this many tests, so that shards of the program take equally long.
constexpr uint32_t kParts = 16;

class RandomVariables : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomVariables, OnePlanServesEveryValue) {
  const char* wanted = std::getenv("TANDEM_RANDOM_GRAPHS");
  const char* begin = std::getenv("TANDEM_RANDOM_SEED");
  const uint32_t first = begin ? static_cast<uint32_t>(std::strtoul(begin, nullptr, 10)) : 1;
  const uint32_t count = wanted ? static_cast<uint32_t>(std::strtoul(wanted, nullptr, 10)) : 200;
  const auto& targets = test::all_targets();
  for (uint32_t seed = first + GetParam(); seed < first + count; seed += kParts) {
    reference::RandomGraphOptions options;
    options.variables = 1 + static_cast<int>(seed % 2);
    const reference::RandomGraph graph = reference::random_graph(seed, options);
    for (const size_t i : {size_t{0}, 1 + seed % (targets.size() - 1)}) {
      const Numerics numerics = i > 0 && seed % 4 == 0 ? Numerics::kFast : Numerics::kReproducible;
      const reference::Fault wrong = fault(graph, targets[i], numerics, seed);
      if (wrong.kind.empty()) continue;
      const auto trial = [&](const reference::RandomGraph& smaller) {
        return fault(smaller, targets[i], numerics, seed);
      };
      ADD_FAILURE() << "seed " << seed << " on " << targets[i].name << ", " << name_of(numerics) << ": " << wrong.text
                    << "\n"
                    << print_graph(reference::shrink(graph, trial).module);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomVariables, testing::Range(0u, kParts));

/// Does a loop of the case's kernels end at a number that the kernel has loaded?
bool ends_at_a_length(const std::string& name, Numerics numerics) {
  const auto found =
      std::find_if(cases().begin(), cases().end(), [&](const auto& entry) { return entry.name == name; });
  if (found == cases().end()) throw std::runtime_error("no case " + name);
  ScheduleOptions options;
  options.capabilities = *capabilities_named("avx2");
  options.numerics = numerics;
  const std::regex loop("for i[0-9]+ in [^\n]*\\.\\. [^\n]*where v");
  for (const Kernel& kernel : make_schedule(reference::load(*found).module, options).program.kernels)
    if (std::regex_search(text(kernel, false), loop)) return true;
  return false;
}

TEST(RaggedAxes, AreReducedToTheirLengthWhereTheRestChangesNothing) {
  for (const Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
    for (const char* name : {"sum", "sum, time outside", "product", "max and min", "max and min, filled",
                             "reductions of integers", "matmul over a limited axis"})
      EXPECT_TRUE(ends_at_a_length(std::string("ragged/") + name, numerics)) << name;
    for (const char* name : {"sum, filled", "product, filled"})
      EXPECT_FALSE(ends_at_a_length(std::string("ragged/") + name, numerics)) << name;
  }
}

TEST(FixedVariable, TheLoopBoundIsGoneFromTheKernelText) {
  const Index t = Index::variable("t", 1, 1000);
  GraphModule module = parse_graph(
      "variables t: 1 .. 1000\n%0 = input f32[t] number=0 \"x\"\n%1 = exp f32[t] %0\n%2 = reduce_sum f32[] %1 count=1\n"
      "outputs %2 \"y\"\n");
  ScheduleOptions options;
  options.capabilities = *capabilities_named("avx2");
  const auto kernels = [&](const GraphModule& graph) {
    std::string all;
    for (const Kernel& kernel : make_schedule(graph, options).program.kernels) all += text(kernel, false);
    return all;
  };
  const std::string open = kernels(module);
  EXPECT_NE(open.find("variable t"), std::string::npos) << open;
  const std::string fixed = kernels(reference::with_variables_fixed(module, {{"t", 160}}));
  EXPECT_EQ(fixed.find("variable t"), std::string::npos) << fixed;
  EXPECT_NE(fixed.find("160"), std::string::npos) << fixed;
}

}  // namespace
}  // namespace tandem
