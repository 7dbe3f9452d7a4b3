#include <cmath>
#include <limits>

#include "tests/reference/evaluator.h"

namespace tandem::reference {

void Evaluator::copy(Elements& out, const Value& from, int64_t offset) {
  const auto at = static_cast<size_t>(offset);
  if (is_float(from.dtype))
    out.values.push_back(from.elements->values[at]);
  else
    out.integers.push_back(from.elements->integers[at]);
  const double number = is_float(from.dtype) ? out.values.back() : static_cast<double>(out.integers.back());
  out.error.push_back(from.error_at(offset));
  out.magnitude.push_back(from.elements->magnitude.empty() ? std::fabs(number) : from.elements->magnitude[at]);
}

Value Evaluator::movement(const Node& node) const {
  Value value = values_.at(node.operands[0]);
  const Attributes& attributes = node.attributes;
  const Extents shape = numbers(node.shape);
  switch (node.op) {
    case Op::kReshape:
      return reshape(value, shape);
    case Op::kExpand:
      for (size_t i = 0; i < shape.size(); i++)
        if (value.shape[i] != shape[i]) value.strides[i] = 0;
      break;
    case Op::kPermute: {
      const Extents strides = value.strides;
      for (size_t i = 0; i < shape.size(); i++) value.strides[i] = strides[static_cast<size_t>(attributes.order[i])];
      break;
    }
    case Op::kShrink:
      for (size_t i = 0; i < shape.size(); i++) value.offset += number(attributes.begin[i]) * value.strides[i];
      break;
    case Op::kStride:
      for (size_t i = 0; i < shape.size(); i++) value.strides[i] *= number(attributes.size[i]);
      break;
    case Op::kFlip:
      for (size_t i = 0; i < shape.size(); i++) {
        if (attributes.order[i] == 0) continue;
        value.offset += (shape[i] - 1) * value.strides[i];
        value.strides[i] = -value.strides[i];
      }
      break;
    case Op::kWindow: {
      const int64_t stride = value.strides[static_cast<size_t>(attributes.axis)];
      value.strides[static_cast<size_t>(attributes.axis)] = stride * number(attributes.begin[0]);
      value.strides.push_back(stride * number(attributes.begin[1]));
      break;
    }
    default:
      return padding(node);
  }
  value.shape = shape;
  return value;
}

Value Evaluator::padding(const Node& node) const {
  const Value& value = values_.at(node.operands[0]);
  const Extents before = numbers(node.attributes.begin);
  const Extents shape = numbers(node.shape);
  auto out = std::make_shared<Elements>();
  for (Walker walker(shape, {}); !walker.done(); walker.next()) {
    int64_t offset = value.offset;
    bool inside = true;
    for (size_t i = 0; i < shape.size(); i++) {
      int64_t at = walker.position()[i] - before[i];
      if (node.op == Op::kReflectPad) {
        if (at < 0) at = -at;
        if (at >= value.shape[i]) at = 2 * (value.shape[i] - 1) - at;
      }
      inside = inside && at >= 0 && at < value.shape[i];
      offset += at * value.strides[i];
    }
    if (inside) {
      copy(*out, value, offset);
    } else {
      const Value& fill = values_.at(node.operands[1]);
      copy(*out, fill, fill.offset);
    }
  }
  return dense(node.dtype, shape, std::move(out));
}

Value Evaluator::concatenation(const Node& node) const {
  const auto axis = static_cast<size_t>(node.attributes.axis);
  const Extents shape = numbers(node.shape);
  auto out = std::make_shared<Elements>();
  for (Walker walker(shape, {}); !walker.done(); walker.next()) {
    int64_t along = walker.position()[axis];
    size_t piece = 0;
    while (along >= values_.at(node.operands[piece]).shape[axis])
      along -= values_.at(node.operands[piece++]).shape[axis];
    const Value& from = values_.at(node.operands[piece]);
    int64_t offset = from.offset;
    for (size_t i = 0; i < shape.size(); i++) offset += (i == axis ? along : walker.position()[i]) * from.strides[i];
    copy(*out, from, offset);
  }
  return dense(node.dtype, shape, std::move(out));
}

Value Evaluator::gathering(const Node& node) const {
  const Value& from = values_.at(node.operands[0]);
  const Value& indices = values_.at(node.operands[1]);
  const auto axis = static_cast<size_t>(node.attributes.axis);
  const size_t index_rank = indices.shape.size();
  const Extents shape = numbers(node.shape);
  auto out = std::make_shared<Elements>();
  for (Walker walker(shape, {}); !walker.done(); walker.next()) {
    const Extents& position = walker.position();
    int64_t index_offset = indices.offset;
    for (size_t i = 0; i < index_rank; i++) index_offset += position[axis + i] * indices.strides[i];
    const int64_t index = indices.integer_at(index_offset);
    int64_t offset = from.offset + index * from.strides[axis];
    for (size_t i = 0; i < from.shape.size(); i++)
      if (i != axis) offset += position[i < axis ? i : i + index_rank - 1] * from.strides[i];
    if (index >= 0 && index < from.shape[axis]) {
      copy(*out, from, offset);
    } else {
      if (is_float(node.dtype))
        out->values.push_back(0);
      else
        out->integers.push_back(0);
      out->error.push_back(0);
      out->magnitude.push_back(0);
    }
    if (indices.error_at(index_offset) != 0) out->error.back() = std::numeric_limits<double>::infinity();
  }
  return dense(node.dtype, shape, std::move(out));
}

Value Evaluator::limiting(const Node& node) const {
  const Value& from = values_.at(node.operands[0]);
  const Value& lengths = values_.at(node.operands[1]);
  const Value& fill = values_.at(node.operands[2]);
  const auto axis = static_cast<size_t>(node.attributes.axis);
  auto out = std::make_shared<Elements>();
  for (Walker walker(from.shape, {&from}); !walker.done(); walker.next()) {
    int64_t length_offset = lengths.offset;
    for (size_t i = 0; i < lengths.shape.size(); i++) length_offset += walker.position()[i] * lengths.strides[i];
    const bool inside = walker.position()[axis] < lengths.integer_at(length_offset);
    copy(*out, inside ? from : fill, inside ? walker.offset(0) : fill.offset);
    if (lengths.error_at(length_offset) != 0) out->error.back() = std::numeric_limits<double>::infinity();
  }
  return dense(node.dtype, from.shape, std::move(out));
}

}  // namespace tandem::reference
