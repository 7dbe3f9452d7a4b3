// Concat, window, gather.

#include <algorithm>

#include "core/graph/constant.h"
#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"

namespace tandem::rewriting {

namespace {

size_t axis_of(const Match& m) { return static_cast<size_t>(m.top().attributes.axis); }

NodeId flatten_concat(const Match& m) {
  std::vector<NodeId> parts;
  for (const NodeId part : m.top().operands) {
    const Node& node = m.at(part);
    const bool inner = node.op == Op::kConcat && node.attributes.axis == m.top().attributes.axis;
    if (inner)
      parts.insert(parts.end(), node.operands.begin(), node.operands.end());
    else
      parts.push_back(part);
  }
  if (parts.size() == m.top().operands.size()) return kNoNode;
  return concat_of(m.graph, parts, m.top().attributes.axis);
}

NodeId drop_empty_parts(const Match& m) {
  std::vector<NodeId> parts;
  for (const NodeId part : m.top().operands)
    if (!m.at(part).shape[axis_of(m)].is(0)) parts.push_back(part);
  if (parts.empty() || parts.size() == m.top().operands.size()) return kNoNode;
  return concat_of(m.graph, parts, m.top().attributes.axis);
}

/// A part of a tensor along one axis, and all of the others; a whole tensor is the part that begins at 0.
struct Part {
  NodeId of;
  std::vector<Index> begin, size;
};
Part part_of(const Match& m, NodeId id) {
  const Node& node = m.at(id);
  if (node.op == Op::kShrink) return {node.operands[0], node.attributes.begin, node.shape};
  return {id, zeros(node.shape.size()), node.shape};
}

bool continues(const Part& first, const Part& second, size_t along) {
  if (first.of != second.of) return false;
  for (size_t axis = 0; axis < first.begin.size(); axis++) {
    const Index expected = axis == along ? first.begin[axis] + first.size[axis] : first.begin[axis];
    if (!same(expected, second.begin[axis])) return false;
  }
  return true;
}

NodeId join_adjacent_parts(const Match& m) {
  std::vector<NodeId> parts;
  const size_t along = axis_of(m);
  for (const NodeId operand : m.top().operands) {
    const Part next = part_of(m, operand);
    if (!parts.empty()) {
      Part last = part_of(m, parts.back());
      if (continues(last, next, along)) {
        last.size[along] += next.size[along];
        parts.back() = shrink(m.graph, last.of, last.begin, last.size);
        continue;
      }
    }
    parts.push_back(operand);
  }
  if (parts.size() == m.top().operands.size()) return kNoNode;
  return concat_of(m.graph, parts, m.top().attributes.axis);
}

NodeId join_equal_numbers(const Match& m) {
  std::vector<NodeId> parts;
  const size_t along = axis_of(m);
  for (const NodeId operand : m.top().operands) {
    const auto scalar = uniform_scalar(m.graph, operand);
    if (scalar && !parts.empty() && uniform_scalar(m.graph, parts.back()) == scalar) {
      Shape shape = m.at(parts.back()).shape;
      shape[along] += m.at(operand).shape[along];
      parts.back() = filled(m.graph, *scalar, shape);
    } else {
      parts.push_back(operand);
    }
  }
  if (parts.size() == m.top().operands.size()) return kNoNode;
  return concat_of(m.graph, parts, m.top().attributes.axis);
}

/// Axes along which every part repeats one element can be repeated after joining.
NodeId expand_of_concat(const Match& m) {
  const Shape& wide = m.top().shape;
  Shape narrow = wide;
  bool found = false;
  for (size_t axis = 0; axis < wide.size(); axis++) {
    bool repeated = axis != axis_of(m) && !wide[axis].is(1);
    for (const NodeId part : m.top().operands) {
      const Node& node = m.at(part);
      repeated = repeated && node.op == Op::kExpand && m.at(node.operands[0]).shape[axis].is(1);
    }
    if (!repeated) continue;
    narrow[axis] = 1;
    found = true;
  }
  if (!found) return kNoNode;
  std::vector<NodeId> parts;
  for (const NodeId part : m.top().operands) {
    Shape shape = narrow;
    shape[axis_of(m)] = m.at(part).shape[axis_of(m)];
    parts.push_back(expand(m.graph, m.at(part).operands[0], shape));
  }
  return expand(m.graph, concat_of(m.graph, parts, m.top().attributes.axis), wide);
}

const Index& window_size(const Match& m) { return m.top().attributes.size[0]; }
const Index& window_step(const Match& m) { return m.top().attributes.begin[0]; }

NodeId window_of_one(const Match& m) {
  std::vector<Index> step(m.node('x').shape.size(), Index(1));
  step[axis_of(m)] = window_step(m);
  return reshape(m.graph, stride(m.graph, m('x'), step), m.top().shape);
}

/// Splits the axis into (window, place) and moves the place behind the last axis.
NodeId split_into_windows(const Match& m) {
  Shape split = m.node('x').shape;
  const size_t axis = axis_of(m);
  std::vector<Index> begin = zeros(split.size());
  Shape used = split;
  used[axis] = m.top().shape[axis] * window_size(m);
  const NodeId part = shrink(m.graph, m('x'), begin, used);
  split[axis] = m.top().shape[axis];
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, window_size(m));
  std::vector<int32_t> order;
  for (size_t i = 0; i < split.size(); i++)
    if (i != axis + 1) order.push_back(static_cast<int32_t>(i));
  order.push_back(static_cast<int32_t>(axis) + 1);
  return permute(m.graph, reshape(m.graph, part, split), order);
}

bool windows_touch(const Match& m) {
  const bool next_to_each_other = same(window_step(m), window_size(m)) || m.top().shape[axis_of(m)].is(1);
  return next_to_each_other && m.top().attributes.begin[1].is(1);
}

NodeId expand_of_window(const Match& m) {
  const Shape& narrow = m.node('x').shape;
  const size_t axis = axis_of(m);
  Shape below = m.node('z').shape;
  bool found = false;
  for (size_t i = 0; i < narrow.size(); i++) {
    if (i == axis || !narrow[i].is(1) || below[i].is(1)) continue;
    below[i] = 1;
    found = true;
  }
  if (!found) return kNoNode;
  const NodeId window = make(m.graph, Op::kWindow, {expand(m.graph, m('x'), below)}, m.top().attributes);
  return expand(m.graph, window, m.top().shape);
}

/// The indices are 0, 1, 2, .. of one axis.
NodeId gather_in_order(const Match& m) {
  const Node& indices = m.node('i');
  const Dim& whole = m.node('x').shape[axis_of(m)];
  if (indices.shape.size() != 1 || less_equal(indices.shape[0], whole) != Truth::kAlways) return kNoNode;
  std::vector<Index> size = m.node('x').shape;
  size[axis_of(m)] = indices.shape[0];
  return shrink(m.graph, m('x'), zeros(size.size()), size);
}

/// Every index is the same number, inside the axis: one element, repeated.
NodeId gather_of_number(const Match& m) {
  const int64_t at = m.node('i').attributes.integer;
  const size_t axis = axis_of(m);
  const Shape& from = m.node('x').shape;
  const Shape& indices = m.at(m.top().operands[1]).shape;
  if (at < 0 || at >= from[axis].lower()) return kNoNode;
  std::vector<Index> begin = zeros(from.size()), size = from;
  begin[axis] = at;
  size[axis] = 1;
  Shape narrow = m.top().shape;
  for (size_t i = 0; i < indices.size(); i++) narrow[axis + i] = 1;
  return expand(m.graph, reshape(m.graph, shrink(m.graph, m('x'), begin, size), narrow), m.top().shape);
}

}  // namespace

RuleSet join_rules() {
  return {
      {"join.concat_of_one", "concat(x) == x", op(Op::kConcat, {any('x')}), nullptr,
       [](const Match& m) { return m('x'); }},
      {"join.concat_in_concat", "concat(concat(x, y), z) == concat(x, y, z)", op(Op::kConcat), nullptr, flatten_concat},
      {"join.empty_parts", "parts without elements fall out", op(Op::kConcat), nullptr, drop_empty_parts},
      {"join.adjacent_parts", "concat of parts of x that follow each other == one part of x", op(Op::kConcat), nullptr,
       join_adjacent_parts},
      {"join.equal_numbers", "concat(c, c) == c", op(Op::kConcat), nullptr, join_equal_numbers},
      {"join.concat_of_expand", "concat(expand(x), expand(y)) == expand(concat(x, y))", op(Op::kConcat), nullptr,
       expand_of_concat},
      {"join.window_of_one", "windows of one element == stride(x)", op(Op::kWindow, {any('x')}),
       [](const Match& m) { return window_size(m).is(1); }, window_of_one},
      {"join.windows_touch", "windows that follow each other, or a single one == reshape(x)",
       op(Op::kWindow, {any('x')}), windows_touch, split_into_windows},
      {"join.window_of_expand", "window(expand(x)) == expand(window(x)) for the other axes",
       op(Op::kWindow, {op(Op::kExpand, {any('x')}, 'z')}), nullptr, expand_of_window},
      {"join.gather_in_order", "gather(x, 0 .. n - 1) == shrink(x)",
       op(Op::kGather, {any('x'), op(Op::kIota, {}, 'i')}), nullptr, gather_in_order},
      {"join.gather_of_number", "gather(x, c) == expand(shrink(x))", op(Op::kGather, {any('x'), uniform('i')}), nullptr,
       gather_of_number},
  };
}

}  // namespace tandem::rewriting
