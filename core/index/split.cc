#include <algorithm>

#include "core/index/node.h"

namespace tandem::index_detail {
namespace {

std::vector<Index> factors_of(const Index& factor) {
  if (factor.kind() == IndexKind::kProduct) return factor.node().operands;
  return {factor};
}

Index product_of(const std::vector<Index>& factors) {
  Index product = 1;
  for (const Index& factor : factors) product = product * factor;
  return product;
}

/// The factors without those of the divisor; nothing if one of them is missing. Both lists are in canonical order.
std::optional<std::vector<Index>> without_factors(const std::vector<Index>& factors,
                                                  const std::vector<Index>& divisor) {
  std::vector<Index> rest;
  size_t next = 0;
  for (const Index& factor : factors) {
    if (next < divisor.size() && compare(factor, divisor[next]) == 0) {
      ++next;
    } else {
      rest.push_back(factor);
    }
  }
  if (next != divisor.size()) return std::nullopt;
  return rest;
}

/// The largest divisor of `divisor` that evidently divides coefficient * factor.
int64_t common_divisor(int64_t divisor, int64_t coefficient, const Index& factor) {
  const int64_t common = greatest_common_divisor(divisor, coefficient);
  return common * greatest_common_divisor(divisor / common, factor.multiple());
}

/// factor / divisor for a factor whose values are all multiples of the divisor.
Index exact_quotient(const Index& factor, int64_t divisor) {
  if (divisor == 1) return factor;
  if (factor.kind() == IndexKind::kFloorDiv) {
    return floor_div(factor.operands()[0], factor.operands()[1] * Index(divisor));
  }
  if (factor.kind() == IndexKind::kMod) {
    if (const auto blocks = divide_exactly(factor.operands()[1], Index(divisor))) {
      if (provably_at_least(*blocks, 1)) return floor_mod(floor_div(factor.operands()[0], Index(divisor)), *blocks);
    }
  }
  return make_floor_div(factor, Index(divisor));
}

Split split_by_number(const Index& a, int64_t divisor) {
  LinearSum quotient;
  LinearSum rest;
  const int64_t offset = a.is_constant() ? a.constant() : (a.kind() == IndexKind::kSum ? a.node().offset : 0);
  quotient.offset = floor_quotient(offset, divisor);
  rest.offset = floor_remainder(offset, divisor);
  for_each_term(a, [&](int64_t coefficient, const Index& factor) {
    if (coefficient % divisor != 0 && common_divisor(divisor, coefficient, factor) == divisor) {
      // What the coefficient does not cover, the factor does: the division of the factor is exact.
      // rule: exact-quotient
      const int64_t common = greatest_common_divisor(coefficient, divisor);
      quotient.add(exact_quotient(factor, divisor / common), coefficient / common);
      return;
    }
    // Truncated towards zero, so that a small negative coefficient stays small.
    quotient.add_term(factor, coefficient / divisor);
    rest.add_term(factor, coefficient % divisor);
  });
  return {std::move(quotient).build(), std::move(rest).build()};
}

Split split_by_term(const Index& a, int64_t divisor_coefficient, const Index& divisor_factor) {
  LinearSum quotient;
  LinearSum rest;
  rest.offset = a.is_constant() ? a.constant() : (a.kind() == IndexKind::kSum ? a.node().offset : 0);
  const std::vector<Index> divisor_factors = factors_of(divisor_factor);
  for_each_term(a, [&](int64_t coefficient, const Index& factor) {
    const auto left = without_factors(factors_of(factor), divisor_factors);
    if (!left || coefficient / divisor_coefficient == 0) {
      rest.add_term(factor, coefficient);
      return;
    }
    quotient.add(product_of(*left), coefficient / divisor_coefficient);
    rest.add_term(factor, coefficient % divisor_coefficient);
  });
  return {std::move(quotient).build(), std::move(rest).build()};
}

}  // namespace

bool is_monomial(const Index& a) {
  return a.kind() != IndexKind::kSum || (a.node().terms.size() == 1 && a.node().offset == 0);
}

Split split_by(const Index& a, const Index& divisor) {
  if (divisor.is_constant()) return split_by_number(a, divisor.constant());
  if (divisor.kind() != IndexKind::kSum) return split_by_term(a, 1, divisor);
  const Index::Term& term = divisor.node().terms[0];
  return split_by_term(a, term.coefficient, term.factor);
}

std::optional<Index> divide_exactly(const Index& a, const Index& divisor) {
  if (!is_monomial(divisor)) {
    if (a == divisor) return Index(1);
    return std::nullopt;
  }
  const Split split = split_by(a, divisor);
  if (!split.rest.is(0)) return std::nullopt;
  return split.quotient;
}

std::vector<Index> divisor_candidates(const Index& a, const Index& divisor) {
  std::vector<Index> candidates;
  if (divisor.is_constant()) {
    std::vector<int64_t> numbers;
    for_each_term(a, [&](int64_t coefficient, const Index& factor) {
      const int64_t common = common_divisor(divisor.constant(), coefficient, factor);
      if (common > 1 && common < divisor.constant()) numbers.push_back(common);
    });
    std::sort(numbers.begin(), numbers.end(), [](int64_t x, int64_t y) { return x > y; });
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (int64_t number : numbers) candidates.emplace_back(number);
    return candidates;
  }
  if (!is_monomial(divisor)) return candidates;
  int64_t coefficient = 1;
  std::vector<Index> factors;
  for_each_term(divisor, [&](int64_t c, const Index& factor) {
    coefficient = c;
    factors = factors_of(factor);
  });
  // Both the part and what it leaves of the divisor must be provably positive.
  for (const Index& factor : factors) {
    if (factor.lower() < 1) return candidates;
  }
  if (coefficient < 1 || factors.size() > 4) return candidates;
  const uint32_t all = (uint32_t{1} << factors.size()) - 1;
  for (uint32_t chosen = all + 1; chosen-- > 0;) {
    std::vector<Index> part;
    for (size_t i = 0; i < factors.size(); ++i) {
      if ((chosen >> i & 1) != 0) part.push_back(factors[i]);
    }
    const Index product = product_of(part);
    if (coefficient != 1 && chosen != all) candidates.push_back(product * Index(coefficient));
    if (chosen != 0 && (coefficient != 1 || chosen != all)) candidates.push_back(product);
  }
  return candidates;
}

std::optional<int64_t> provable_block(const Index& a, const Index& divisor) {
  if (divisor.is_constant()) {
    if (const auto block = single_block(interval_of(a), divisor.constant())) return block;
  }
  if (a.is_constant() && divisor.is_constant()) return std::nullopt;
  if (provably_at_least(a, 0)) {
    if (provably_at_least(divisor - a, 1)) return 0;
    return std::nullopt;
  }
  if (provably_at_least(a + divisor, 0) && provably_at_least(0 - a, 1)) return -1;
  return std::nullopt;
}

}  // namespace tandem::index_detail
