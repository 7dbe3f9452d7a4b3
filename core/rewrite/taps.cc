#include "core/rewrite/taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/finite.h"
#include "core/graph/constant.h"
#include "core/graph/movement_index.h"
#include "core/rewrite/make.h"

namespace tandem::rewriting {

std::vector<Index> counters_of(const Shape& shape) {
  std::vector<Index> index;
  for (size_t axis = 0; axis < shape.size(); axis++)
    index.push_back(shape[axis].is(1) ? Index(0) : Index::loop(static_cast<uint32_t>(axis), shape[axis]));
  return index;
}

Reading read_through(const Graph& graph, NodeId id, std::vector<Index> index) {
  for (;;) {
    const Node& node = graph.node(id);
    if (node.op == Op::kPad) {
      const Shape& inner = graph.node(node.operands[0]).shape;
      bool inside = true;
      for (size_t axis = 0; axis < index.size(); axis++) {
        const Index& before = node.attributes.begin[axis];
        const Index at = index[axis] - before;
        if (less(at, 0) == Truth::kAlways || less_equal(inner[axis], at) == Truth::kAlways)
          return {node.operands[1], {}, true};
        const bool padded = !before.is(0) || !node.attributes.size[axis].is(0);
        inside =
            inside && (!padded || (less_equal(0, at) == Truth::kAlways && less(at, inner[axis]) == Truth::kAlways));
        index[axis] = at;
      }
      if (!inside) return {id, {}, false};
    } else if (is_rearrangement(node.op)) {
      // What may be empty has no subscripts to divide.
      const Shape& shape = graph.node(node.operands[0]).shape;
      if (!std::all_of(shape.begin(), shape.end(), is_positive)) return {id, {}, false};
      index = operand_index(graph, node, index);
    } else {
      return {id, std::move(index), false};
    }
    id = node.operands[0];
  }
}

LivePlaces live_places(const Graph& graph, NodeId operand, size_t axis) {
  const Shape& shape = graph.node(operand).shape;
  LivePlaces live = {0, shape[axis].constant()};
  const auto only_zeros = [&](int64_t place) {
    std::vector<Index> index = counters_of(shape);
    index[axis] = place;
    const Reading reading = read_through(graph, operand, std::move(index));
    if (!reading.padding) return false;
    const Attributes& fill = graph.node(reading.node).attributes;
    return fill.value == 0 && fill.integer == 0;
  };
  while (live.first + 1 < live.last && only_zeros(live.first)) live.first++;
  while (live.first + 1 < live.last && only_zeros(live.last - 1)) live.last--;
  return live;
}

namespace {

/// The largest finite number of a float dtype.
double largest_number(DType dtype) {
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kBF16) return 0x1.fep127;
  return dtype == DType::kF32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

/// Is the magnitude of every element at most `limit`, provably? See is_finite.
bool is_within(const Graph& graph, NodeId id, double limit) {
  const Node& node = graph.node(id);
  const auto below = [&](size_t operand) { return is_within(graph, node.operands[operand], limit); };
  if (node.op == Op::kScalar && is_float(node.dtype)) return std::fabs(node.attributes.value) <= limit;
  if (node.op == Op::kPad) return below(0) && below(1);
  if (is_rearrangement(node.op)) return below(0);
  if (!is_float(node.dtype)) return limit >= 0x1p64;
  // What is at most the largest number does not round to infinity.
  if (node.op == Op::kCast) return is_within(graph, node.operands[0], std::min(limit, largest_number(node.dtype)));
  if (node.op != Op::kConstant) return false;
  const ConstantData& data = *node.attributes.data;
  const size_t count = data.size / size_of(node.dtype);
  if (node.dtype == DType::kF32 && limit >= largest_number(DType::kF32))
    return first_non_finite_f32({data.bytes, data.size}) == count;
  for (size_t i = 0; i < count; i++)
    if (!(std::fabs(constant_element(node.dtype, data.bytes, i)) <= limit)) return false;
  return true;
}

}  // namespace

bool is_finite(const Graph& graph, NodeId id) {
  return !is_float(graph.node(id).dtype) || is_within(graph, id, std::numeric_limits<double>::max());
}

bool runs_consecutively(const Graph& graph, NodeId operand, size_t axis) {
  const std::vector<Index> index = counters_of(graph.node(operand).shape);
  const Reading reading = read_through(graph, operand, index);
  if (reading.padding || reading.index.empty()) return false;
  const Node& source = graph.node(reading.node);
  const bool strided = source.op == Op::kInput && !source.attributes.size.empty();
  const Index offset = flat_offset(reading.index, strided ? source.attributes.size : dense_strides(source.shape));
  const std::optional<Index> step = offset.coefficient(index[axis]);
  return step && step->is(1);
}

}  // namespace tandem::rewriting
