// A part of something becomes something of parts: fewer elements below. Parts of computed values stay where they are,
// since the whole may be needed by other users, and a part of a view costs nothing.

#include <algorithm>

#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"

namespace tandem::rewriting {

namespace {

const std::vector<Index>& begin_of(const Match& m) { return m.top().attributes.begin; }
const Shape& size_of_part(const Match& m) { return m.top().shape; }
bool proven(Truth truth) { return truth == Truth::kAlways; }

bool takes_all(const Match& m) { return same(m.top().shape, m.node('x').shape); }

NodeId shrink_twice(const Match& m) {
  std::vector<Index> begin;
  for (size_t axis = 0; axis < m.top().shape.size(); axis++)
    begin.push_back(begin_of(m)[axis] + m.node('z').attributes.begin[axis]);
  return shrink(m.graph, m('x'), begin, size_of_part(m));
}

NodeId shrink_of_expand(const Match& m) {
  std::vector<Index> begin = begin_of(m), size = size_of_part(m);
  const Shape& narrow = m.node('x').shape;
  for (size_t axis = 0; axis < narrow.size(); axis++)
    if (narrow[axis].is(1)) {
      begin[axis] = 0;
      size[axis] = 1;
    }
  return expand(m.graph, shrink(m.graph, m('x'), begin, size), m.top().shape);
}

NodeId shrink_of_permute(const Match& m) {
  const std::vector<int32_t>& order = m.node('z').attributes.order;
  std::vector<Index> begin(order.size()), size(order.size());
  for (size_t axis = 0; axis < order.size(); axis++) {
    begin[static_cast<size_t>(order[axis])] = begin_of(m)[axis];
    size[static_cast<size_t>(order[axis])] = size_of_part(m)[axis];
  }
  return permute(m.graph, shrink(m.graph, m('x'), begin, size), order);
}

NodeId shrink_of_flip(const Match& m) {
  const std::vector<int32_t>& flags = m.node('z').attributes.order;
  std::vector<Index> begin = begin_of(m);
  for (size_t axis = 0; axis < flags.size(); axis++)
    if (flags[axis] != 0) begin[axis] = m.node('x').shape[axis] - begin[axis] - size_of_part(m)[axis];
  return flip(m.graph, shrink(m.graph, m('x'), begin, size_of_part(m)), flags);
}

NodeId shrink_of_stride(const Match& m) {
  const std::vector<Index>& step = m.node('z').attributes.size;
  std::vector<Index> begin, size;
  for (size_t axis = 0; axis < step.size(); axis++) {
    if (!is_positive(size_of_part(m)[axis])) return kNoNode;
    begin.push_back(begin_of(m)[axis] * step[axis]);
    size.push_back((size_of_part(m)[axis] - 1) * step[axis] + 1);
  }
  return stride(m.graph, shrink(m.graph, m('x'), begin, size), step);
}

/// Which elements of the operand of a padding a part of one axis shows: [begin, begin + size) with padding around.
struct PaddedPart {
  Index begin, size, before, after;
  bool only_padding = false;
};
std::optional<PaddedPart> padded_part(const Index& begin, const Index& size, const Index& before, const Index& inner) {
  const Index end = begin + size, inner_end = before + inner;
  PaddedPart part;
  part.only_padding = proven(less_equal(end, before)) || proven(less_equal(inner_end, begin));
  if (part.only_padding) return part;
  Index last = inner;  // one past the last element, as the operand counts
  if (proven(less_equal(before, begin)))
    part.begin = begin - before;
  else if (proven(less_equal(begin, before)))
    part.before = before - begin;
  else
    return std::nullopt;
  if (proven(less_equal(inner_end, end)))
    part.after = end - inner_end;
  else if (proven(less_equal(end, inner_end)))
    last = end - before;
  else
    return std::nullopt;
  part.size = last - part.begin;
  if (!proven(less_equal(0, part.size))) return std::nullopt;
  return part;
}

NodeId shrink_of_pad(const Match& m) {
  std::vector<Index> begin, size, before, after;
  const Shape& inner = m.node('x').shape;
  for (size_t axis = 0; axis < inner.size(); axis++) {
    const auto part =
        padded_part(begin_of(m)[axis], size_of_part(m)[axis], m.node('z').attributes.begin[axis], inner[axis]);
    if (!part) return kNoNode;
    if (part->only_padding) return filled(m.graph, m('f'), m.top().shape);
    begin.push_back(part->begin);
    size.push_back(part->size);
    before.push_back(part->before);
    after.push_back(part->after);
  }
  return pad(m.graph, shrink(m.graph, m('x'), begin, size), m('f'), before, after);
}

/// The parts that the range along the axis touches, cut to it; the other axes are cut in all of them.
NodeId shrink_of_concat(const Match& m) {
  const Node& joined = m.node('z');
  const auto axis = static_cast<size_t>(joined.attributes.axis);
  const Index first = begin_of(m)[axis], end = first + size_of_part(m)[axis];
  Index at = 0;
  std::vector<NodeId> parts;
  for (const NodeId part : joined.operands) {
    const Index from = at;
    const Index to = from + m.at(part).shape[axis];
    at = to;
    if (proven(less_equal(to, first)) || proven(less_equal(end, from))) continue;
    std::vector<Index> begin = begin_of(m), size = size_of_part(m);
    if (proven(less_equal(from, first)))
      begin[axis] = first - from;
    else if (proven(less_equal(first, from)))
      begin[axis] = 0;
    else
      return kNoNode;
    if (proven(less_equal(end, to)))
      size[axis] = end - from - begin[axis];
    else if (proven(less_equal(to, end)))
      size[axis] = to - from - begin[axis];
    else
      return kNoNode;
    parts.push_back(shrink(m.graph, part, begin, size));
  }
  if (parts.empty()) return kNoNode;
  return concat_of(m.graph, parts, joined.attributes.axis);
}

/// The range that a part of the axes [begin, end) of `shape` takes of their elements in row-major order, when it is one
/// run: leading axes of which one element is taken, one axis of which a range is, and whole axes after it.
struct Run {
  Index begin = 0;
  Index size = 1;
};
std::optional<Run> run_of(const AxisGroup& group, const Shape& shape, const Match& m) {
  Run run;
  bool whole = true;  // every axis so far, from the last one
  Index inner = 1;
  for (size_t axis = group.to_end; axis-- > group.to_begin;) {
    const bool all = same(size_of_part(m)[axis], shape[axis]);
    if (!whole && !size_of_part(m)[axis].is(1)) return std::nullopt;
    run.begin += begin_of(m)[axis] * inner;
    run.size *= size_of_part(m)[axis];
    inner *= shape[axis];
    whole = whole && all;
  }
  return run;
}

/// The opposite direction: a run of elements as a part of the axes of the operand.
bool take_run(const AxisGroup& group, const Shape& from, const Run& run, std::vector<Index>& begin,
              std::vector<Index>& size) {
  Index inner = 1;
  for (size_t axis = group.from_begin + 1; axis < group.from_end; axis++) inner *= from[axis];
  for (size_t axis = group.from_begin; axis < group.from_end; axis++) {
    begin.emplace_back(0);
    size.push_back(from[axis]);
  }
  if (group.from_begin == group.from_end) return run.begin.is(0) && run.size.is(1);
  const Index first = floor_div(run.begin, inner), count = floor_div(run.size, inner);
  if (!same(first * inner, run.begin) || !same(count * inner, run.size)) return false;
  begin[group.from_begin] = first;
  size[group.from_begin] = count;
  return true;
}

NodeId shrink_of_reshape(const Match& m) {
  const Shape& from = m.node('x').shape;
  const Shape& to = m.node('z').shape;
  const auto groups = axis_groups(from, to);
  if (!groups || !std::all_of(size_of_part(m).begin(), size_of_part(m).end(), is_positive)) return kNoNode;
  std::vector<Index> begin, size;
  for (const AxisGroup& group : *groups) {
    const auto run = run_of(group, to, m);
    if (!run || !take_run(group, from, *run, begin, size)) return kNoNode;
  }
  return reshape(m.graph, shrink(m.graph, m('x'), begin, size), m.top().shape);
}

NodeId shrink_of_window(const Match& m) {
  const Node& window = m.node('z');
  const Index& step = window.attributes.begin[0];
  const Index& dilation = window.attributes.begin[1];
  const auto axis = static_cast<size_t>(window.attributes.axis);
  std::vector<Index> begin = begin_of(m), size = size_of_part(m);
  const Index first = begin.back(), places = size.back();
  begin.pop_back();
  size.pop_back();
  if (!is_positive(places) || !is_positive(size[axis])) return kNoNode;
  begin[axis] = begin[axis] * step + first * dilation;
  size[axis] = (size[axis] - 1) * step + (places - 1) * dilation + 1;
  Attributes attributes = window.attributes;
  attributes.size = {places};
  return make(m.graph, Op::kWindow, {shrink(m.graph, m('x'), begin, size)}, std::move(attributes));
}

NodeId shrink_of_iota(const Match& m) {
  const auto axis = static_cast<size_t>(m.node('z').attributes.axis);
  if (!begin_of(m)[axis].is(0)) return kNoNode;
  return make(m.graph, Op::kIota, {}, m.node('z').attributes, DType::kI64, m.top().shape);
}

}  // namespace

RuleSet shrink_rules() {
  const auto of = [](Op inner) { return op(Op::kShrink, {op(inner, {any('x')}, 'z')}); };
  return {
      {"shrink.all", "shrink to the whole == x", op(Op::kShrink, {any('x')}), takes_all,
       [](const Match& m) { return m('x'); }},
      {"shrink.twice", "shrink(shrink(x)) == shrink(x)", of(Op::kShrink), nullptr, shrink_twice},
      {"shrink.of_expand", "shrink(expand(x)) == expand(shrink(x))", of(Op::kExpand), nullptr, shrink_of_expand},
      {"shrink.of_permute", "shrink(permute(x)) == permute(shrink(x))", of(Op::kPermute), nullptr, shrink_of_permute},
      {"shrink.of_flip", "shrink(flip(x)) == flip(shrink(x))", of(Op::kFlip), nullptr, shrink_of_flip},
      {"shrink.of_stride", "shrink(stride(x)) == stride(shrink(x))", of(Op::kStride), nullptr, shrink_of_stride},
      {"shrink.of_reshape", "shrink(reshape(x)) == reshape(shrink(x)), where the part is one run of elements",
       of(Op::kReshape), nullptr, shrink_of_reshape},
      {"shrink.of_window", "shrink(window(x)) == window(shrink(x))", of(Op::kWindow), nullptr, shrink_of_window},
      {"shrink.of_pad", "shrink(pad(x)) == pad(shrink(x)) with less padding, or the fill value",
       op(Op::kShrink, {op(Op::kPad, {any('x'), any('f')}, 'z')}), nullptr, shrink_of_pad},
      {"shrink.of_concat", "shrink(concat(..)) == concat of the parts that it touches",
       op(Op::kShrink, {op(Op::kConcat, {}, 'z')}), nullptr, shrink_of_concat},
      {"shrink.of_iota", "shrink(iota) == iota, from 0", op(Op::kShrink, {op(Op::kIota, {}, 'z')}), nullptr,
       shrink_of_iota},
  };
}

}  // namespace tandem::rewriting
