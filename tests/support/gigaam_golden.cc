#include "tests/support/gigaam_golden.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/support/golden.h"
#include "tests/support/value_or_throw.h"

namespace tandem::testing {
namespace {}  // namespace

GigaAmGolden::GigaAmGolden(const std::string& name)
    : file(value_or_throw(
          read_weights(ByteSource::own(file_bytes(golden_path("gigaam/" + name + ".safetensors"))), name))),
      config(value_or_throw(gigaam_config_of(file))) {}

std::vector<int64_t> GigaAmGolden::shape(const std::string& tensor) const {
  return value_or_throw(file.get(tensor))->shape;
}

GigaAmWeights GigaAmGolden::weights() const { return value_or_throw(GigaAmWeights::find(file, config)); }

std::map<std::string, std::vector<std::byte>> run_gigaam(const GigaAmGolden& golden, const GigaAmCase& test,
                                                         const test::Target& target, Numerics numerics) {
  GraphModule module;
  reference::Options options;
  std::vector<Tensor> inputs;
  for (const std::string& name : test.inputs) {
    const WeightTensor& tensor = *value_or_throw(golden.file.get(name));
    const auto number = static_cast<int32_t>(inputs.size());
    inputs.push_back(
        Tensor::input(module.graph, number, name, tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())));
    options.inputs[number] = {tensor.bytes.begin(), tensor.bytes.end()};
  }
  for (const Tensor& output : test.build(inputs)) module.outputs.push_back(output.node_in(module.graph));
  module.output_names = test.outputs;
  std::map<std::string, std::vector<std::byte>> results;
  const auto outputs = value_or_throw(test::run_graph(module, options, target, numerics));
  for (size_t i = 0; i < outputs.size(); ++i) results[test.outputs[i]] = outputs[i];
  return results;
}

double row_difference(const std::vector<float>& values, const std::vector<float>& expected,
                      const std::vector<int32_t>& lengths, int64_t frames) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (values.size() != expected.size()) return never;
  const size_t width = values.size() / (lengths.size() * static_cast<size_t>(frames));
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<int64_t>(i / width);
    if (row % frames >= lengths[static_cast<size_t>(row / frames)]) continue;
    const double difference = std::fabs(static_cast<double>(values[i]) - expected[i]);
    if (!(difference <= largest)) largest = std::isnan(difference) ? never : difference;
  }
  return largest;
}

}  // namespace tandem::testing
