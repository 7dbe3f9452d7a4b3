// Arithmetic that changes no bit. Floats: x + -0 == x, but x + 0 turns -0 into +0, so that it must stay; NaN stays NaN
// on both sides of every rule, and all NaNs are one value.

#include <cmath>
#include <limits>

#include "core/graph/constant.h"
#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"

namespace tandem::rewriting {

namespace {

bool whole_numbers(const Match& m) { return is_integer(m.top().dtype); }
bool no_floats(const Match& m) { return !is_float(m.top().dtype); }
bool floats(const Match& m) { return is_float(m.top().dtype); }
NodeId x(const Match& m) { return m('x'); }
NodeId zero(const Match& m) { return filled(m.graph, m.top().dtype, 0, m.top().shape); }

/// The number that changes no result of min (the largest) or max (the smallest).
bool is_neutral(const Match& m) {
  const Node& scalar = m.node('c');
  const bool smallest = m.top().op == Op::kMax;
  if (is_float(scalar.dtype))
    return scalar.attributes.value == (smallest ? -1 : 1) * std::numeric_limits<double>::infinity();
  if (scalar.dtype == DType::kBool) return scalar.attributes.integer == (smallest ? 0 : 1);
  const auto bits = static_cast<int>(8 * size_of(scalar.dtype));
  const uint64_t all = ~uint64_t{0} >> (64 - bits);
  uint64_t want = is_unsigned(scalar.dtype) ? all : all >> 1;
  if (smallest) want = all & ~want;
  return (static_cast<uint64_t>(scalar.attributes.integer) & all) == want;
}

/// c is a power of two whose inverse the dtype holds as a normal number: x / c and x * (1 / c) round the same value.
bool is_power_of_two(const Match& m) {
  const Node& scalar = m.node('c');
  if (!is_float(scalar.dtype)) return false;
  int exponent = 0;
  const bool power = std::fabs(std::frexp(scalar.attributes.value, &exponent)) == 0.5;
  const int most = scalar.dtype == DType::kF64 ? 1000 : scalar.dtype == DType::kF16 ? 13 : 120;
  return power && exponent - 1 <= most && exponent - 1 >= -most;
}

NodeId times_inverse(const Match& m) {
  const double inverse = 1 / m.node('c').attributes.value;
  return make(m.graph, Op::kMul, {m('x'), filled(m.graph, m.top().dtype, inverse, m.top().shape)});
}

bool constant_on_the_left(const Match& m) { return !uniform_scalar(m.graph, m.top().operands[1]).has_value(); }

RuleSet neutral_elements() {
  return {
      {"algebra.multiply_one", "x * 1 == x", either(Op::kMul, any('x'), number(1)), nullptr, x},
      {"algebra.divide_one", "x / 1 == x", op(Op::kDiv, {any('x'), number(1)}), nullptr, x},
      {"algebra.add_negative_zero", "x + -0 == x", either(Op::kAdd, any('x'), number(-0.0)), nullptr, x},
      {"algebra.subtract_zero", "x - 0 == x", op(Op::kSub, {any('x'), number(0)}), nullptr, x},
      {"algebra.multiply_zero", "x * 0 == 0 (integers, bool)", either(Op::kMul, any('x'), number(0)), no_floats, zero},
      {"algebra.add_true", "x + true == true (bool)", either(Op::kAdd, any('x'), number(1)),
       [](const Match& m) { return m.top().dtype == DType::kBool; },
       [](const Match& m) { return filled(m.graph, DType::kBool, 1, m.top().shape); }},
      {"algebra.modulo_one", "x mod 1 == 0", op(Op::kMod, {any('x'), number(1)}), whole_numbers, zero},
      {"algebra.modulo_zero", "x mod 0 == x", op(Op::kMod, {any('x'), number(0)}), nullptr, x},
      {"algebra.divide_zero", "x / 0 == 0 (integers)", op(Op::kDiv, {any('x'), number(0)}), whole_numbers, zero},
      {"algebra.power_one", "x ^ 1 == x", op(Op::kPow, {any('x'), number(1)}), nullptr, x},
      {"algebra.min_max_end", "min(x, largest) == x, max(x, smallest) == x",
       either({Op::kMin, Op::kMax}, any('x'), uniform('c')), is_neutral, x},
  };
}

RuleSet repeated_operands() {
  return {
      {"algebra.min_max_same", "min(x, x) == x", op({Op::kMin, Op::kMax}, {any('x'), any('x')}), nullptr, x},
      {"algebra.min_max_absorb", "min(min(x, y), x) == min(x, y)",
       either({Op::kMin, Op::kMax}, either({Op::kMin, Op::kMax}, any('x'), any('y'), 'z'), any('x')),
       [](const Match& m) { return m.node('z').op == m.top().op; }, [](const Match& m) { return m('z'); }},
      {"algebra.min_max_numbers", "min(min(x, a), b) == min(x, min(a, b))",
       either({Op::kMin, Op::kMax}, either({Op::kMin, Op::kMax}, any('x'), uniform('a'), 'z'), uniform('b')),
       [](const Match& m) { return m.node('z').op == m.top().op; },
       [](const Match& m) {
         const NodeId scalar = make(m.graph, m.top().op, {m('a'), m('b')});
         return make(m.graph, m.top().op, {m('x'), filled(m.graph, scalar, m.top().shape)});
       }},
      {"algebra.subtract_same", "x - x == 0 (integers)", op(Op::kSub, {any('x'), any('x')}), whole_numbers, zero},
      {"algebra.add_numbers", "(x + a) + b == x + (a + b) (integers, bool; also *)",
       either({Op::kAdd, Op::kMul}, either({Op::kAdd, Op::kMul}, any('x'), uniform('a'), 'z'), uniform('b')),
       [](const Match& m) { return no_floats(m) && m.node('z').op == m.top().op; },
       [](const Match& m) {
         const NodeId scalar = make(m.graph, m.top().op, {m('a'), m('b')});
         return make(m.graph, m.top().op, {m('x'), filled(m.graph, scalar, m.top().shape)});
       }},
      {"algebra.number_to_the_right", "c * x == x * c",
       op({Op::kAdd, Op::kMul, Op::kMin, Op::kMax, Op::kAnd, Op::kOr, Op::kXor, Op::kEqual, Op::kNotEqual},
          {uniform('c'), any('x')}),
       constant_on_the_left,
       [](const Match& m) { return make(m.graph, m.top().op, {m.top().operands[1], m.top().operands[0]}); }},
  };
}

RuleSet signs() {
  return {
      {"algebra.negate_twice", "-(-x) == x", op(Op::kNeg, {op(Op::kNeg, {any('x')})}), nullptr, x},
      {"algebra.abs_of_sign", "|-x| == |x|, ||x|| == |x| (signed)",
       op(Op::kAbs, {op({Op::kNeg, Op::kAbs}, {any('x')})}), [](const Match& m) { return !is_unsigned(m.top().dtype); },
       [](const Match& m) { return make(m.graph, Op::kAbs, {m('x')}); }},
      {"algebra.abs_of_unsigned", "|x| == x (unsigned)", op(Op::kAbs, {any('x')}),
       [](const Match& m) { return is_unsigned(m.top().dtype); }, x},
      {"algebra.add_negated", "x + (-y) == x - y", either(Op::kAdd, any('x'), op(Op::kNeg, {any('y')})), nullptr,
       [](const Match& m) { return make(m.graph, Op::kSub, {m('x'), m('y')}); }},
      {"algebra.subtract_negated", "x - (-y) == x + y", op(Op::kSub, {any('x'), op(Op::kNeg, {any('y')})}), nullptr,
       [](const Match& m) { return make(m.graph, Op::kAdd, {m('x'), m('y')}); }},
      {"algebra.zero_minus", "0 - x == -x (integers)", op(Op::kSub, {number(0), any('x')}), whole_numbers,
       [](const Match& m) { return make(m.graph, Op::kNeg, {m('x')}); }},
      {"algebra.negative_zero_minus", "-0 - x == -x (floats)", op(Op::kSub, {number(-0.0), any('x')}), floats,
       [](const Match& m) { return make(m.graph, Op::kNeg, {m('x')}); }},
      {"algebra.multiply_minus_one", "x * -1 == -x", either(Op::kMul, any('x'), number(-1)),
       [](const Match& m) { return m.top().dtype != DType::kBool; },
       [](const Match& m) { return make(m.graph, Op::kNeg, {m('x')}); }},
      {"algebra.multiply_negated", "(-x) * (-y) == x * y (also /)",
       op({Op::kMul, Op::kDiv}, {op(Op::kNeg, {any('x')}), op(Op::kNeg, {any('y')})}),
       [](const Match& m) { return floats(m) || m.top().op == Op::kMul; },
       [](const Match& m) { return make(m.graph, m.top().op, {m('x'), m('y')}); }},
      {"algebra.negate_difference", "-(x - y) == y - x (integers)", op(Op::kNeg, {op(Op::kSub, {any('x'), any('y')})}),
       whole_numbers, [](const Match& m) { return make(m.graph, Op::kSub, {m('y'), m('x')}); }},
      {"algebra.divide_power_of_two", "x / 2^n == x * 2^-n", op(Op::kDiv, {any('x'), uniform('c')}), is_power_of_two,
       times_inverse},
      {"algebra.square", "x ^ 2 == x * x (all floats but f64: the square is exact before it is rounded)",
       op(Op::kPow, {any('x'), number(2)}), [](const Match& m) { return m.top().dtype != DType::kF64; },
       [](const Match& m) { return make(m.graph, Op::kMul, {m('x'), m('x')}); }},
  };
}

}  // namespace

RuleSet algebra_rules() { return neutral_elements() + repeated_operands() + signs(); }

}  // namespace tandem::rewriting
