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

/// Takes two terms out and adds scale * with.
void replace_two(LinearSum& sum, size_t i, size_t j, const Index& with, int64_t scale) {
  sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
  sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
  sum.add(with, scale);
}

/// c*(x mod a) + c*a*(x div a) = c*x, and c*(x mod a) + c*a*((x div a) mod b) = c*(x mod (a*b)).
bool join_remainder(LinearSum& sum, size_t i) {
  const Index remainder = sum.terms[i].factor;
  const int64_t scale = sum.terms[i].coefficient;
  const Index& numerator = remainder.node().operands[0];
  const Index& divisor = remainder.node().operands[1];
  int64_t wanted = 0;
  if (divisor.is_constant() && __builtin_mul_overflow(scale, divisor.constant(), &wanted)) return false;
  const bool constant = divisor.is_constant();
  const bool possible = std::any_of(sum.terms.begin(), sum.terms.end(), [&](const Index::Term& term) {
    const IndexKind kind = term.factor.kind();
    if (!constant) return kind == IndexKind::kProduct;
    return term.coefficient == wanted && (kind == IndexKind::kFloorDiv || kind == IndexKind::kMod);
  });
  if (!possible) return false;
  const Index quotient = floor_div(numerator, divisor);
  const Index product = quotient * divisor;
  size_t match = kNone;
  int64_t coefficient = 0;
  int terms = 0;
  for_each_term(product, [&](int64_t c, const Index& factor) {
    coefficient = c;
    match = find_factor(sum, factor);
    ++terms;
  });
  const bool single = terms == 1 && (product.kind() != IndexKind::kSum || product.node().offset == 0);
  int64_t needed = 0;
  if (single && match != kNone && match != i && !__builtin_mul_overflow(scale, coefficient, &needed) &&
      sum.terms[match].coefficient == needed) {
    replace_two(sum, i, match, numerator, scale);
    return true;
  }
  if (!constant) return false;
  for (size_t j = 0; j < sum.terms.size(); ++j) {
    const Index other = sum.terms[j].factor;
    if (j == i || other.kind() != IndexKind::kMod || sum.terms[j].coefficient != wanted) continue;
    if (other.node().operands[0] != quotient) continue;
    replace_two(sum, i, j, floor_mod(numerator, divisor * other.node().operands[1]), scale);
    return true;
  }
  return false;
}

/// k*(x div a) for an x that is a multiple of a: the common part of k and a cancels.
bool cancel_exact_quotient(LinearSum& sum, size_t i) {
  const Index quotient = sum.terms[i].factor;
  const Index& numerator = quotient.node().operands[0];
  const int64_t divisor = quotient.node().operands[1].constant();
  const int64_t common = greatest_common_divisor(sum.terms[i].coefficient, divisor);
  if (common == 1 || numerator.multiple() % divisor != 0) return false;
  const int64_t coefficient = sum.terms[i].coefficient / common;
  sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(i));
  sum.add(floor_div(numerator, Index(divisor / common)), coefficient);
  return true;
}

/// c*x - c*a*(x div a) = c*(x mod a).
bool join_quotient(LinearSum& sum, size_t i) {
  const Index quotient = sum.terms[i].factor;
  const Index numerator = quotient.node().operands[0];
  const int64_t divisor = quotient.node().operands[1].constant();
  if (sum.terms[i].coefficient % divisor != 0 || sum.terms[i].coefficient == kNoLower) return false;
  const int64_t scale = -(sum.terms[i].coefficient / divisor);
  bool all = true;
  for_each_term(numerator, [&](int64_t coefficient, const Index& factor) {
    int64_t needed = 0;
    if (!all || __builtin_mul_overflow(scale, coefficient, &needed)) {
      all = false;
      return;
    }
    const size_t place = find_factor(sum, factor);
    all = place != kNone && sum.terms[place].coefficient == needed;
  });
  if (!all) return false;
  sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(i));
  sum.add(numerator, checked_multiply(scale, -1));
  sum.add(floor_mod(numerator, Index(divisor)), scale);
  return true;
}

}  // namespace

bool recombine(LinearSum& sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Index& factor = sum.terms[i].factor;
    if (factor.kind() == IndexKind::kMod) {
      if (sum.terms.size() > 1 && join_remainder(sum, i)) return true;
    } else if (factor.kind() == IndexKind::kFloorDiv && factor.node().operands[1].is_constant()) {
      if (cancel_exact_quotient(sum, i)) return true;
      if (sum.terms.size() > 1 && join_quotient(sum, i)) return true;
    }
  }
  return false;
}

}  // namespace tandem::index_detail
