// Casts that follow each other, and roundings of numbers that are whole.

#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"

namespace tandem::rewriting {

namespace {

/// x -> between -> to is x -> to. Integers wrap on their way to narrower integers, floats saturate: an integer that
/// went through a float must come out whole.
bool skips_between(const Match& m) {
  const DType from = m.node('x').dtype, between = m.node('z').dtype, to = m.top().dtype;
  const bool saturates = is_float(between) && !is_float(from) && !is_float(to) && to != DType::kBool;
  if (saturates) return holds(between, from) && holds(to, from);
  if (holds(between, from)) return true;
  return is_integer(from) && is_integer(between) && is_integer(to) && size_of(between) >= size_of(to);
}

bool is_whole(const Node& node, const Graph& graph) {
  if (node.op == Op::kCast) return !is_float(graph.node(node.operands[0]).dtype);
  return true;
}

}  // namespace

RuleSet cast_rules() {
  return {
      {"cast.same", "cast to its own dtype == x", op({Op::kCast, Op::kBitcast}, {any('x')}),
       [](const Match& m) { return m.top().dtype == m.node('x').dtype; }, [](const Match& m) { return m('x'); }},
      {"cast.twice", "cast(cast(x)) == cast(x), where the dtype between loses nothing that the last one shows",
       op(Op::kCast, {op(Op::kCast, {any('x')}, 'z')}), skips_between,
       [](const Match& m) { return make(m.graph, Op::kCast, {m('x')}, m.top().dtype); }},
      // Not by way of a float: all NaNs are one value there, whatever their bits were.
      {"cast.bitcast_twice", "bitcast(bitcast(x)) == bitcast(x), by way of an integer",
       op(Op::kBitcast, {op(Op::kBitcast, {any('x')}, 'z')}),
       [](const Match& m) { return !is_float(m.node('z').dtype); },
       [](const Match& m) { return make(m.graph, Op::kBitcast, {m('x')}, m.top().dtype); }},
      {"cast.round_whole", "a rounding of a whole number is the number itself",
       op({Op::kFloor, Op::kCeil, Op::kTrunc, Op::kRound},
          {op({Op::kFloor, Op::kCeil, Op::kTrunc, Op::kRound, Op::kCast}, {any('x')}, 'z')}),
       [](const Match& m) { return is_whole(m.node('z'), m.graph); }, [](const Match& m) { return m('z'); }},
      {"cast.not_zero", "(x != 0) == cast(x, bool), (x != 0) of bool == x", either(Op::kNotEqual, any('x'), number(0)),
       nullptr, [](const Match& m) { return make(m.graph, Op::kCast, {m('x')}, DType::kBool); }},
  };
}

}  // namespace tandem::rewriting
