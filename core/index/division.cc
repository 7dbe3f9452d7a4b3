#include "core/base/text.h"
#include "core/index/node.h"

namespace tandem {
namespace {

using namespace index_detail;

/// The term of the divisor with the most factors: what a long division goes by.
Index leading_term(const Index& divisor) {
  Index leading;
  size_t most = 0;
  for_each_term(divisor, [&](int64_t coefficient, const Index& factor) {
    const size_t degree = factor.kind() == IndexKind::kProduct ? factor.operands().size() : 1;
    if (degree <= most) return;
    most = degree;
    leading = factor * Index(coefficient);
  });
  return leading;
}

/// Long division by a sum such as t + 1, when the rest is provably in [0, divisor).
std::optional<Split> divide_by_sum(const Index& a, const Index& divisor) {
  if (is_monomial(divisor)) return std::nullopt;
  const Index leading = leading_term(divisor);
  int64_t coefficient = 1;
  for_each_term(leading, [&](int64_t c, const Index&) { coefficient = c; });
  if (coefficient < 1) return std::nullopt;
  Split result{0, a};
  constexpr int kMostSteps = 8;
  for (int step = 0; step < kMostSteps; ++step) {
    const Index quotient = split_by(result.rest, leading).quotient;
    if (quotient.is(0)) break;
    result = {result.quotient + quotient, result.rest - quotient * divisor};
  }
  if (result.quotient.is(0)) return std::nullopt;
  const auto block = provable_block(result.rest, divisor);
  if (!block) return std::nullopt;
  result.quotient = result.quotient + Index(*block);
  result.rest = result.rest - divisor * Index(*block);
  return result;
}

/// a = quotient * divisor + rest for a divisor of one term; the rest need not be in [0, divisor).
std::optional<Split> separate(const Index& a, const Index& divisor) {
  if (!is_monomial(divisor)) return std::nullopt;
  Split split = split_by(a, divisor);
  if (split.quotient.is(0)) return std::nullopt;
  return split;
}

/// In a remainder by `divisor`, an inner remainder by a multiple of it is its operand.
std::optional<Index> without_inner_remainders(const Index& a, const Index& divisor) {
  bool changed = false;
  LinearSum sum;
  if (a.kind() == IndexKind::kSum) sum.offset = a.node().offset;
  for_each_term(a, [&](int64_t coefficient, const Index& factor) {
    if (factor.kind() == IndexKind::kMod && divide_exactly(factor.operands()[1], divisor)) {
      changed = true;
      sum.add(factor.operands()[0], coefficient);
    } else {
      sum.add_term(factor, coefficient);
    }
  });
  if (!changed) return std::nullopt;
  return std::move(sum).build();
}

size_t term_count(const Index& a) {
  size_t count = 0;
  for_each_term(a, [&](int64_t, const Index&) { count++; });
  return count;
}

/// (r + c*(x mod m)) div b = (r + c*x) div b - k*(x div m) for c*m = k*b, where c*x cancels with terms of r: a size
/// that is rounded to a multiple and divided, like (t - t mod 2) div 2.
std::optional<Index> quotient_of_rounded(const Index& a, const Index& divisor) {
  if (!divisor.is_constant() || a.kind() != IndexKind::kSum) return std::nullopt;
  const size_t before = term_count(a);
  std::optional<Index> found;
  for_each_term(a, [&](int64_t coefficient, const Index& factor) {
    if (found || factor.kind() != IndexKind::kMod || !factor.operands()[1].is_constant()) return;
    int64_t whole = 0;
    if (__builtin_mul_overflow(coefficient, factor.operands()[1].constant(), &whole)) return;
    if (whole % divisor.constant() != 0) return;
    const Index without = a - factor * Index(coefficient) + factor.operands()[0] * Index(coefficient);
    if (term_count(without) >= before) return;
    found = floor_div(without, divisor) -
            Index(whole / divisor.constant()) * floor_div(factor.operands()[0], factor.operands()[1]);
  });
  return found;
}

/// (x div d + r) for a constant r.
struct QuotientAndOffset {
  Index numerator;
  Index divisor;
  int64_t offset = 0;
};

std::optional<QuotientAndOffset> as_quotient(const Index& a) {
  if (a.kind() == IndexKind::kFloorDiv) return QuotientAndOffset{a.operands()[0], a.operands()[1], 0};
  if (a.kind() != IndexKind::kSum || a.node().terms.size() != 1) return std::nullopt;
  const Index::Term& term = a.node().terms[0];
  if (term.coefficient != 1 || term.factor.kind() != IndexKind::kFloorDiv) return std::nullopt;
  return QuotientAndOffset{term.factor.operands()[0], term.factor.operands()[1], a.node().offset};
}

void check_divisor(const Index& a, const Index& b) {
  TANDEM_CHECK(b.lower() >= 1 || provably_at_least(b, 1),
               concat("(", a.text(), ") divided by ", b.text(), ": the divisor must be provably positive"));
}

/// A part g of the divisor g*b and the block of g that holds what g doesn't divide.
struct PartialSplit {
  Index part;
  Index other;     ///< b
  Index quotient;  ///< a = part * quotient + rest
  Index rest;      ///< 0 <= rest < part
};

std::optional<PartialSplit> split_partially(const Index& a, const Index& divisor) {
  for (const Index& part : divisor_candidates(a, divisor)) {
    const Split split = split_by(a, part);
    if (split.quotient.is(0)) continue;
    const auto block = provable_block(split.rest, part);
    if (!block) continue;
    const auto other = divide_exactly(divisor, part);
    if (!other) continue;
    return PartialSplit{part, *other, split.quotient + Index(*block), split.rest - part * Index(*block)};
  }
  return std::nullopt;
}

}  // namespace

Index floor_div(const Index& a, const Index& b) {
  check_divisor(a, b);
  if (is_single(b) && !b.is_constant()) return floor_div(a, Index(b.lower()));
  if (b.is(1)) return a;  // rule: divide-by-one
  if (a.is_constant() && b.is_constant()) return floor_quotient(a.constant(), b.constant());
  // rule: split-quotient
  if (const auto split = separate(a, b)) return split->quotient + floor_div(split->rest, b);
  // rule: quotient-of-rounded
  if (const auto rounded = quotient_of_rounded(a, b)) return *rounded;
  // rule: block-quotient
  if (const auto block = provable_block(a, b)) return *block;
  if (const auto split = divide_by_sum(a, b)) return split->quotient;
  // rule: nested-quotient
  if (const auto inner = as_quotient(a)) {
    return floor_div(inner->numerator + inner->divisor * Index(inner->offset), inner->divisor * b);
  }
  // rule: quotient-of-remainder
  if (a.kind() == IndexKind::kMod) {
    const auto blocks = divide_exactly(a.operands()[1], b);
    if (blocks && provably_at_least(*blocks, 1)) return floor_mod(floor_div(a.operands()[0], b), *blocks);
  }
  // rule: partial-quotient
  if (const auto split = split_partially(a, b)) {
    // (x div d) div b has become x div (d*b) above: taking an exact d out of x again would go in circles.
    if (!split->rest.is(0) || !as_quotient(split->quotient)) return floor_div(split->quotient, split->other);
  }
  return make_floor_div(a, b);
}

Index floor_mod(const Index& a, const Index& b) {
  check_divisor(a, b);
  if (is_single(b) && !b.is_constant()) return floor_mod(a, Index(b.lower()));
  if (b.is(1)) return 0;  // rule: divide-by-one
  if (a.is_constant() && b.is_constant()) return floor_remainder(a.constant(), b.constant());
  // rule: inner-remainder
  if (const auto plain = without_inner_remainders(a, b)) return floor_mod(*plain, b);
  // rule: split-remainder
  if (const auto split = separate(a, b)) return floor_mod(split->rest, b);
  // rule: block-remainder
  if (const auto block = provable_block(a, b)) return a - b * Index(*block);
  if (const auto split = divide_by_sum(a, b)) return split->rest;
  // rule: partial-remainder
  if (const auto split = split_partially(a, b)) {
    return split->part * floor_mod(split->quotient, split->other) + split->rest;
  }
  return make_floor_mod(a, b);
}

Index ceil_div(const Index& a, const Index& b) { return floor_div(a + (b - 1), b); }

}  // namespace tandem
