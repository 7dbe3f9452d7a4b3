// Reductions. The order of a sum of floats belongs to the op (16 partial results along the innermost reduced axis), so
// that only axes whose loss leaves that order as it is may go.

#include <algorithm>

#include "core/graph/constant.h"
#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"

namespace tandem::rewriting {

namespace {

std::vector<Op> reductions() { return {Op::kReduceSum, Op::kReduceProd, Op::kReduceMax, Op::kReduceMin}; }

bool is_extreme(Op op) { return op == Op::kReduceMax || op == Op::kReduceMin; }
/// Any order of the elements gives the same bits.
bool any_order(const Match& m) { return is_extreme(m.top().op) || !is_float(m.top().dtype); }
/// Taking an element twice changes nothing. (A sum of bool is or, a product is and.)
bool repeats_freely(const Match& m) { return is_extreme(m.top().op) || m.top().dtype == DType::kBool; }

size_t first_reduced(const Match& m) { return m.top().shape.size(); }

bool reduces_only_ones(const Match& m) {
  const Shape& from = m.node('x').shape;
  return std::all_of(from.begin() + static_cast<std::ptrdiff_t>(first_reduced(m)), from.end(),
                     [](const Dim& dim) { return dim.is(1); });
}

/// The innermost axis stays when the order counts, even when its size is 1.
NodeId without_ones(const Match& m) {
  const Shape& from = m.node('x').shape;
  Shape kept;
  for (size_t axis = 0; axis < from.size(); axis++) {
    const bool stays = axis < first_reduced(m) || !from[axis].is(1) || (axis + 1 == from.size() && !any_order(m));
    if (stays) kept.push_back(from[axis]);
  }
  if (kept.size() == from.size() || kept.size() == first_reduced(m)) return kNoNode;
  return accumulate(m.graph, m.top().op, {reshape(m.graph, m('x'), kept)},
                    static_cast<int32_t>(kept.size() - first_reduced(m)));
}

/// The operand of an expand with the reduced axes of size 1 left so; how often each element is repeated.
std::optional<Index> narrow_repeated(const Match& m, Shape& shape) {
  const Shape& narrow = m.node('x').shape;
  Index count = 1;
  bool found = false;
  for (size_t axis = first_reduced(m); axis < shape.size(); axis++) {
    if (!narrow[axis].is(1) || shape[axis].is(1)) continue;
    if (!is_positive(shape[axis])) return std::nullopt;
    count *= shape[axis];
    shape[axis] = 1;
    found = true;
  }
  if (!found) return std::nullopt;
  return count;
}

NodeId once_instead_of_repeated(const Match& m) {
  Shape shape = m.node('z').shape;
  if (!narrow_repeated(m, shape)) return kNoNode;
  return accumulate(m.graph, m.top().op, {expand(m.graph, m('x'), shape)}, m.top().attributes.count);
}

NodeId sum_times_count(const Match& m) {
  Shape shape = m.node('z').shape;
  const auto count = narrow_repeated(m, shape);
  if (!count || !count->is_constant()) return kNoNode;
  const NodeId sum = accumulate(m.graph, Op::kReduceSum, {expand(m.graph, m('x'), shape)}, m.top().attributes.count);
  const NodeId times = make_integer_scalar(m.graph, m.top().dtype, count->constant());
  return make(m.graph, Op::kMul, {sum, filled(m.graph, times, m.top().shape)});
}

/// Axes that are kept and repeat one element are repeated after the reduction instead.
NodeId expand_of_reduction(const Match& m) {
  const Shape& narrow = m.node('x').shape;
  Shape shape = m.node('z').shape;
  bool found = false;
  for (size_t axis = 0; axis < first_reduced(m); axis++) {
    if (!narrow[axis].is(1) || shape[axis].is(1)) continue;
    shape[axis] = 1;
    found = true;
  }
  if (!found) return kNoNode;
  const NodeId result = accumulate(m.graph, m.top().op, {expand(m.graph, m('x'), shape)}, m.top().attributes.count);
  return expand(m.graph, result, m.top().shape);
}

NodeId reduce_twice(const Match& m) {
  return accumulate(m.graph, m.top().op, {m('x')}, m.top().attributes.count + m.node('z').attributes.count);
}

bool same_op_in_any_order(const Match& m) { return any_order(m) && m.node('z').op == m.top().op; }

/// Reduced axes in another order among themselves.
NodeId reduce_unpermuted(const Match& m) {
  const std::vector<int32_t>& order = m.node('z').attributes.order;
  std::vector<int32_t> sorted = order;
  const auto kept = static_cast<std::ptrdiff_t>(first_reduced(m));
  std::sort(sorted.begin() + kept, sorted.end());
  if (sorted == order) return kNoNode;
  return accumulate(m.graph, m.top().op, {permute(m.graph, m('x'), sorted)}, m.top().attributes.count);
}

}  // namespace

RuleSet reduce_rules() {
  return {
      {"reduce.only_ones", "reduction over axes of size 1 == reshape(x)", op(reductions(), {any('x')}),
       reduces_only_ones, [](const Match& m) { return reshape(m.graph, m('x'), m.top().shape); }},
      {"reduce.without_ones", "reduced axes of size 1 fall out; the innermost stays where order counts",
       op(reductions(), {any('x')}), nullptr, without_ones},
      {"reduce.extreme_of_expand", "max, min, sum of bool over repeated elements == over one of them",
       op(reductions(), {op(Op::kExpand, {any('x')}, 'z')}), repeats_freely, once_instead_of_repeated},
      {"reduce.sum_of_expand", "sum of n times x == n * x (integers)",
       op(Op::kReduceSum, {op(Op::kExpand, {any('x')}, 'z')}), [](const Match& m) { return is_integer(m.top().dtype); },
       sum_times_count},
      {"reduce.of_expand", "reduction of rows that repeat == expand(reduction of one row)",
       op(reductions(), {op(Op::kExpand, {any('x')}, 'z')}), nullptr, expand_of_reduction},
      {"reduce.twice", "max of max == max over all axes (min; sum and product of integers and bool)",
       op(reductions(), {op(reductions(), {any('x')}, 'z')}), same_op_in_any_order, reduce_twice},
      {"reduce.of_permute", "max over permuted axes == max (min; sum and product of integers and bool)",
       op(reductions(), {op(Op::kPermute, {any('x')}, 'z')}), any_order, reduce_unpermuted},
  };
}

}  // namespace tandem::rewriting
