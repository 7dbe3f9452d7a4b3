// Movement on movement: what moves nothing goes away, two of a kind become one, and repetition (expand) moves outwards,
// so that everything under it works on fewer elements.

#include <algorithm>

#include "core/graph/constant.h"
#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"

namespace tandem::rewriting {

namespace {

NodeId x(const Match& m) { return m('x'); }
bool same_shape(const Match& m) { return same(m.top().shape, m.node('x').shape); }

bool all_zero(const std::vector<Index>& amounts) {
  return std::all_of(amounts.begin(), amounts.end(), [](const Index& amount) { return amount.is(0); });
}

bool keeps_order(const Match& m) {
  const std::vector<int32_t>& order = m.top().attributes.order;
  return std::is_sorted(order.begin(), order.end());
}

/// Only axes of size 1 change their places among the others.
bool moves_only_ones(const Match& m) {
  std::vector<int32_t> order;
  for (const int32_t axis : m.top().attributes.order)
    if (!m.node('x').shape[static_cast<size_t>(axis)].is(1)) order.push_back(axis);
  return std::is_sorted(order.begin(), order.end());
}

NodeId permute_twice(const Match& m) {
  std::vector<int32_t> order;
  for (const int32_t axis : m.top().attributes.order)
    order.push_back(m.node('z').attributes.order[static_cast<size_t>(axis)]);
  return permute(m.graph, m('x'), order);
}

NodeId expand_of_permute(const Match& m) {
  return expand(m.graph, permute(m.graph, m('x'), m.top().attributes.order), m.top().shape);
}

/// Each run of axes that the reshape keeps together is either repeated as a whole or not at all.
NodeId expand_of_reshape(const Match& m) {
  const Shape& narrow = m.node('x').shape;
  const Shape& wide = m.node('z').shape;
  const Shape& to = m.top().shape;
  const auto groups = axis_groups(wide, to);
  if (!groups) return kNoNode;
  Shape target;
  for (const AxisGroup& group : *groups) {
    bool repeated = true, whole = true;
    for (size_t axis = group.from_begin; axis < group.from_end; axis++) {
      repeated = repeated && narrow[axis].is(1);
      whole = whole && same(narrow[axis], wide[axis]);
    }
    if (!repeated && !whole) return kNoNode;
    for (size_t axis = group.to_begin; axis < group.to_end; axis++) target.push_back(whole ? to[axis] : Dim(1));
  }
  return expand(m.graph, reshape(m.graph, m('x'), target), to);
}

NodeId stride_twice(const Match& m) {
  std::vector<Index> step;
  for (size_t axis = 0; axis < m.top().shape.size(); axis++)
    step.push_back(m.top().attributes.size[axis] * m.node('z').attributes.size[axis]);
  return stride(m.graph, m('x'), step);
}

/// Repeated axes need no steps: every element is the same.
NodeId expand_of_stride(const Match& m) {
  const Shape& narrow = m.node('x').shape;
  for (size_t axis = 0; axis < narrow.size(); axis++)
    if (!m.top().attributes.size[axis].is(1) && !narrow[axis].is(1)) return kNoNode;
  return expand(m.graph, m('x'), m.top().shape);
}

bool steps_nowhere(const Match& m) {
  const std::vector<Index>& step = m.top().attributes.size;
  for (size_t axis = 0; axis < step.size(); axis++)
    if (!step[axis].is(1) && !m.node('x').shape[axis].is(1)) return false;
  return true;
}

NodeId flip_twice(const Match& m) {
  std::vector<int32_t> flags = m.top().attributes.order;
  for (size_t axis = 0; axis < flags.size(); axis++) flags[axis] ^= m.node('z').attributes.order[axis];
  return flip(m.graph, m('x'), flags);
}

bool flips_nothing(const Match& m) {
  const std::vector<int32_t>& flags = m.top().attributes.order;
  for (size_t axis = 0; axis < flags.size(); axis++)
    if (flags[axis] != 0 && !m.node('x').shape[axis].is(1)) return false;
  return true;
}

NodeId expand_of_flip(const Match& m) {
  std::vector<int32_t> flags = m.top().attributes.order;
  for (size_t axis = 0; axis < flags.size(); axis++)
    if (m.node('x').shape[axis].is(1)) flags[axis] = 0;
  return expand(m.graph, flip(m.graph, m('x'), flags), m.top().shape);
}

bool pads_nothing(const Match& m) { return all_zero(m.top().attributes.begin) && all_zero(m.top().attributes.size); }

NodeId pad_twice(const Match& m) {
  std::vector<Index> before, after;
  for (size_t axis = 0; axis < m.top().shape.size(); axis++) {
    before.push_back(m.top().attributes.begin[axis] + m.node('z').attributes.begin[axis]);
    after.push_back(m.top().attributes.size[axis] + m.node('z').attributes.size[axis]);
  }
  return pad(m.graph, m('x'), m('f'), before, after);
}

/// An axis along which every operand repeats one element can be repeated after the operation instead of before.
NodeId expand_of_elementwise(const Match& m) {
  const Shape& wide = m.top().shape;
  Shape narrow = wide;
  bool found = false;
  for (size_t axis = 0; axis < wide.size(); axis++) {
    if (wide[axis].is(1)) continue;
    bool repeated = true;
    for (const NodeId operand : m.top().operands) {
      const Node& node = m.at(operand);
      repeated = repeated && node.op == Op::kExpand && m.at(node.operands[0]).shape[axis].is(1);
    }
    if (!repeated) continue;
    narrow[axis] = 1;
    found = true;
  }
  if (!found) return kNoNode;
  std::vector<NodeId> operands;
  for (const NodeId operand : m.top().operands) operands.push_back(expand(m.graph, m.at(operand).operands[0], narrow));
  return expand(m.graph, make(m.graph, m.top().op, operands, {}, m.top().dtype), wide);
}

const std::vector<Op>& elementwise_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> found;
    for (int i = 0; i < kOpCount; i++)
      if (is_elementwise(info(static_cast<Op>(i)).op_class) && static_cast<Op>(i) != Op::kGather)
        found.push_back(static_cast<Op>(i));
    return found;
  }();
  return ops;
}

/// Counts along one axis; the other axes repeat.
NodeId iota_along_its_axis(const Match& m) {
  const Node& node = m.top();
  const auto axis = static_cast<size_t>(node.attributes.axis);
  if (node.shape[axis].is(1)) return filled(m.graph, DType::kI64, 0, node.shape);
  Shape narrow(node.shape.size(), Dim(1));
  narrow[axis] = node.shape[axis];
  if (same(narrow, node.shape)) return kNoNode;
  Attributes attributes;
  attributes.axis = node.attributes.axis;
  return expand(m.graph, make(m.graph, Op::kIota, {}, std::move(attributes), DType::kI64, narrow), node.shape);
}

RuleSet nothing_moves() {
  return {
      {"movement.reshape_same", "reshape to its own shape == x", op({Op::kReshape, Op::kExpand}, {any('x')}),
       same_shape, x},
      {"movement.permute_in_order", "permute that keeps the order == x", op(Op::kPermute, {any('x')}), keeps_order, x},
      {"movement.stride_one", "steps of 1, or along axes of size 1 == x", op(Op::kStride, {any('x')}), steps_nowhere,
       x},
      {"movement.flip_nothing", "flip of no axis, or of size 1 == x", op(Op::kFlip, {any('x')}), flips_nothing, x},
      {"movement.pad_nothing", "pad by 0 == x", op(Op::kPad, {any('x'), any('f')}), pads_nothing, x},
      {"movement.reflect_nothing", "reflect_pad by 0 == x", op(Op::kReflectPad, {any('x')}), pads_nothing, x},
  };
}

RuleSet two_of_a_kind() {
  return {
      {"movement.reshape_twice", "reshape(reshape(x)) == reshape(x)", op(Op::kReshape, {op(Op::kReshape, {any('x')})}),
       nullptr, [](const Match& m) { return reshape(m.graph, m('x'), m.top().shape); }},
      {"movement.permute_twice", "permute(permute(x)) == permute(x)",
       op(Op::kPermute, {op(Op::kPermute, {any('x')}, 'z')}), nullptr, permute_twice},
      {"movement.permute_ones", "permute that moves only axes of size 1 == reshape(x)", op(Op::kPermute, {any('x')}),
       moves_only_ones, [](const Match& m) { return reshape(m.graph, m('x'), m.top().shape); }},
      {"movement.expand_twice", "expand(expand(x)) == expand(x)", op(Op::kExpand, {op(Op::kExpand, {any('x')})}),
       nullptr, [](const Match& m) { return expand(m.graph, m('x'), m.top().shape); }},
      {"movement.stride_twice", "stride(stride(x)) == stride(x)", op(Op::kStride, {op(Op::kStride, {any('x')}, 'z')}),
       nullptr, stride_twice},
      {"movement.flip_twice", "flip(flip(x)) == flip(x)", op(Op::kFlip, {op(Op::kFlip, {any('x')}, 'z')}), nullptr,
       flip_twice},
      {"movement.pad_twice", "pad(pad(x, f), f) == pad(x, f)",
       op(Op::kPad, {op(Op::kPad, {any('x'), any('f')}, 'z'), any('f')}), nullptr, pad_twice},
  };
}

RuleSet repetition_outwards() {
  return {
      {"movement.permute_of_expand", "permute(expand(x)) == expand(permute(x))",
       op(Op::kPermute, {op(Op::kExpand, {any('x')})}), nullptr, expand_of_permute},
      {"movement.reshape_of_expand", "reshape(expand(x)) == expand(reshape(x))",
       op(Op::kReshape, {op(Op::kExpand, {any('x')}, 'z')}), nullptr, expand_of_reshape},
      {"movement.stride_of_expand", "stride(expand(x)) == expand(x), of repeated axes",
       op(Op::kStride, {op(Op::kExpand, {any('x')})}), nullptr, expand_of_stride},
      {"movement.flip_of_expand", "flip(expand(x)) == expand(flip(x))", op(Op::kFlip, {op(Op::kExpand, {any('x')})}),
       nullptr, expand_of_flip},
      {"movement.pad_of_uniform", "pad(filled with f, f) == filled with f", op(Op::kPad, {uniform('f'), any('f')}),
       nullptr, [](const Match& m) { return filled(m.graph, m('f'), m.top().shape); }},
      {"movement.elementwise_of_expand", "f(expand(x), expand(y)) == expand(f(x, y))", op(elementwise_ops()), nullptr,
       expand_of_elementwise},
      {"movement.iota_of_one_axis", "iota over several axes == expand(iota over its own)", op(Op::kIota), nullptr,
       iota_along_its_axis},
  };
}

}  // namespace

RuleSet movement_rules() { return nothing_moves() + two_of_a_kind() + repetition_outwards(); }

}  // namespace tandem::rewriting
