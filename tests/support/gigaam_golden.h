#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/models/gigaam_config.h"
#include "core/models/gigaam_weights.h"
#include "core/weights/weight_file.h"
#include "tests/support/graph_runner.h"

namespace tandem::testing {

/// A file of tests/golden/gigaam: weights, inputs and expected values of one model.
struct GigaAmGolden {
  explicit GigaAmGolden(const std::string& name);

  /// Elements of a tensor of the file. Throws std::runtime_error.
  template <typename T>
  std::vector<T> values(const std::string& tensor) const {
    auto result = (*file.get(tensor))->values<T>();
    if (!result) throw std::runtime_error(result.error().text());
    return *result;
  }
  std::vector<int64_t> shape(const std::string& tensor) const;
  GigaAmWeights weights() const;

  WeightFile file;
  GigaAmConfig config;
};

/// A graph under test: how its inputs are named in the file, and its outputs.
struct GigaAmCase {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> build;
};

/// Plans the graph with constant shapes, feeds the file's inputs and returns the outputs by name. Throws
/// std::runtime_error with the engine's message.
std::map<std::string, std::vector<std::byte>> run_gigaam(const GigaAmGolden& golden, const GigaAmCase& test,
                                                         const test::Target& target,
                                                         Numerics numerics = Numerics::kFast);

template <typename T>
std::vector<T> elements_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Largest difference of two [b, t, width] arrays over the rows below the lane's length; infinity when a value is NaN
/// or the sizes differ.
double row_difference(const std::vector<float>& values, const std::vector<float>& expected,
                      const std::vector<int32_t>& lengths, int64_t frames);

}  // namespace tandem::testing
