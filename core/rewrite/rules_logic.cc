// Comparisons, bool, bit operations, where. Comparisons with NaN are false (ne: true), which decides what holds for
// floats.

#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"

namespace tandem::rewriting {

namespace {

NodeId x(const Match& m) { return m('x'); }
NodeId filled_like_root(const Match& m, double number) { return filled(m.graph, m.top().dtype, number, m.top().shape); }
NodeId none(const Match& m) { return filled_like_root(m, 0); }
NodeId all(const Match& m) { return filled_like_root(m, -1); }
NodeId negated(const Match& m) { return make(m.graph, Op::kNot, {m('x')}); }
bool compares_bool(const Match& m) { return m.node('x').dtype == DType::kBool; }
bool no_floats(const Match& m) { return !is_float(m.node('x').dtype); }
bool root_is_bool(const Match& m) { return m.top().dtype == DType::kBool; }

RuleSet comparisons() {
  return {
      {"logic.less_same", "x < x == false", op(Op::kLess, {any('x'), any('x')}), nullptr, none},
      {"logic.equal_same", "x == x, x <= x are true (integers, bool)",
       op({Op::kEqual, Op::kLessEqual}, {any('x'), any('x')}), no_floats, all},
      {"logic.not_equal_same", "x != x is false (integers, bool)", op(Op::kNotEqual, {any('x'), any('x')}), no_floats,
       none},
      {"logic.not_equality", "not (x == y) == (x != y) and back",
       op(Op::kNot, {op({Op::kEqual, Op::kNotEqual}, {any('x'), any('y')}, 'z')}), nullptr,
       [](const Match& m) {
         return make(m.graph, m.node('z').op == Op::kEqual ? Op::kNotEqual : Op::kEqual, {m('x'), m('y')});
       }},
      {"logic.not_order", "not (x < y) == (y <= x) and back (integers, bool)",
       op(Op::kNot, {op({Op::kLess, Op::kLessEqual}, {any('x'), any('y')}, 'z')}), no_floats,
       [](const Match& m) {
         return make(m.graph, m.node('z').op == Op::kLess ? Op::kLessEqual : Op::kLess, {m('y'), m('x')});
       }},
      {"logic.equal_true", "(x == true) == x, (x != false) == x (bool)",
       either({Op::kEqual, Op::kNotEqual}, any('x'), uniform('c')),
       [](const Match& m) {
         return compares_bool(m) && (m.node('c').attributes.integer == 1) == (m.top().op == Op::kEqual);
       },
       x},
      {"logic.equal_false", "(x == false) == not x, (x != true) == not x (bool)",
       either({Op::kEqual, Op::kNotEqual}, any('x'), uniform('c')),
       [](const Match& m) {
         return compares_bool(m) && (m.node('c').attributes.integer == 0) == (m.top().op == Op::kEqual);
       },
       negated},
      {"logic.compare_negated", "(-x < -y) == (y < x) (floats; also <=)",
       op({Op::kLess, Op::kLessEqual}, {op(Op::kNeg, {any('x')}), op(Op::kNeg, {any('y')})}),
       [](const Match& m) { return is_float(m.node('x').dtype); },
       [](const Match& m) { return make(m.graph, m.top().op, {m('y'), m('x')}); }},
  };
}

RuleSet bits() {
  return {
      {"logic.not_twice", "not not x == x", op(Op::kNot, {op(Op::kNot, {any('x')})}), nullptr, x},
      {"logic.and_or_same", "x and x == x, x or x == x", op({Op::kAnd, Op::kOr}, {any('x'), any('x')}), nullptr, x},
      {"logic.bool_sum_same", "x + x == x, x * x == x (bool)", op({Op::kAdd, Op::kMul}, {any('x'), any('x')}),
       root_is_bool, x},
      {"logic.xor_same", "x xor x == 0", op(Op::kXor, {any('x'), any('x')}), nullptr, none},
      {"logic.and_zero", "x and 0 == 0", either(Op::kAnd, any('x'), number(0)), nullptr, none},
      {"logic.and_all", "x and all == x", either(Op::kAnd, any('x'), number(-1)), nullptr, x},
      {"logic.or_zero", "x or 0 == x, x xor 0 == x, x + 0 == x (integers, bool)",
       either({Op::kOr, Op::kXor, Op::kAdd}, any('x'), number(0)), no_floats, x},
      {"logic.or_all", "x or all == all", either(Op::kOr, any('x'), number(-1)), nullptr, all},
      {"logic.xor_all", "x xor all == not x", either(Op::kXor, any('x'), number(-1)), nullptr, negated},
      {"logic.shift_zero", "x << 0 == x >> 0 == x", op({Op::kShl, Op::kShr}, {any('x'), number(0)}), nullptr, x},
      {"logic.absorb", "x and (x or y) == x, x or (x and y) == x",
       either({Op::kAnd, Op::kOr}, any('x'), either({Op::kAnd, Op::kOr}, any('x'), any('y'), 'z')),
       [](const Match& m) { return m.node('z').op != m.top().op; }, x},
      {"logic.and_or_repeated", "(x and y) and x == x and y, (x or y) or x == x or y",
       either({Op::kAnd, Op::kOr}, any('x'), either({Op::kAnd, Op::kOr}, any('x'), any('y'), 'z')),
       [](const Match& m) { return m.node('z').op == m.top().op; }, [](const Match& m) { return m('z'); }},
  };
}

RuleSet selections() {
  return {
      {"logic.where_same", "where(c, x, x) == x", op(Op::kWhere, {any('c'), any('x'), any('x')}), nullptr, x},
      {"logic.where_true", "where(true, x, y) == x", op(Op::kWhere, {number(1), any('x'), any('y')}), nullptr, x},
      {"logic.where_false", "where(false, y, x) == x", op(Op::kWhere, {number(0), any('y'), any('x')}), nullptr, x},
      {"logic.where_not", "where(not c, x, y) == where(c, y, x)",
       op(Op::kWhere, {op(Op::kNot, {any('c')}), any('x'), any('y')}), nullptr,
       [](const Match& m) { return make(m.graph, Op::kWhere, {m('c'), m('y'), m('x')}); }},
      {"logic.where_to_condition", "where(x, true, false) == x (bool)",
       op(Op::kWhere, {any('x'), number(1), number(0)}), root_is_bool, x},
      {"logic.where_to_not", "where(x, false, true) == not x (bool)", op(Op::kWhere, {any('x'), number(0), number(1)}),
       root_is_bool, negated},
      {"logic.where_in_true_part", "where(c, where(c, x, y), z) == where(c, x, z)",
       op(Op::kWhere, {any('c'), op(Op::kWhere, {any('c'), any('x'), any('y')}), any('z')}), nullptr,
       [](const Match& m) { return make(m.graph, Op::kWhere, {m('c'), m('x'), m('z')}); }},
      {"logic.where_in_false_part", "where(c, z, where(c, x, y)) == where(c, z, y)",
       op(Op::kWhere, {any('c'), any('z'), op(Op::kWhere, {any('c'), any('x'), any('y')})}), nullptr,
       [](const Match& m) { return make(m.graph, Op::kWhere, {m('c'), m('z'), m('y')}); }},
  };
}

}  // namespace

RuleSet logic_rules() { return comparisons() + bits() + selections(); }

}  // namespace tandem::rewriting
