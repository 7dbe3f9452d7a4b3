// The case table on disk is what the code makes, parses back, covers every op, and is decided by the reference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "tests/reference/case_table.h"
#include "tests/reference/cases.h"

namespace tandem::reference {
namespace {

const std::string folder = std::string(TANDEM_SOURCE_DIR) + "/tests/cases/";

TEST(CaseTable, FilesAreWhatTheCodeMakes) {
  const bool bless = std::getenv("TANDEM_BLESS") != nullptr;
  for (const auto& [name, text] : case_files()) {
    if (bless) std::ofstream(folder + name, std::ios::binary) << text;
    std::ifstream file(folder + name, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    EXPECT_TRUE(content.str() == text) << name << " differs: run this test with TANDEM_BLESS=1 and look at the change";
  }
}

TEST(CaseTable, GraphsRoundTripAndCoverEveryOp) {
  std::set<std::string> names;
  std::set<Op> ops;
  for (const Case& entry : load_cases(TANDEM_SOURCE_DIR)) {
    EXPECT_TRUE(names.insert(entry.name).second) << "two cases are named " << entry.name;
    const LoadedCase loaded = load(entry);
    verify(loaded.module, entry.name.c_str());
    EXPECT_EQ(print_graph(loaded.module), entry.graph) << entry.name;
    for (const NodeId id : reachable_nodes(*loaded.module.graph, loaded.module.outputs))
      ops.insert(loaded.module.graph->node(id).op);
  }
  EXPECT_GE(names.size(), 120u);
  for (int i = 0; i < kOpCount; i++)
    EXPECT_TRUE(ops.count(static_cast<Op>(i)) != 0) << "no case uses " << name_of(static_cast<Op>(i));
}

// An engine that rounds after every op, as the op table says, must pass: if it did not, the bounds would be wrong.
TEST(CaseTable, RoundingAfterEveryOpStaysWithinTheBounds) {
  for (const Case& entry : load_cases(TANDEM_SOURCE_DIR)) {
    LoadedCase loaded = load(entry);
    const auto exact = evaluate(loaded.module, loaded.options);
    loaded.options.mode = Mode::kRounded;
    const auto rounded = evaluate(loaded.module, loaded.options);
    for (size_t i = 0; i < exact.size(); i++) {
      EXPECT_EQ(mismatch(exact[i], to_bytes(rounded[i])), std::nullopt) << entry.name;
      EXPECT_EQ(decided(exact[i]), 1) << entry.name;
    }
  }
}

TEST(CaseTable, ErrorsNameTheCase) {
  EXPECT_THROW(
      {
        try {
          parse_cases(R"({"cases": [{"name": "x", "graph": [], "inputs": [], "tolerance": "wide"}]})");
        } catch (const std::exception& error) {
          EXPECT_NE(std::string(error.what()).find("case x: tolerance is \"wide\""), std::string::npos) << error.what();
          throw;
        }
      },
      std::exception);
}

}  // namespace
}  // namespace tandem::reference
