#include <algorithm>

#include "core/index/node.h"

namespace tandem::index_detail {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

/// Position of the factor among sorted terms.
size_t find_factor(const LinearSum& sum, const Index& factor) {
  const auto place =
      std::lower_bound(sum.terms.begin(), sum.terms.end(), factor,
                       [](const Index::Term& term, const Index& wanted) { return compare(term.factor, wanted) < 0; });
  if (place == sum.terms.end() || compare(place->factor, factor) != 0) return kNone;
  return static_cast<size_t>(place - sum.terms.begin());
}

/// Are all terms of scale * part among the terms of the sum, with the same coefficients?
bool contains(const LinearSum& sum, const Index& part, int64_t scale) {
  bool all = true;
  for_each_term(part, [&](int64_t coefficient, const Index& factor) {
    int64_t needed = 0;
    if (!all || __builtin_mul_overflow(scale, coefficient, &needed)) {
      all = false;
      return;
    }
    const size_t place = find_factor(sum, factor);
    all = place != kNone && sum.terms[place].coefficient == needed;
  });
  return all;
}

void remove_term(LinearSum& sum, size_t i) { sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(i)); }

/// A factor written as rest * (numerator mod divisor).
struct Remainder {
  Index rest;
  Index numerator;
  Index divisor;
};

std::vector<Remainder> remainders_of(const Index& factor) {
  std::vector<Remainder> found;
  if (factor.kind() == IndexKind::kMod) found.push_back({1, factor.operands()[0], factor.operands()[1]});
  if (factor.kind() != IndexKind::kProduct) return found;
  for (size_t i = 0; i < factor.operands().size(); ++i) {
    const Index& operand = factor.operands()[i];
    if (operand.kind() != IndexKind::kMod) continue;
    Index rest = 1;
    for (size_t j = 0; j < factor.operands().size(); ++j) {
      if (j != i) rest = rest * factor.operands()[j];
    }
    found.push_back({rest, operand.operands()[0], operand.operands()[1]});
  }
  return found;
}

/// A cheap test before the quotient is built: could another term be c*a*(x div a) or c*a*((x div a) mod b)?
bool has_candidate(const LinearSum& sum, size_t i, const Remainder& remainder) {
  const bool constant = remainder.divisor.is_constant();
  int64_t wanted = 0;
  if (constant && __builtin_mul_overflow(sum.terms[i].coefficient, remainder.divisor.constant(), &wanted)) return false;
  for (size_t j = 0; j < sum.terms.size(); ++j) {
    const IndexKind kind = sum.terms[j].factor.kind();
    if (j == i || is_leaf(kind)) continue;
    if (!constant || sum.terms[j].coefficient == wanted) return true;
  }
  return false;
}

/// c*(x mod a) + c*a*((x div a) mod b) = c*(x mod (a*b)), for a number a.  rule: join-two-remainders
bool join_two_remainders(LinearSum& sum, size_t i, const Remainder& low, const Index& quotient) {
  const int64_t scale = sum.terms[i].coefficient;
  const int64_t wanted = checked_multiply(scale, low.divisor.constant());
  for (size_t j = 0; j < sum.terms.size(); ++j) {
    if (j == i || sum.terms[j].coefficient != wanted) continue;
    for (const Remainder& high : remainders_of(sum.terms[j].factor)) {
      if (high.numerator != quotient || high.rest != low.rest) continue;
      const Index joined = low.rest * floor_mod(low.numerator, low.divisor * high.divisor);
      remove_term(sum, std::max(i, j));
      remove_term(sum, std::min(i, j));
      sum.add(joined, scale);
      return true;
    }
  }
  return false;
}

/// c*(x mod a) + c*a*(x div a) = c*x, where c may hold symbols.  rule: join-remainder
bool join_remainder(LinearSum& sum, size_t i) {
  const int64_t scale = sum.terms[i].coefficient;
  if (scale == kNoLower) return false;
  for (const Remainder& remainder : remainders_of(sum.terms[i].factor)) {
    if (!has_candidate(sum, i, remainder)) continue;
    const Index quotient = floor_div(remainder.numerator, remainder.divisor);
    const Index product = remainder.rest * quotient * remainder.divisor;
    if (!product.is_constant() && contains(sum, product, scale)) {
      remove_term(sum, i);
      sum.add(product, -scale);
      sum.add(remainder.rest * remainder.numerator, scale);
      return true;
    }
    if (remainder.divisor.is_constant() && join_two_remainders(sum, i, remainder, quotient)) return true;
  }
  return false;
}

/// k*(x div a) for an x that is a multiple of a: the common part of k and a cancels.  rule: cancel-exact-quotient
bool cancel_exact_quotient(LinearSum& sum, size_t i) {
  const Index quotient = sum.terms[i].factor;
  const Index& numerator = quotient.node().operands[0];
  const int64_t divisor = quotient.node().operands[1].constant();
  const int64_t common = greatest_common_divisor(sum.terms[i].coefficient, divisor);
  if (common == 1 || numerator.multiple() % divisor != 0) return false;
  const int64_t coefficient = sum.terms[i].coefficient / common;
  remove_term(sum, i);
  sum.add(floor_div(numerator, Index(divisor / common)), coefficient);
  return true;
}

/// c*x - c*a*(x div a) = c*(x mod a).  rule: join-quotient
bool join_quotient(LinearSum& sum, size_t i) {
  const Index quotient = sum.terms[i].factor;
  const Index numerator = quotient.node().operands[0];
  const int64_t divisor = quotient.node().operands[1].constant();
  if (sum.terms[i].coefficient % divisor != 0 || sum.terms[i].coefficient == kNoLower) return false;
  const int64_t scale = -(sum.terms[i].coefficient / divisor);
  if (!contains(sum, numerator, scale)) return false;
  remove_term(sum, i);
  sum.add(numerator, checked_multiply(scale, -1));
  sum.add(floor_mod(numerator, Index(divisor)), scale);
  return true;
}

}  // namespace

bool recombine(LinearSum& sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Index& factor = sum.terms[i].factor;
    if (factor.kind() == IndexKind::kMod || factor.kind() == IndexKind::kProduct) {
      if (sum.terms.size() > 1 && join_remainder(sum, i)) return true;
    } else if (factor.kind() == IndexKind::kFloorDiv && factor.node().operands[1].is_constant()) {
      if (cancel_exact_quotient(sum, i)) return true;
      if (sum.terms.size() > 1 && join_quotient(sum, i)) return true;
    }
  }
  return false;
}

}  // namespace tandem::index_detail
