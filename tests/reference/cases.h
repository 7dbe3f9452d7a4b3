#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/compare.h"
#include "tests/reference/random_graph.h"

namespace tandem::reference {

/// How an input or a named constant of a case is filled, in JSON:
///   {"uniform": [low, high], "seed": 3}   floats in [low, high), integers in low .. high, from Random(seed), row-major
///   {"values": [1, "-0", "nan", "inf"]}   repeated from the start when there are more elements
/// A number is rounded to the dtype (f16 and bf16 by way of f32). Integers beyond 2^53 stand as strings.
struct Fill {
  bool uniform = false;
  double low = 0;
  double high = 0;
  uint32_t seed = 0;
  std::vector<std::string> values;

  std::vector<std::byte> bytes(DType dtype, size_t count) const;
};

/// One case of the table that GoogleTest, node:test and the browser share. In JSON: name, graph (lines of graph text),
/// inputs (a fill for each input number), and where needed constants (a fill for each name), variables, denormals.
struct Case {
  std::string name;   ///< "op/dtype/what", unique over all files.
  std::string graph;  ///< What `parse_graph` reads.
  std::vector<Fill> inputs;
  std::map<std::string, Fill> constants;
  std::map<std::string, int64_t> variables;
  Tolerance tolerance = Tolerance::kBounded;
  /// The answer depends on numbers below the smallest normal one: it means something in reproducible numerics only.
  bool denormals = false;
};

/// A case made ready to run.
struct LoadedCase {
  GraphModule module;
  Options options;  ///< Inputs and variables; set the mode.
};

/// Reads the text of one file. Throws TensorError naming the case.
std::vector<Case> parse_cases(std::string_view json);
/// All cases of tests/cases below the source folder, in the order of file names.
std::vector<Case> load_cases(const std::string& source_folder);
/// The text of a file, laid out for reading.
std::string print_cases(const std::string& description, const std::vector<Case>& cases);
LoadedCase load(const Case& from);
/// A graph as a case that states every number: what a failing random graph is kept as. States become inputs and
/// outputs.
Case as_case(const std::string& name, const RandomGraph& graph, const std::map<std::string, int64_t>& variables = {});

}  // namespace tandem::reference
