#include "tests/reference/cases.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/constant.h"
#include "core/graph/text.h"

namespace tandem::reference {

using Json = nlohmann::json;

std::vector<std::byte> Fill::bytes(DType dtype, size_t count) const {
  std::vector<std::byte> out;
  Random random(seed);
  for (size_t i = 0; i < count; i++) {
    if (uniform) {
      if (is_float(dtype))
        append_element(out, dtype, random.uniform(low, high));
      else
        append_integer(out, dtype, static_cast<int64_t>(std::floor(random.uniform(low, high + 1))));
      continue;
    }
    const std::string& value = values[i % values.size()];
    if (is_float(dtype))
      append_element(out, dtype, std::strtod(value.c_str(), nullptr));
    else
      append_integer(out, dtype,
                     value.front() == '-' ? std::strtoll(value.c_str(), nullptr, 10)
                                          : static_cast<int64_t>(std::strtoull(value.c_str(), nullptr, 10)));
  }
  return out;
}

namespace {

Fill read_fill(const Json& json) {
  Fill fill;
  if (json.contains("uniform")) {
    fill.uniform = true;
    fill.low = json["uniform"].at(0).get<double>();
    fill.high = json["uniform"].at(1).get<double>();
    fill.seed = json.at("seed").get<uint32_t>();
    return fill;
  }
  for (const Json& value : json.at("values"))
    fill.values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  if (fill.values.empty()) throw TensorError("a fill has no values", ErrorCode::kInvalidFormat);
  return fill;
}

Case read_case(const Json& json) {
  Case out;
  out.name = json.at("name").get<std::string>();
  for (const Json& line : json.at("graph")) out.graph += line.get<std::string>() + "\n";
  for (const Json& fill : json.at("inputs")) out.inputs.push_back(read_fill(fill));
  if (json.contains("constants"))
    for (const auto& [name, fill] : json["constants"].items()) out.constants[name] = read_fill(fill);
  if (json.contains("variables")) out.variables = json["variables"].get<std::map<std::string, int64_t>>();
  const auto tolerance = json.at("tolerance").get<std::string>();
  if (tolerance != "exact" && tolerance != "bounded")
    throw TensorError("tolerance is \"" + tolerance + "\"; use exact or bounded", ErrorCode::kInvalidFormat);
  out.tolerance = tolerance == "exact" ? Tolerance::kExact : Tolerance::kBounded;
  out.denormals = json.value("denormals", false);
  return out;
}

/// A value as a JSON number where JSON and JavaScript can hold it, else as a string.
std::string value_text(const std::string& value) {
  const double number = std::strtod(value.c_str(), nullptr);
  const bool plain = std::isfinite(number) && value != "-0" &&
                     value.find_first_not_of("0123456789.e-+") == std::string::npos &&
                     (std::fabs(number) < 0x1p53 || value.find_first_of(".e") != std::string::npos);
  return plain ? value : "\"" + value + "\"";
}

std::string fill_text(const Fill& fill) {
  if (fill.uniform) return concat("{\"uniform\": [", fill.low, ", ", fill.high, "], \"seed\": ", fill.seed, "}");
  std::vector<std::string> values;
  for (const std::string& value : fill.values) values.push_back(value_text(value));
  return concat("{\"values\": [", join(values), "]}");
}

std::string case_text(const Case& from) {
  std::string out = concat("    {\n      \"name\": ", Json(from.name).dump(), ",\n      \"graph\": [");
  std::istringstream lines(from.graph);
  std::string line;
  for (bool first = true; std::getline(lines, line); first = false)
    out += concat(first ? "\n        " : ",\n        ", Json(line).dump());
  out += "\n      ],\n      \"inputs\": [";
  for (size_t i = 0; i < from.inputs.size(); i++) out += concat(i == 0 ? "" : ", ", fill_text(from.inputs[i]));
  out += "],\n";
  if (!from.constants.empty()) {
    std::vector<std::string> parts;
    for (const auto& [name, fill] : from.constants) parts.push_back(concat(Json(name).dump(), ": ", fill_text(fill)));
    out += concat("      \"constants\": {", join(parts), "},\n");
  }
  if (!from.variables.empty()) out += concat("      \"variables\": ", Json(from.variables).dump(), ",\n");
  if (from.denormals) out += "      \"denormals\": true,\n";
  return concat(out, "      \"tolerance\": \"", from.tolerance == Tolerance::kExact ? "exact" : "bounded", "\"\n    }");
}

}  // namespace

std::vector<Case> parse_cases(std::string_view json) {
  const Json document = Json::parse(json);
  std::vector<Case> cases;
  for (const Json& entry : document.at("cases")) {
    try {
      cases.push_back(read_case(entry));
    } catch (const std::exception& error) {
      throw TensorError(concat("case ", entry.value("name", "without a name"), ": ", error.what()),
                        ErrorCode::kInvalidFormat);
    }
  }
  return cases;
}

std::vector<Case> load_cases(const std::string& source_folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_folder) / "tests/cases"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    std::stringstream text;
    text << stream.rdbuf();
    for (Case& entry : parse_cases(text.str())) cases.push_back(std::move(entry));
  }
  return cases;
}

std::string print_cases(const std::string& description, const std::vector<Case>& cases) {
  std::string out = concat("{\n  \"description\": ", Json(description).dump(), ",\n  \"cases\": [\n");
  for (size_t i = 0; i < cases.size(); i++) out += concat(case_text(cases[i]), i + 1 < cases.size() ? ",\n" : "\n");
  return out + "  ]\n}\n";
}

LoadedCase load(const Case& from) {
  LoadedCase out;
  out.options.variables = from.variables;
  const auto resolve = [&](std::string_view name, DType dtype,
                           const Shape& shape) -> std::shared_ptr<const ConstantData> {
    const auto found = from.constants.find(std::string(name));
    if (found == from.constants.end()) return nullptr;
    const auto count = static_cast<size_t>(element_count(shape).constant());
    return constant_data(dtype, shape, found->second.bytes(dtype, count), std::string(name));
  };
  try {
    out.module = parse_graph(from.graph, resolve);
  } catch (const TensorError& error) {
    throw TensorError(concat("case ", from.name, ": ", error.what()), error.code());
  }
  for (const NodeId id : reachable_nodes(*out.module.graph, out.module.outputs)) {
    const Node& node = out.module.graph->node(id);
    if (node.op != Op::kInput) continue;
    const auto number = static_cast<size_t>(node.attributes.count);
    if (number >= from.inputs.size()) throw TensorError(concat("case ", from.name, " has no fill for input ", number));
    // An input with variables in its shape is dense in its live shape; the maximum is always enough.
    size_t count = 1;
    for (const int64_t size : maximum(node.shape)) count *= static_cast<size_t>(size);
    out.options.inputs[node.attributes.count] = from.inputs[number].bytes(node.dtype, count);
  }
  return out;
}

namespace {

Fill fill_of(const GraphModule& module, NodeId node, const Options& options) {
  const ReferenceResult values = evaluate({module.graph, {node}, {"value"}}, options)[0];
  Fill fill;
  for (const int64_t integer : values.integers) fill.values.push_back(std::to_string(integer));
  if (values.integers.empty())
    for (const double value : values.values) fill.values.push_back(number_text(value));
  return fill;
}

}  // namespace

Case as_case(const std::string& name, const RandomGraph& graph, const std::map<std::string, int64_t>& variables) {
  Case out;
  out.name = name;
  out.graph = print_graph(graph.module);
  out.variables = variables;
  const Options options{Mode::kRounded, {}, graph.inputs};
  for (const NodeId id : reachable_nodes(*graph.module.graph, graph.module.outputs)) {
    const Node& node = graph.module.graph->node(id);
    if (node.op == Op::kConstant && !node.attributes.data->name.empty())
      out.constants[node.attributes.data->name] = fill_of(graph.module, id, options);
    if (node.op != Op::kInput) continue;
    const auto number = static_cast<size_t>(node.attributes.count);
    if (out.inputs.size() <= number) out.inputs.resize(number + 1);
    out.inputs[number] = fill_of(graph.module, id, options);
  }
  return out;
}

}  // namespace tandem::reference
