// Random graphs on every target against the float64 reference. A failing graph is made small and printed.

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/graph/text.h"
#include "tests/reference/compare.h"
#include "tests/reference/random_graph.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

/// Why a target is wrong about a graph; empty when it isn't.
std::string fault(const reference::RandomGraph& graph, const test::Target& target, Numerics numerics,
                  test::OutputBytes* same_bits = nullptr) {
  reference::Options options;
  options.inputs = graph.inputs;
  const auto expected = reference::evaluate(graph.module, options);
  const auto outputs = test::run_graph(graph.module, options, target, numerics);
  if (!outputs) return outputs.error().text();
  for (size_t i = 0; i < expected.size(); i++)
    if (const auto wrong = reference::mismatch(expected[i], (*outputs)[i])) return *wrong;
  if (same_bits) {
    if (same_bits->empty()) *same_bits = *outputs;
    if (!(*same_bits == *outputs)) return "other bits than on the first target";
  }
  return {};
}

/// The seeds are dealt out to this many tests, so that shards of the program take equally long.
constexpr uint32_t kParts = 16;

class RandomGraph : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomGraph, AllTargetsAgreeWithTheReference) {
  const char* wanted = std::getenv("TANDEM_RANDOM_GRAPHS");
  const char* begin = std::getenv("TANDEM_RANDOM_SEED");
  const uint32_t first = begin ? static_cast<uint32_t>(std::strtoul(begin, nullptr, 10)) : 1;
  const uint32_t count = wanted ? static_cast<uint32_t>(std::strtoul(wanted, nullptr, 10)) : 300;
  for (uint32_t seed = first + GetParam(); seed < first + count; seed += kParts) {
    const reference::RandomGraph graph = reference::random_graph(seed);
    test::OutputBytes bits;
    const auto& targets = test::all_targets();
    for (size_t i = 0; i < targets.size(); i++) {
      // Every target proves its bits; fast numerics takes turns, since it has only bounds to keep.
      std::vector<Numerics> modes = {Numerics::kReproducible};
      if (seed % targets.size() == i) modes.push_back(Numerics::kFast);
      for (Numerics numerics : modes) {
        const std::string wrong =
            fault(graph, targets[i], numerics, numerics == Numerics::kReproducible ? &bits : nullptr);
        if (wrong.empty()) continue;
        const auto fails = [&](const reference::RandomGraph& smaller) {
          return !fault(smaller, targets[i], numerics).empty();
        };
        const reference::RandomGraph smallest = fails(graph) ? reference::shrink(graph, fails) : graph;
        ADD_FAILURE() << "seed " << seed << " on " << targets[i].name << ", " << name_of(numerics) << ": " << wrong
                      << "\n"
                      << print_graph(smallest.module);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraph, testing::Range(0u, kParts));

}  // namespace
}  // namespace tandem
