#include <algorithm>

#include "core/index/node.h"

namespace tandem {
namespace {

using namespace index_detail;

/// Products of sums are multiplied out up to this many terms, so that differences cancel.
constexpr size_t kMostTerms = 64;

size_t term_count(const Index& a) {
  if (a.kind() != IndexKind::kSum) return 1;
  return a.node().terms.size() + (a.node().offset != 0 ? 1 : 0);
}

void append_factors(std::vector<Index>& factors, const Index& a) {
  if (a.kind() == IndexKind::kProduct) {
    factors.insert(factors.end(), a.node().operands.begin(), a.node().operands.end());
  } else {
    factors.push_back(a);
  }
}

/// The product of two factors that are neither numbers nor, unless they are too long to multiply out, sums.
Index product_of_factors(const Index& a, const Index& b) {
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kProduct;
  append_factors(node->operands, a);
  append_factors(node->operands, b);
  std::sort(node->operands.begin(), node->operands.end(),
            [](const Index& x, const Index& y) { return compare(x, y) < 0; });
  Interval bounds{1, 1};
  int64_t multiple = 1;
  for (const Index& factor : node->operands) {
    bounds = multiply(bounds, interval_of(factor));
    int64_t product = 0;
    if (!__builtin_mul_overflow(multiple, factor.multiple(), &product)) multiple = product;
  }
  node->lower = bounds.lower;
  node->upper = bounds.upper;
  node->multiple = multiple;
  return IndexBuilder::finish(std::move(node));
}

}  // namespace

Index operator*(const Index& a, const Index& b) {
  if (is_single(b)) {
    if (b.lower() == 1) return a;
    LinearSum sum;
    sum.add(a, b.lower());
    return std::move(sum).build();
  }
  if (is_single(a)) return b * a;
  if (term_count(a) * term_count(b) > kMostTerms) return product_of_factors(a, b);
  LinearSum sum;
  const int64_t offset_a = a.kind() == IndexKind::kSum ? a.node().offset : 0;
  const int64_t offset_b = b.kind() == IndexKind::kSum ? b.node().offset : 0;
  sum.offset = checked_multiply(offset_a, offset_b);
  for_each_term(a, [&](int64_t coefficient_a, const Index& factor_a) {
    sum.add_term(factor_a, checked_multiply(coefficient_a, offset_b));
    for_each_term(b, [&](int64_t coefficient_b, const Index& factor_b) {
      sum.add_term(product_of_factors(factor_a, factor_b), checked_multiply(coefficient_a, coefficient_b));
    });
  });
  for_each_term(b, [&](int64_t coefficient_b, const Index& factor_b) {
    sum.add_term(factor_b, checked_multiply(coefficient_b, offset_a));
  });
  return std::move(sum).build();
}

}  // namespace tandem
