#include "tests/reference/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/constant.h"
#include "tests/reference/evaluator.h"

namespace tandem::reference {

int64_t Evaluator::number(const Index& index) const {
  return index.evaluate([this](const Index& leaf) -> int64_t {
    const auto given = options_.variables.find(leaf.name());
    const int64_t value = given == options_.variables.end() ? leaf.upper() : given->second;
    if (value < leaf.lower() || value > leaf.upper())
      throw TensorError(
          concat("variable ", leaf.name(), " is ", value, ", outside ", leaf.lower(), " .. ", leaf.upper()),
          ErrorCode::kVariable);
    return value;
  });
}

Extents Evaluator::numbers(const std::vector<Index>& list) const {
  Extents out;
  for (const Index& entry : list) out.push_back(number(entry));
  return out;
}

Element Evaluator::load(const Value& value, int64_t offset) const {
  Element element;
  if (is_float(value.dtype))
    element.value = value.value_at(offset);
  else
    element.integer = value.integer_at(offset);
  element.error = value.error_at(offset);
  return element;
}

void Evaluator::store(Elements& out, DType dtype, Element element, double magnitude) const {
  if (is_float(dtype)) {
    if (options_.mode == Mode::kRounded) element.value = round_to(dtype, element.value);
    out.values.push_back(element.value);
  } else {
    out.integers.push_back(element.integer);
  }
  if (options_.mode == Mode::kRounded) return;
  out.error.push_back(element.error);
  out.magnitude.push_back(magnitude);
}

namespace {

double magnitude_of(DType dtype, const Element& element) {
  return is_float(dtype) ? std::fabs(element.value) : std::fabs(static_cast<double>(element.integer));
}

std::shared_ptr<Elements> decode(DType dtype, const std::byte* bytes, size_t count) {
  auto out = std::make_shared<Elements>();
  for (size_t i = 0; i < count; i++) {
    if (is_float(dtype))
      out->values.push_back(constant_element(dtype, bytes, i));
    else
      out->integers.push_back(constant_integer(dtype, bytes, i));
  }
  return out;
}

}  // namespace

Value Evaluator::input(const Node& node) const {
  const Extents shape = numbers(node.shape);
  const auto found = options_.inputs.find(node.attributes.count);
  const std::string what = concat("input ", node.attributes.count, " \"", node.attributes.name, "\"");
  if (found == options_.inputs.end()) throw TensorError(concat(what, " was not given"), ErrorCode::kNotFound);
  const Extents strides = node.attributes.size.empty() ? dense_strides(shape) : numbers(node.attributes.size);
  int64_t need = 1;
  for (size_t i = 0; i < shape.size(); i++) need = shape[i] == 0 ? 0 : need + (shape[i] - 1) * strides[i];
  if (count_of(shape) == 0) need = 0;
  const size_t have = found->second.size() / size_of(node.dtype);
  if (have < static_cast<size_t>(need))
    throw TensorError(concat(what, " has ", have, " elements, ", need, " are needed"));
  return Value{node.dtype, shape, strides, 0, decode(node.dtype, found->second.data(), have)};
}

Value Evaluator::leaf(const Node& node) const {
  auto out = std::make_shared<Elements>();
  switch (node.op) {
    case Op::kInput:
      return input(node);
    case Op::kConstant: {
      const ConstantData& data = *node.attributes.data;
      return dense(node.dtype, numbers(node.shape), decode(node.dtype, data.bytes, data.size / size_of(node.dtype)));
    }
    case Op::kScalar:
      if (is_float(node.dtype))
        out->values.push_back(node.attributes.value);
      else
        out->integers.push_back(node.attributes.integer);
      return dense(node.dtype, {}, std::move(out));
    case Op::kSize:
      out->integers.push_back(number(node.attributes.size[0]));
      return dense(node.dtype, {}, std::move(out));
    default: {
      const Extents shape = numbers(node.shape);
      const auto axis = static_cast<size_t>(node.attributes.axis);
      Value counted{node.dtype, shape, Extents(shape.size(), 0), 0, nullptr};
      counted.strides[axis] = 1;
      for (int64_t i = 0; i < shape[axis]; i++) out->integers.push_back(i);
      counted.elements = std::move(out);
      return counted;
    }
  }
}

Value Evaluator::elementwise(const Node& node) const {
  std::vector<const Value*> operands;
  for (const NodeId operand : node.operands) operands.push_back(&values_.at(operand));
  const DType from = operands[node.op == Op::kWhere ? 1 : 0]->dtype;
  auto out = std::make_shared<Elements>();
  for (Walker walker(operands[0]->shape, operands); !walker.done(); walker.next()) {
    Element arguments[3];
    for (size_t i = 0; i < operands.size(); i++) arguments[i] = load(*operands[i], walker.offset(i));
    const Element result = compute(node.op, from, node.dtype, arguments[0], arguments[1], arguments[2]);
    store(*out, node.dtype, result, magnitude_of(node.dtype, result));
  }
  return dense(node.dtype, operands[0]->shape, std::move(out));
}

namespace {

double neutral(Op op) {
  const double infinity = std::numeric_limits<double>::infinity();
  return op == Op::kReduceProd ? 1 : op == Op::kReduceMax ? -infinity : op == Op::kReduceMin ? infinity : 0;
}

int64_t neutral_integer(Op op, DType dtype) {
  if (op == Op::kReduceSum || op == Op::kContract) return 0;
  if (op == Op::kReduceProd) return 1;
  const int bits = dtype == DType::kBool ? 1 : static_cast<int>(size_of(dtype)) * 8;
  const bool lowest = op == Op::kReduceMax;
  if (is_unsigned(dtype) || dtype == DType::kBool) return lowest ? 0 : (bits == 64 ? -1 : (int64_t{1} << bits) - 1);
  const int64_t low = bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
  return lowest ? low : ~low;
}

Op step_of(Op op) {
  switch (op) {
    case Op::kReduceProd:
      return Op::kMul;
    case Op::kReduceMax:
      return Op::kMax;
    case Op::kReduceMin:
      return Op::kMin;
    default:
      return Op::kAdd;
  }
}

/// Splits the last axes off a view: what is left, and the part that is reduced.
std::pair<Value, Value> split_reduced(const Value& value, size_t count) {
  Value kept = value, reduced = value;
  const auto cut = static_cast<std::ptrdiff_t>(value.shape.size() - count);
  kept.shape.assign(value.shape.begin(), value.shape.begin() + cut);
  kept.strides.assign(value.strides.begin(), value.strides.begin() + cut);
  reduced.shape.assign(value.shape.begin() + cut, value.shape.end());
  reduced.strides.assign(value.strides.begin() + cut, value.strides.end());
  reduced.offset = 0;
  return {std::move(kept), std::move(reduced)};
}

/// Half precision accumulates in f32 and rounds once at the end.
DType accumulator(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

}  // namespace

Value Evaluator::reduction(const Node& node) const {
  const Value& operand = values_.at(node.operands[0]);
  const auto [kept, reduced] = split_reduced(operand, static_cast<size_t>(node.attributes.count));
  const Op step = step_of(node.op);
  const DType inner = accumulator(node.dtype);
  const double terms = static_cast<double>(reduced.count());
  auto out = std::make_shared<Elements>();
  for (Walker outer(kept.shape, {&kept}); !outer.done(); outer.next()) {
    Element total;
    total.value = neutral(node.op);
    total.integer = neutral_integer(node.op, node.dtype);
    double magnitude = 0, error = 0;
    bool first = true;
    for (Walker walk(reduced.shape, {&reduced}); !walk.done(); walk.next()) {
      const Element x = load(operand, outer.offset(0) + walk.offset(0));
      magnitude += std::fabs(x.value);
      error += x.error;
      total = first ? x : compute(step, inner, inner, total, x, {});
      if (node.dtype == DType::kBool) total.integer &= 1;
      first = false;
    }
    if (node.op == Op::kReduceSum && is_float(node.dtype)) {
      // The order of a sum is free: count the roundings of the worst one. This sum of f64 has as many of its own.
      const double roundings = inner == DType::kF64 ? 2 * terms : terms;
      total.error =
          error + (roundings * half_ulp(inner) + half_ulp(node.dtype)) * magnitude + smallest_normal(node.dtype);
      if (!std::isfinite(total.value)) total.error = error == 0 ? 0 : std::numeric_limits<double>::infinity();
    } else {
      magnitude = magnitude_of(node.dtype, total);
      if (inner != node.dtype) total.error += half_ulp(node.dtype) * magnitude;
    }
    settle_range(node.dtype, total);
    store(*out, node.dtype, total, magnitude);
  }
  return dense(node.dtype, kept.shape, std::move(out));
}

void Evaluator::settle_range(DType dtype, Element& element) {
  if (!is_float(dtype) || !std::isfinite(element.value)) return;
  if (!std::isinf(round_to(dtype, std::fabs(element.value) + element.error))) return;
  element.value = round_to(dtype, element.value);
  element.error = std::numeric_limits<double>::infinity();
}

Value Evaluator::contraction(const Node& node) const {
  const Value& left = values_.at(node.operands[0]);
  const Value& right = values_.at(node.operands[1]);
  const auto count = static_cast<size_t>(node.attributes.count);
  const auto [left_kept, left_reduced] = split_reduced(left, count);
  const auto [right_kept, right_reduced] = split_reduced(right, count);
  auto out = std::make_shared<Elements>();
  for (Walker outer(left_kept.shape, {&left_kept, &right_kept}); !outer.done(); outer.next()) {
    Walker inner(left_reduced.shape, {&left_reduced, &right_reduced});
    double magnitude = 0;
    const Element total = is_float(node.dtype) ? float_products(node.dtype, left, right, outer, inner, magnitude)
                                               : integer_products(node.dtype, left, right, outer, inner, magnitude);
    store(*out, node.dtype, total, magnitude);
  }
  return dense(node.dtype, left_kept.shape, std::move(out));
}

Element Evaluator::float_products(DType dtype, const Value& left, const Value& right, const Walker& outer,
                                  Walker& inner, double& magnitude) const {
  Element total;
  double terms = 0, error = 0;
  const bool inexact = !left.elements->error.empty() || !right.elements->error.empty();
  for (; !inner.done(); inner.next()) {
    const int64_t at_left = outer.offset(0) + inner.offset(0);
    const int64_t at_right = outer.offset(1) + inner.offset(1);
    const double x = left.value_at(at_left), y = right.value_at(at_right);
    total.value += x * y;
    magnitude += std::fabs(x * y);
    terms++;
    if (!inexact) continue;
    const double dx = left.error_at(at_left), dy = right.error_at(at_right);
    if (dx != 0) error += dx * (std::fabs(y) + dy);
    if (dy != 0) error += dy * std::fabs(x);
  }
  const DType wide = accumulator(dtype);
  total.error = error + (2 * terms * half_ulp(wide) + (wide == dtype ? 0 : half_ulp(dtype))) * magnitude +
                (terms + 1) * smallest_normal(dtype);
  if (!std::isfinite(total.value) || std::isnan(total.error))
    total.error = error == 0 && !std::isfinite(total.value) ? 0 : std::numeric_limits<double>::infinity();
  settle_range(dtype, total);
  return total;
}

Element Evaluator::integer_products(DType dtype, const Value& left, const Value& right, const Walker& outer,
                                    Walker& inner, double& magnitude) const {
  Element total;
  for (; !inner.done(); inner.next()) {
    const Element x = load(left, outer.offset(0) + inner.offset(0));
    const Element y = load(right, outer.offset(1) + inner.offset(1));
    total = compute(Op::kAdd, dtype, dtype, total, compute(Op::kMul, dtype, dtype, x, y, {}), {});
  }
  magnitude = magnitude_of(dtype, total);
  return total;
}

void Evaluator::run(const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes) {
    const Node& node = graph_.node(id);
    switch (info(node.op).op_class) {
      case OpClass::kLeaf:
        values_[id] = leaf(node);
        break;
      case OpClass::kMovement:
        values_[id] = node.op == Op::kGather  ? gathering(node)
                      : node.op == Op::kLimit ? limiting(node)
                                              : movement(node);
        break;
      case OpClass::kNary:
        values_[id] = concatenation(node);
        break;
      case OpClass::kReduce:
        values_[id] = reduction(node);
        break;
      case OpClass::kContract:
        values_[id] = contraction(node);
        break;
      default:
        values_[id] = elementwise(node);
    }
    TANDEM_CHECK(values_[id].shape == numbers(node.shape), concat("the reference's shape of ", name_of(node.op)));
  }
}

std::vector<NodeId> Evaluator::missing(NodeId id) const {
  std::vector<NodeId> nodes = reachable_nodes(graph_, std::span(&id, 1));
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [this](NodeId node) { return values_.count(node) != 0; }),
              nodes.end());
  return nodes;
}

ReferenceResult Evaluator::result(NodeId id) const {
  const Value value = materialise(values_.at(id));
  ReferenceResult out;
  out.dtype = value.dtype;
  out.shape = value.shape;
  out.values = value.elements->values;
  out.integers = value.elements->integers;
  if (!is_float(value.dtype))
    for (const int64_t integer : out.integers)
      out.values.push_back(value.dtype == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(integer))
                                                      : static_cast<double>(integer));
  out.error = value.elements->error;
  out.magnitude = value.elements->magnitude;
  if (out.error.empty()) out.error.assign(out.values.size(), 0);
  if (out.magnitude.empty())
    for (const double entry : out.values) out.magnitude.push_back(std::fabs(entry));
  return out;
}

std::vector<ReferenceResult> evaluate(const GraphModule& module, const Options& options) {
  Evaluator evaluator(*module.graph, options);
  evaluator.run(reachable_nodes(*module.graph, module.outputs));
  std::vector<ReferenceResult> results;
  for (const NodeId output : module.outputs) results.push_back(evaluator.result(output));
  return results;
}

}  // namespace tandem::reference
