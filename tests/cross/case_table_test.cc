// Every case of the table on every target: within the stated bounds of the float64 reference, and the same bits
// everywhere under reproducible numerics.

#include <gtest/gtest.h>

#include "tests/reference/cases.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

const std::vector<reference::Case>& cases() {
  static const std::vector<reference::Case> loaded = reference::load_cases(TANDEM_SOURCE_DIR);
  return loaded;
}

class CaseTable : public testing::TestWithParam<size_t> {};

TEST_P(CaseTable, AgreesWithTheReferenceOnEveryTarget) {
  const reference::Case& from = cases()[GetParam()];
  reference::LoadedCase loaded = reference::load(from);
  loaded.options.mode =
      from.tolerance == reference::Tolerance::kExact ? reference::Mode::kRounded : reference::Mode::kExact;
  const auto expected = reference::evaluate(loaded.module, loaded.options);
  test::OutputBytes first;
  for (const test::Target& target : test::all_targets())
    for (Numerics numerics : {Numerics::kReproducible, Numerics::kFast}) {
      if (from.denormals && numerics == Numerics::kFast) continue;
      SCOPED_TRACE(from.name + " on " + target.name + ", " + std::string(name_of(numerics)));
      const auto outputs = test::run_graph(loaded.module, loaded.options, target, numerics);
      ASSERT_TRUE(outputs) << outputs.error().text();
      ASSERT_EQ(outputs->size(), expected.size());
      for (size_t i = 0; i < expected.size(); i++) {
        const auto wrong = from.tolerance == reference::Tolerance::kExact
                               ? reference::mismatch_exact(expected[i], (*outputs)[i])
                               : reference::mismatch(expected[i], (*outputs)[i]);
        EXPECT_FALSE(wrong) << *wrong;
      }
      if (numerics != Numerics::kReproducible) continue;
      if (first.empty()) first = *outputs;
      EXPECT_TRUE(first == *outputs) << "other bits than on " << test::all_targets()[0].name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, CaseTable, testing::Range(size_t{0}, cases().size()));

}  // namespace
}  // namespace tandem
