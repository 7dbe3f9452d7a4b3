#include "core/rewrite/make.h"

#include <algorithm>

#include "core/graph/constant.h"

namespace tandem::rewriting {

NodeId make(Graph& graph, Op op, std::initializer_list<NodeId> operands, DType dtype) {
  return graph.make(op, std::span<const NodeId>(operands.begin(), operands.size()), {}, dtype);
}

NodeId make(Graph& graph, Op op, const std::vector<NodeId>& operands, Attributes attributes, DType dtype, Shape shape) {
  return graph.make(op, operands, std::move(attributes), dtype, std::move(shape));
}

NodeId reshape(Graph& graph, NodeId x, const Shape& shape) {
  if (same(graph.node(x).shape, shape)) return x;
  return make(graph, Op::kReshape, {x}, {}, DType::kF32, shape);
}

NodeId permute(Graph& graph, NodeId x, const std::vector<int32_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  Attributes attributes;
  attributes.order = order;
  return make(graph, Op::kPermute, {x}, std::move(attributes));
}

NodeId expand(Graph& graph, NodeId x, const Shape& shape) {
  if (same(graph.node(x).shape, shape)) return x;
  return make(graph, Op::kExpand, {x}, {}, DType::kF32, shape);
}

NodeId shrink(Graph& graph, NodeId x, const std::vector<Index>& begin, const std::vector<Index>& size) {
  if (same(graph.node(x).shape, size)) return x;
  Attributes attributes;
  attributes.begin = begin;
  attributes.size = size;
  return make(graph, Op::kShrink, {x}, std::move(attributes));
}

NodeId stride(Graph& graph, NodeId x, const std::vector<Index>& step) {
  if (std::all_of(step.begin(), step.end(), [](const Index& entry) { return entry.is(1); })) return x;
  Attributes attributes;
  attributes.size = step;
  return make(graph, Op::kStride, {x}, std::move(attributes));
}

NodeId flip(Graph& graph, NodeId x, const std::vector<int32_t>& flags) {
  if (std::count(flags.begin(), flags.end(), 0) == static_cast<std::ptrdiff_t>(flags.size())) return x;
  Attributes attributes;
  attributes.order = flags;
  return make(graph, Op::kFlip, {x}, std::move(attributes));
}

NodeId pad(Graph& graph, NodeId x, NodeId fill, const std::vector<Index>& before, const std::vector<Index>& after) {
  const auto none = [](const std::vector<Index>& amounts) {
    return std::all_of(amounts.begin(), amounts.end(), [](const Index& amount) { return amount.is(0); });
  };
  if (none(before) && none(after)) return x;
  Attributes attributes;
  attributes.begin = before;
  attributes.size = after;
  return make(graph, Op::kPad, {x, fill}, std::move(attributes));
}

NodeId concat_of(Graph& graph, const std::vector<NodeId>& parts, int32_t axis) {
  if (parts.size() == 1) return parts[0];
  Attributes attributes;
  attributes.axis = axis;
  return make(graph, Op::kConcat, parts, std::move(attributes));
}

NodeId accumulate(Graph& graph, Op op, const std::vector<NodeId>& operands, int32_t count) {
  Attributes attributes;
  attributes.count = count;
  return make(graph, op, operands, std::move(attributes));
}

NodeId filled(Graph& graph, NodeId scalar, const Shape& shape) {
  return expand(graph, reshape(graph, scalar, Shape(shape.size(), Dim(1))), shape);
}

NodeId filled(Graph& graph, DType dtype, double number, const Shape& shape) {
  const NodeId scalar = is_float(dtype) ? make_scalar(graph, dtype, number)
                                        : make_integer_scalar(graph, dtype, static_cast<int64_t>(number));
  return filled(graph, scalar, shape);
}

std::vector<Index> zeros(size_t rank) { return std::vector<Index>(rank, Index(0)); }

bool is_positive(const Dim& dim) { return less_equal(1, dim) == Truth::kAlways; }

std::optional<std::vector<AxisGroup>> axis_groups(const Shape& from, const Shape& to) {
  if (!std::all_of(from.begin(), from.end(), is_positive)) return std::nullopt;
  std::vector<AxisGroup> groups;
  size_t i = 0, k = 0;
  while (i < from.size() || k < to.size()) {
    AxisGroup group = {i, i, k, k};
    const bool one_from = i < from.size() && from[i].is(1);
    const bool one_to = k < to.size() && to[k].is(1);
    if (one_from) group.from_end++;
    if (one_to) group.to_end++;
    if (!one_from && !one_to) {
      if (i == from.size() || k == to.size()) return std::nullopt;
      Index count_from = from[group.from_end++], count_to = to[group.to_end++];
      while (!same(count_from, count_to)) {
        if (group.from_end < from.size() && less(count_from, count_to) == Truth::kAlways)
          count_from *= from[group.from_end++];
        else if (group.to_end < to.size() && less(count_to, count_from) == Truth::kAlways)
          count_to *= to[group.to_end++];
        else
          return std::nullopt;
      }
    }
    i = group.from_end;
    k = group.to_end;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace tandem::rewriting
