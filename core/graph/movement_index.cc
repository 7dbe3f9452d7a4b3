#include "core/graph/movement_index.h"

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

bool is_rearrangement(Op op) {
  switch (op) {
    case Op::kReshape:
    case Op::kPermute:
    case Op::kExpand:
    case Op::kShrink:
    case Op::kStride:
    case Op::kFlip:
    case Op::kWindow:
      return true;
    default:
      return false;
  }
}

NodeId below_rearrangements(const Graph& graph, NodeId id) {
  while (is_rearrangement(graph.node(id).op)) id = graph.node(id).operands[0];
  return id;
}

bool shows_bfloat16(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.op == Op::kCast && node.dtype == DType::kF32 && graph.node(node.operands[0]).dtype == DType::kBF16;
}

Index divisor(const Index& size) { return less(0, size) == Truth::kAlways ? size : max(size, 1); }

Index flat_offset(const std::vector<Index>& index, const Shape& strides) {
  Index offset = 0;
  for (size_t axis = 0; axis < index.size(); axis++) offset += index[axis] * strides[axis];
  return offset;
}

namespace {

/// Splits the row-major number `linear` over the axes [first, last) of `shape`.
void unflatten(const Index& linear, const Shape& shape, size_t first, size_t last, std::vector<Index>& result) {
  Index rest = linear;
  for (size_t axis = last; axis-- > first + 1;) {
    result[axis] = floor_mod(rest, divisor(shape[axis]));
    rest = floor_div(rest, divisor(shape[axis]));
  }
  if (last > first) result[first] = rest;
}

}  // namespace

std::vector<Index> reshape_index(const std::vector<Index>& index, const Shape& from, const Shape& to) {
  std::vector<Index> result(to.size());
  size_t i = 0, k = 0;
  while (i < from.size() || k < to.size()) {
    // The smallest groups of axes [i, i_end) and [k, k_end) that hold equally many elements.
    size_t i_end = i, k_end = k;
    Index count_from = 1, count_to = 1;
    do {
      const bool take_from = i_end < from.size() &&
                             (k_end >= to.size() || i_end == i || less_equal(count_from, count_to) == Truth::kAlways);
      if (take_from && !(i_end > i && same(count_from, count_to)))
        count_from *= from[i_end++];
      else if (k_end < to.size())
        count_to *= to[k_end++];
      else
        break;
    } while (!(same(count_from, count_to) && i_end > i && k_end > k) && (i_end < from.size() || k_end < to.size()));
    Index linear = 0;
    for (size_t axis = i; axis < i_end; axis++) linear = linear * from[axis] + index[axis];
    unflatten(linear, to, k, k_end, result);
    i = i_end;
    k = k_end;
  }
  return result;
}

std::vector<Index> operand_index(const Graph& graph, const Node& node, const std::vector<Index>& index) {
  const Shape& operand_shape = graph.node(node.operands[0]).shape;
  std::vector<Index> result = index;
  switch (node.op) {
    case Op::kReshape:
      return reshape_index(index, node.shape, operand_shape);
    case Op::kPermute:
      for (size_t axis = 0; axis < index.size(); axis++) result[node.attributes.order[axis]] = index[axis];
      return result;
    case Op::kExpand:
      for (size_t axis = 0; axis < index.size(); axis++)
        if (operand_shape[axis].is(1)) result[axis] = 0;
      return result;
    case Op::kShrink:
      for (size_t axis = 0; axis < index.size(); axis++) result[axis] += node.attributes.begin[axis];
      return result;
    case Op::kStride:
      for (size_t axis = 0; axis < index.size(); axis++) result[axis] *= node.attributes.size[axis];
      return result;
    case Op::kFlip:
      for (size_t axis = 0; axis < index.size(); axis++)
        if (node.attributes.order[axis]) result[axis] = operand_shape[axis] - 1 - index[axis];
      return result;
    case Op::kWindow: {
      result.pop_back();
      const size_t axis = static_cast<size_t>(node.attributes.axis);
      result[axis] = index[axis] * node.attributes.begin[0] + index.back() * node.attributes.begin[1];
      return result;
    }
    default:
      break;
  }
  throw InternalError(concat("no index rule for ", name_of(node.op)));
}

}  // namespace tandem
