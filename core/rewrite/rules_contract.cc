// Contractions. The accumulator begins at +0 and takes its products in row-major order of the reduced axes, so that
// axes of size 1 may come and go, and a product that is +0 or -0 may be left out: a sum that began at +0 is never -0,
// and adding either zero to anything but -0 changes nothing. What would change something is 0 * infinity: taps that
// meet only padding are dropped only when the weights are known, and finite.

#include <algorithm>

#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"
#include "core/rewrite/taps.h"

namespace tandem::rewriting {

namespace {

size_t first_reduced(const Match& m) { return m.top().shape.size(); }

bool reduces_only_ones(const Match& m) {
  const Shape& from = m.node('x').shape;
  return std::all_of(from.begin() + static_cast<std::ptrdiff_t>(first_reduced(m)), from.end(),
                     [](const Dim& dim) { return dim.is(1); });
}

/// + 0 makes the +0 that the accumulator would hold of a product -0.
NodeId product_plus_zero(const Match& m) {
  const NodeId product = make(m.graph, Op::kMul, {m('x'), m('y')});
  const NodeId zero = filled(m.graph, m.top().dtype, 0, m.node('x').shape);
  return reshape(m.graph, make(m.graph, Op::kAdd, {product, zero}), m.top().shape);
}

NodeId without_ones(const Match& m) {
  const Shape& from = m.node('x').shape;
  Shape kept;
  for (size_t axis = 0; axis < from.size(); axis++)
    if (axis < first_reduced(m) || !from[axis].is(1)) kept.push_back(from[axis]);
  if (kept.size() == from.size() || kept.size() == first_reduced(m)) return kNoNode;
  return accumulate(m.graph, Op::kContract, {reshape(m.graph, m('x'), kept), reshape(m.graph, m('y'), kept)},
                    static_cast<int32_t>(kept.size() - first_reduced(m)));
}

NodeId keep_places(const Match& m, size_t axis, const LivePlaces& live) {
  std::vector<Index> begin = zeros(m.node('x').shape.size()), size = m.node('x').shape;
  begin[axis] = live.first;
  size[axis] = live.last - live.first;
  return accumulate(m.graph, Op::kContract,
                    {shrink(m.graph, m('x'), begin, size), shrink(m.graph, m('y'), begin, size)},
                    m.top().attributes.count);
}

/// Larger axes are channels, whose places would all have to be tried.
constexpr int64_t kMostTaps = 1024;

NodeId drop_dead_taps(const Match& m) {
  const Shape& from = m.node('x').shape;
  for (size_t axis = first_reduced(m); axis < from.size(); axis++) {
    if (!from[axis].is_constant() || from[axis].constant() < 2 || from[axis].constant() > kMostTaps) continue;
    for (const auto& [padded, other] : {std::pair(m('x'), m('y')), std::pair(m('y'), m('x'))}) {
      const LivePlaces live = live_places(m.graph, padded, axis);
      if (live.last - live.first == from[axis].constant() || !is_finite(m.graph, other)) continue;
      return keep_places(m, axis, live);
    }
  }
  return kNoNode;
}

/// A contraction without enough results to fill a vector: its lanes go along the reduced axis instead.
constexpr int64_t kFewResults = 4;
constexpr int64_t kLongSum = 16;

bool is_long_sum_of_few(const Match& m) {
  const Shape& from = m.node('x').shape;
  const bool few = element_count(m.top().shape).upper() < kFewResults && from.back().lower() >= kLongSum;
  return few && (m.top().dtype == DType::kF32 || m.top().dtype == DType::kF64) &&
         runs_consecutively(m.graph, m('x'), from.size() - 1) && runs_consecutively(m.graph, m('y'), from.size() - 1);
}

NodeId sum_of_products(const Match& m) {
  return accumulate(m.graph, Op::kReduceSum, {make(m.graph, Op::kMul, {m('x'), m('y')})}, m.top().attributes.count);
}

}  // namespace

RuleSet contract_rules() {
  const auto contraction = [] { return op(Op::kContract, {any('x'), any('y')}); };
  return {
      {"contract.only_ones", "contraction over axes of size 1 == x * y + 0", contraction(), reduces_only_ones,
       product_plus_zero},
      {"contract.without_ones", "reduced axes of size 1 fall out", contraction(), nullptr, without_ones},
      {"contract.dead_taps", "taps that meet only padding with zeros are left out, given finite weights", contraction(),
       nullptr, drop_dead_taps},
  };
}

RuleSet fast_rules() {
  return {
      {"contract.few_results", "contraction with fewer than 4 results == reduce_sum(x * y), another order of the sum",
       op(Op::kContract, {any('x'), any('y')}), is_long_sum_of_few, sum_of_products},
  };
}

}  // namespace tandem::rewriting
