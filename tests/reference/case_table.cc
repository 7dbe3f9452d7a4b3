#include "tests/reference/case_table.h"

#include <stdexcept>

#include "core/graph/constant.h"
#include "core/graph/text.h"

namespace tandem::reference {

Fill uniform(double low, double high, uint32_t seed) {
  Fill fill;
  fill.uniform = true;
  fill.low = low;
  fill.high = high;
  fill.seed = seed;
  return fill;
}

Fill values(std::vector<std::string> list) {
  Fill fill;
  fill.values = std::move(list);
  return fill;
}

Tensor CaseBuilder::input(Shape shape, DType dtype, Fill fill) {
  const auto number = static_cast<int32_t>(next_.inputs.size());
  next_.inputs.push_back(std::move(fill));
  return Tensor::input(graph_, number, std::string(1, static_cast<char>('a' + number)), dtype, std::move(shape));
}

Tensor CaseBuilder::weight(const std::string& name, const Shape& shape, DType dtype, const Fill& fill) {
  const auto count = static_cast<size_t>(element_count(shape).constant());
  const Tensor made = Tensor::constant(dtype, shape, constant_data(dtype, shape, fill.bytes(dtype, count), name));
  next_.constants[name] = fill;
  // The files of the cases know a constant by its name alone; constants of one content are one node.
  if (const auto [known, added] = weights_.emplace(name, made);
      !added && known->second.node_in(graph_) != made.node_in(graph_))
    throw std::logic_error("a case has two weights of the name \"" + name + "\"");
  return made;
}

void CaseBuilder::add(const std::string& name, Tolerance tolerance, const std::vector<Tensor>& outputs, bool denormals,
                      std::map<std::string, int64_t> variables) {
  GraphModule module{graph_, {}, {}};
  for (const Tensor& output : outputs) {
    module.outputs.push_back(output.node_in(graph_));
    module.output_names.push_back(outputs.size() == 1 ? "y" : "y" + std::to_string(module.outputs.size() - 1));
  }
  next_.name = name;
  next_.graph = print_graph(module);
  next_.tolerance = tolerance;
  next_.denormals = denormals;
  next_.variables = std::move(variables);
  cases_.push_back(std::move(next_));
  next_ = {};
  weights_.clear();
  graph_ = std::make_shared<Graph>();
}

std::map<std::string, std::string> case_files() {
  const struct {
    const char* file;
    const char* description;
    void (*add)(CaseBuilder&);
  } parts[] = {
      {"elementwise.json", "Elementwise operations on floats, special values included", add_elementwise_cases},
      {"integers.json", "Elementwise operations on integers and bool, at the ends of their ranges", add_integer_cases},
      {"casts.json", "Conversions between all dtypes, rounding, saturating and wrapping", add_cast_cases},
      {"movement.json", "Movement, concat, gather and leaves", add_movement_cases},
      {"reductions.json", "Reductions over odd sizes and any axes", add_reduction_cases},
      {"contractions.json", "Matrix products and convolutions", add_contraction_cases},
      {"networks.json", "Compositions of neural networks", add_network_cases},
      {"variables.json", "Graphs with symbolic sizes", add_variable_cases},
      {"found.json", "Graphs on which random search found an engine wrong", add_found_cases},
  };
  std::map<std::string, std::string> files;
  for (const auto& part : parts) {
    CaseBuilder builder;
    part.add(builder);
    files[part.file] = print_cases(part.description, builder.cases());
  }
  return files;
}

}  // namespace tandem::reference
