#include "core/graph/infer.h"

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/half.h"
#include "core/base/text.h"

namespace tandem {
namespace infer_detail {

std::string Inference::subject() const {
  std::string out = name_of(node.op);
  for (size_t i = 0; i < node.operands.size(); i++) {
    const Node& from = operand(i);
    out += concat(i == 0 ? " " : ", ", name_of(from.dtype), text(from.shape));
    if (from.op == Op::kInput) out += concat(" \"", from.attributes.name, "\"");
  }
  return out;
}

void Inference::fail(const std::string& problem) const { throw TensorError(concat(subject(), ": ", problem)); }

void Inference::require_per_axis(size_t entries, const char* list) const {
  const size_t rank = operand(0).shape.size();
  if (entries != rank) fail(concat(list, " has ", entries, " entries; give one for each of the ", rank, " axes"));
}

void Inference::fail_bound(const Index& value, int64_t low, const std::string& what) const {
  fail(concat(what, " is ", value.text(), ", but must be at least ", low,
              value.is_constant() || less_equal(low, value) == Truth::kNever
                  ? ""
                  : "; this cannot be proven for all values of the variables: tighten their bounds or use min() and "
                    "max() in the expression"));
}

int32_t Inference::require_axis(int32_t axis, size_t rank) const {
  if (axis < 0 || static_cast<size_t>(axis) >= rank)
    fail(concat("axis ", axis, " does not exist; use 0 .. ", static_cast<int64_t>(rank) - 1));
  return axis;
}

namespace {

double canonical_value(DType dtype, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::quiet_NaN();
  switch (dtype) {
    case DType::kF16:
      return static_cast<double>(f32_from_f16(f16_from_f32(static_cast<float>(value))));
    case DType::kBF16:
      return static_cast<double>(f32_from_bf16(bf16_from_f32(static_cast<float>(value))));
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

int64_t canonical_integer(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? 1 : 0;
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kI16:
      return static_cast<int16_t>(value);
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kU16:
      return static_cast<uint16_t>(value);
    case DType::kU32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

void infer_constant(Inference& inference, const Shape& shape) {
  const ConstantData* data = inference.node.attributes.data.get();
  inference.require(data != nullptr, "has no data");
  inference.require(is_constant(shape), "a constant has numbers as dimensions, not symbolic variables");
  const int64_t need = element_count(shape).constant() * static_cast<int64_t>(size_of(inference.node.dtype));
  if (static_cast<int64_t>(data->size) != need)
    inference.fail(concat("\"", data->name, "\" has ", data->size, " bytes, but ", name_of(inference.node.dtype),
                          text(shape), " needs ", need));
}

}  // namespace

void infer_leaf(Inference& inference, DType dtype, Shape shape) {
  Node& node = inference.node;
  Attributes given = std::move(node.attributes);
  node.attributes = {};
  node.dtype = dtype;
  for (const Dim& dim : shape)
    if (less_equal(0, dim) != Truth::kAlways)
      inference.fail(concat("shape ", text(shape), " has a negative dimension"));
  switch (node.op) {
    case Op::kInput:
      node.attributes.count = given.count;
      node.attributes.name = std::move(given.name);
      node.attributes.size = std::move(given.size);
      inference.require(node.attributes.count >= 0, "the number of an input is 0 or more");
      if (!node.attributes.size.empty() && node.attributes.size.size() != shape.size())
        inference.fail(concat("\"", node.attributes.name, "\" has ", node.attributes.size.size(), " strides for shape ",
                              text(shape), "; give one for each axis, or none"));
      break;
    case Op::kConstant:
      node.attributes.data = std::move(given.data);
      infer_constant(inference, shape);
      break;
    case Op::kScalar:
      inference.require(shape.empty(), "a scalar has shape []; use expand for more");
      if (is_float(dtype))
        node.attributes.value = canonical_value(dtype, given.value);
      else
        node.attributes.integer = canonical_integer(dtype, given.integer);
      break;
    case Op::kSize:
      inference.require(given.size.size() == 1, "takes one expression, in attributes.size");
      inference.require(shape.empty(), "has shape []");
      node.attributes.size = std::move(given.size);
      node.dtype = DType::kI64;
      break;
    default:
      node.attributes.axis = inference.require_axis(given.axis, shape.size());
      node.dtype = DType::kI64;
  }
  node.shape = std::move(shape);
}

namespace {

bool has_no_bool_meaning(Op op) {
  return op == Op::kNeg || op == Op::kAbs || op == Op::kSub || op == Op::kDiv || op == Op::kMod || op == Op::kShl ||
         op == Op::kShr;
}

void require_equal_dtypes(const Inference& inference, size_t first) {
  for (size_t i = first + 1; i < inference.node.operands.size(); i++)
    if (inference.operand(i).dtype != inference.operand(first).dtype)
      inference.fail(concat("operands have dtypes ", name_of(inference.operand(first).dtype), " and ",
                            name_of(inference.operand(i).dtype), "; cast one of them"));
}

void require_equal_shapes(const Inference& inference) {
  for (size_t i = 1; i < inference.node.operands.size(); i++)
    if (!same(inference.operand(0).shape, inference.operand(i).shape))
      inference.fail(concat("operands have shapes ", text(inference.operand(0).shape), " and ",
                            text(inference.operand(i).shape), "; make them equal with reshape and expand"));
}

void infer_bitcast(Inference& inference, DType dtype) {
  const DType from = inference.operand(0).dtype;
  if (size_of(from) != size_of(dtype) || dtype == DType::kBool)
    inference.fail(concat("cannot read ", name_of(from), " as ", name_of(dtype),
                          dtype == DType::kBool ? "; use cast or a comparison" : "; both need the same size"));
}

}  // namespace

void infer_elementwise(Inference& inference, DType dtype) {
  Node& node = inference.node;
  node.attributes = {};
  require_equal_shapes(inference);
  node.shape = inference.operand(0).shape;
  const DType first = inference.operand(0).dtype;
  const TypeRule rule = info(node.op).type_rule;
  if (rule == TypeRule::kGiven) {
    if (node.op == Op::kBitcast) infer_bitcast(inference, dtype);
    node.dtype = dtype;
    return;
  }
  if (rule == TypeRule::kSelect) {
    if (first != DType::kBool)
      inference.fail(concat("the condition is ", name_of(first), "; make it bool with a comparison or cast"));
    require_equal_dtypes(inference, 1);
    node.dtype = inference.operand(1).dtype;
    return;
  }
  require_equal_dtypes(inference, 0);
  if (rule == TypeRule::kFloat && !is_float(first))
    inference.fail(concat("works on floats, not on ", name_of(first), "; cast to a float dtype first"));
  if (rule == TypeRule::kInteger && is_float(first))
    inference.fail(concat("works on integers and bool, not on ", name_of(first), "; cast to an integer dtype first"));
  if (first == DType::kBool && has_no_bool_meaning(node.op))
    inference.fail("has no meaning for bool; cast to an integer dtype, or use not, and, or, xor");
  node.dtype = rule == TypeRule::kCompare ? DType::kBool : first;
}

void infer_reduction(Inference& inference) {
  Node& node = inference.node;
  const int32_t count = node.attributes.count;
  node.attributes = {};
  node.attributes.count = count;
  require_equal_dtypes(inference, 0);
  require_equal_shapes(inference);
  const Shape& shape = inference.operand(0).shape;
  if (count < 1 || static_cast<size_t>(count) > shape.size())
    inference.fail(
        concat("cannot reduce the last ", count, " of ", shape.size(), " axes; reduce at least 1 and at most all"));
  node.shape.assign(shape.begin(), shape.end() - count);
  node.dtype = inference.operand(0).dtype;
}

}  // namespace infer_detail

Node infer_node(const Graph& graph, Op op, std::span<const NodeId> operands, Attributes attributes, DType dtype,
                Shape shape) {
  Node node{op, dtype, {}, {operands.begin(), operands.end()}, std::move(attributes), {}};
  infer_detail::Inference inference{graph, node};
  const OpInfo& row = info(op);
  if (row.arity >= 0 && operands.size() != static_cast<size_t>(row.arity))
    inference.fail(concat("takes ", static_cast<int>(row.arity), " operands, not ", operands.size()));
  if (row.arity < 0 && operands.empty()) inference.fail("takes one or more operands");
  switch (row.op_class) {
    case OpClass::kLeaf:
      infer_detail::infer_leaf(inference, dtype, std::move(shape));
      break;
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kTernary:
      infer_detail::infer_elementwise(inference, dtype);
      break;
    case OpClass::kMovement:
      if (op == Op::kGather)
        infer_detail::infer_gather(inference);
      else if (op == Op::kLimit)
        infer_detail::infer_limit(inference);
      else
        infer_detail::infer_movement(inference, std::move(shape));
      break;
    case OpClass::kNary:
      infer_detail::infer_concat(inference);
      break;
    case OpClass::kReduce:
    case OpClass::kContract:
      infer_detail::infer_reduction(inference);
      break;
  }
  return node;
}

}  // namespace tandem
