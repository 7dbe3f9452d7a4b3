// Random graphs on every target against the float64 reference. A failing graph is made small and printed.

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/graph/text.h"
#include "tests/reference/cases.h"
#include "tests/reference/compare.h"
#include "tests/support/stepped_graph.h"

namespace tandem {
namespace {

constexpr int kSteps = 3;

using reference::Fault;

Fault fault_of(const JitError& error) { return {name_of(error.code), error.text()}; }

/// The first mismatch of one step's outputs.
Fault fault_of_outputs(const GraphModule& module, const reference::InputBytes& inputs,
                       const test::OutputBytes& outputs) {
  const auto expected = reference::evaluate(module, {reference::Mode::kExact, {}, inputs});
  for (size_t i = 0; i < expected.size(); i++)
    if (const auto wrong = reference::mismatch(expected[i], outputs[i]))
      return {"values", module.output_names[i] + ": " + *wrong};
  return {};
}

/// Steps a graph whose states stay in the plan; each step is compared from the states that it began with.
Fault fault_of_steps(const reference::RandomGraph& graph, const test::Target& target, Numerics numerics,
                     test::OutputBytes& bits) {
  auto stepped = test::SteppedGraph::make(graph, target, numerics);
  // Rewriting found that an input does not matter: a wrapper refuses that.
  if (!stepped && stepped.error().code == ErrorCode::kInputBufferNotFound) return {};
  if (!stepped) return fault_of(stepped.error());
  for (int i = 0; i < kSteps; i++) {
    const reference::InputBytes inputs = stepped->inputs();
    const auto outputs = stepped->step({});
    if (!outputs) return fault_of(outputs.error());
    if (const Fault wrong = fault_of_outputs(graph.module, inputs, *outputs); !wrong.kind.empty())
      return {wrong.kind, "step " + std::to_string(i + 1) + ", " + wrong.text};
    bits.insert(bits.end(), outputs->begin(), outputs->end());
  }
  return {};
}

/// How a target is wrong about a graph. `bits` of the first target, if they matter.
Fault fault(const reference::RandomGraph& graph, const test::Target& target, Numerics numerics,
            test::OutputBytes* same_bits = nullptr) {
  test::OutputBytes bits;
  if (!graph.states.empty()) {
    if (Fault wrong = fault_of_steps(graph, target, numerics, bits); !wrong.kind.empty()) return wrong;
  } else {
    const auto outputs = test::run_graph(graph.module, {reference::Mode::kExact, {}, graph.inputs}, target, numerics);
    if (!outputs) return fault_of(outputs.error());
    if (Fault wrong = fault_of_outputs(graph.module, graph.inputs, *outputs); !wrong.kind.empty()) return wrong;
    bits = *outputs;
  }
  if (!same_bits || bits.empty()) return {};
  if (same_bits->empty()) *same_bits = bits;
  if (*same_bits == bits) return {};
  return {"bits", "other bits than on the first target"};
}

/// The seeds are dealt out to this many tests, so that shards of the program take equally long.
constexpr uint32_t kParts = 16;

uint32_t number_from(const char* variable, uint32_t otherwise) {
  const char* value = std::getenv(variable);
  return value ? static_cast<uint32_t>(std::strtoul(value, nullptr, 10)) : otherwise;
}

/// So many graphs are tried by all targets; what comes after them takes turns.
constexpr uint32_t kOnAllTargets = 300;

/// The targets that try the graph at a place: all for the first ones, then the interpreter, one of the native
/// instruction sets, and Wasm. TANDEM_RANDOM_TARGETS=turns has no first ones, =all no turns.
std::vector<const test::Target*> targets_for(uint32_t place) {
  const std::vector<test::Target>& all = test::all_targets();
  const char* variable = std::getenv("TANDEM_RANDOM_TARGETS");
  const std::string_view wanted = variable ? variable : "";
  std::vector<const test::Target*> chosen;
  if (wanted == "all" || (wanted != "turns" && place < kOnAllTargets)) {
    for (const test::Target& target : all) chosen.push_back(&target);
    return chosen;
  }
  const size_t natives = all.size() - 2;
  return {&all.front(), &all[1 + place % natives], &all.back()};
}

class RandomGraph : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomGraph, AllTargetsAgreeWithTheReference) {
  const uint32_t first = number_from("TANDEM_RANDOM_SEED", 1);
  const uint32_t count = number_from("TANDEM_RANDOM_GRAPHS", kOnAllTargets);
  for (uint32_t seed = first + GetParam(); seed < first + count; seed += kParts) {
    reference::RandomGraphOptions options;
    options.states = seed % 3 == 0 ? 2 : 0;
    const reference::RandomGraph graph = reference::random_graph(seed, options);
    test::OutputBytes bits;
    const auto targets = targets_for(seed - first);
    for (size_t i = 0; i < targets.size(); i++) {
      // Every target proves its bits; fast numerics takes turns, since it has only bounds to keep.
      std::vector<Numerics> modes = {Numerics::kReproducible};
      if (seed / 4 % targets.size() == i) modes.push_back(Numerics::kFast);
      for (Numerics numerics : modes) {
        const Fault wrong = fault(graph, *targets[i], numerics, numerics == Numerics::kReproducible ? &bits : nullptr);
        if (wrong.kind.empty()) continue;
        // What differs from the first target only is made small by the difference.
        const auto trial = [&](const reference::RandomGraph& smaller) {
          test::OutputBytes first_bits;
          if (numerics == Numerics::kReproducible && i > 0)
            static_cast<void>(fault(smaller, *targets[0], numerics, &first_bits));
          return fault(smaller, *targets[i], numerics, first_bits.empty() ? nullptr : &first_bits);
        };
        const reference::RandomGraph smallest = reference::shrink(graph, trial);
        const std::string name = "random/" + std::to_string(seed);
        ADD_FAILURE() << "seed " << seed << " on " << targets[i]->name << ", " << name_of(numerics) << ": "
                      << wrong.text << "\n"
                      << print_graph(smallest.module) << smallest.states.size() << " states\n"
                      << reference::print_cases("found by random graphs", {reference::as_case(name, smallest)});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraph, testing::Range(0u, kParts));

}  // namespace
}  // namespace tandem
