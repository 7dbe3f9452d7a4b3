// Operations on numbers. What the op table prescribes exactly is computed here, in the dtype of the node; functions
// with error bounds stay for the kernels, whose own polynomials give the same bits everywhere.

#include <algorithm>

#include "core/graph/constant.h"
#include "core/rewrite/make.h"
#include "core/rewrite/rules.h"
#include "core/rewrite/scalar.h"

namespace tandem::rewriting {

namespace {

const std::vector<Op>& exact_ops() {
  static const std::vector<Op> ops = {
      Op::kNeg, Op::kAbs, Op::kSqrt, Op::kFloor, Op::kCeil,      Op::kTrunc, Op::kRound,    Op::kNot,  Op::kCast,
      Op::kAdd, Op::kSub, Op::kMul,  Op::kDiv,   Op::kMod,       Op::kMin,   Op::kMax,      Op::kAnd,  Op::kOr,
      Op::kXor, Op::kShl, Op::kShr,  Op::kLess,  Op::kLessEqual, Op::kEqual, Op::kNotEqual, Op::kWhere};
  return ops;
}

bool all_scalars(const Match& m) {
  const std::vector<NodeId>& operands = m.top().operands;
  return std::all_of(operands.begin(), operands.end(), [&](NodeId operand) { return m.at(operand).op == Op::kScalar; });
}

NodeId folded(const Match& m) { return fold_scalars(m.graph, m.top()).value_or(kNoNode); }

bool constant_size(const Match& m) { return m.top().attributes.size[0].is_constant(); }

}  // namespace

RuleSet scalar_rules() {
  return {
      {"scalar.fold", "an exactly prescribed op on numbers == its value", op(exact_ops()), all_scalars, folded},
      {"scalar.size", "size of a number == the number", op(Op::kSize), constant_size,
       [](const Match& m) { return make_integer_scalar(m.graph, DType::kI64, m.top().attributes.size[0].constant()); }},
  };
}

}  // namespace tandem::rewriting
