#include <cstdio>
#include <map>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/constant.h"
#include "core/graph/text.h"

namespace tandem {

namespace {

constexpr size_t largest_inline_constant = 16;

std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string number(DType dtype, double value) {
  return dtype == DType::kF64 ? number_text(value) : number_text(static_cast<float>(value));
}

std::string integer(DType dtype, int64_t value) {
  return dtype == DType::kU64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

std::string constant_text(const Node& node) {
  const ConstantData& data = *node.attributes.data;
  const size_t count = data.size / size_of(node.dtype);
  std::string out = " " + quoted(data.name);
  if (count > largest_inline_constant) {
    char hash[20];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(data.content_hash));
    return concat(out, " hash=", hash);
  }
  std::vector<std::string> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(is_float(node.dtype) ? number(node.dtype, constant_element(node.dtype, data.bytes, i))
                                          : integer(node.dtype, constant_integer(node.dtype, data.bytes, i)));
  return concat(out, " values=[", join(values), "]");
}

std::string attributes_text(const Node& node) {
  const Attributes& a = node.attributes;
  switch (node.op) {
    case Op::kInput:
      return concat(" number=", a.count, " ", quoted(a.name), a.size.empty() ? "" : " strides=" + text(a.size));
    case Op::kConstant:
      return constant_text(node);
    case Op::kScalar:
      return " value=" + (is_float(node.dtype) ? number(node.dtype, a.value) : integer(node.dtype, a.integer));
    case Op::kSize:
      return " of=" + text(a.size);
    case Op::kIota:
    case Op::kConcat:
    case Op::kGather:
    case Op::kLimit:
      return concat(" axis=", a.axis);
    case Op::kPermute:
      return concat(" order=[", join(a.order), "]");
    case Op::kFlip:
      return concat(" flags=[", join(a.order), "]");
    case Op::kPad:
    case Op::kReflectPad:
      return concat(" before=", text(a.begin), " after=", text(a.size));
    case Op::kShrink:
      return concat(" begin=", text(a.begin), " size=", text(a.size));
    case Op::kStride:
      return concat(" step=", text(a.size));
    case Op::kWindow:
      return concat(" axis=", a.axis, " size=", text(a.size), " step=", text(Shape{a.begin[0]}),
                    " dilation=", text(Shape{a.begin[1]}));
    case Op::kReduceSum:
    case Op::kReduceProd:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kContract:
      return concat(" count=", a.count);
    default:
      return {};
  }
}

std::string variables_text(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::map<std::string, Index> variables;
  const auto visit_all = [&](const std::vector<Index>& list) {
    for (const Index& entry : list)
      entry.for_each_leaf([&](const Index& leaf) {
        if (leaf.kind() == IndexKind::kVariable) variables.emplace(leaf.name(), leaf);
      });
  };
  for (const NodeId id : nodes) {
    visit_all(graph.node(id).shape);
    visit_all(graph.node(id).attributes.begin);
    visit_all(graph.node(id).attributes.size);
  }
  if (variables.empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, variable] : variables)
    parts.push_back(concat(variable.text(), ": ", variable.lower(), " .. ", variable.upper(),
                           variable.multiple() == 1 ? "" : concat(" multiple ", variable.multiple())));
  return concat("variables ", join(parts), "\n");
}

}  // namespace

std::string print_graph(const GraphModule& module, const TextOptions& options) {
  const Graph& graph = *module.graph;
  const std::vector<NodeId> nodes = reachable_nodes(graph, module.outputs);
  std::string out = variables_text(graph, nodes);
  std::map<NodeId, size_t> numbers;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    const size_t number = numbers.size();
    out += concat("%", number, " = ", name_of(node.op), " ", name_of(node.dtype), text(node.shape));
    for (size_t i = 0; i < node.operands.size(); i++)
      out += concat(i == 0 ? " %" : ", %", numbers.at(node.operands[i]));
    out += attributes_text(node);
    if (options.origins && !node.origin.empty()) out += "  # " + node.origin;
    out += '\n';
    numbers.emplace(id, number);
  }
  for (size_t i = 0; i < module.outputs.size(); i++)
    out += concat(i == 0 ? "outputs %" : ", %", numbers.at(module.outputs[i]), " ", quoted(module.output_names[i]));
  return out + "\n";
}

}  // namespace tandem
