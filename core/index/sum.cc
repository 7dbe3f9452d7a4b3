#include <algorithm>

#include "core/index/node.h"

namespace tandem {
namespace index_detail {

void LinearSum::add_term(const Index& factor, int64_t coefficient) {
  if (coefficient == 0) return;
  if (factor.kind() == IndexKind::kSum || is_single(factor)) {
    add(factor, coefficient);
  } else {
    terms.push_back({factor, coefficient});
  }
}

void LinearSum::add(const Index& a, int64_t scale) {
  if (scale == 0) return;
  if (is_single(a)) {
    // A leaf with a single value is a number, too: a loop of one iteration leaves no trace in a subscript.
    offset = checked_add(offset, checked_multiply(scale, a.lower()));
    return;
  }
  if (a.kind() != IndexKind::kSum) {
    terms.push_back({a, scale});
    return;
  }
  offset = checked_add(offset, checked_multiply(scale, a.node().offset));
  for (const Index::Term& term : a.node().terms) {
    terms.push_back({term.factor, checked_multiply(scale, term.coefficient)});
  }
}

void LinearSum::normalize() {
  const auto in_order = [](const Index::Term& a, const Index::Term& b) { return compare(a.factor, b.factor) < 0; };
  if (!std::is_sorted(terms.begin(), terms.end(), in_order)) std::sort(terms.begin(), terms.end(), in_order);
  size_t count = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (count > 0 && compare(terms[count - 1].factor, terms[i].factor) == 0) {
      terms[count - 1].coefficient = checked_add(terms[count - 1].coefficient, terms[i].coefficient);
    } else {
      if (count > 0 && terms[count - 1].coefficient == 0) --count;
      if (count != i) terms[count] = std::move(terms[i]);
      ++count;
    }
  }
  if (count > 0 && terms[count - 1].coefficient == 0) --count;
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(count), terms.end());
}

Index LinearSum::build() && {
  normalize();
  while (recombine(*this)) normalize();
  if (terms.empty()) return Index(offset);
  if (terms.size() == 1 && offset == 0 && terms[0].coefficient == 1) return terms[0].factor;
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kSum;
  node->offset = offset;
  Interval bounds{offset, offset};
  int64_t multiple = offset;
  for (const Index::Term& term : terms) {
    bounds = index_detail::add(bounds, multiply(interval_of(term.factor), {term.coefficient, term.coefficient}));
    int64_t divisor = 0;
    if (__builtin_mul_overflow(term.coefficient, term.factor.multiple(), &divisor)) divisor = term.coefficient;
    multiple = greatest_common_divisor(multiple, divisor);
  }
  node->lower = bounds.lower;
  node->upper = bounds.upper;
  node->multiple = multiple;
  node->terms = std::move(terms);
  return IndexBuilder::finish(std::move(node));
}

}  // namespace index_detail

namespace {

size_t term_count(const Index& a) { return a.kind() == IndexKind::kSum ? a.node().terms.size() : 1; }

}  // namespace

Index operator+(const Index& a, const Index& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  index_detail::LinearSum sum;
  if (!a.is_constant() || !b.is_constant()) sum.terms.reserve(term_count(a) + term_count(b));
  sum.add(a, 1);
  sum.add(b, 1);
  return std::move(sum).build();
}

Index operator-(const Index& a, const Index& b) {
  if (b.is(0)) return a;
  index_detail::LinearSum sum;
  if (!a.is_constant() || !b.is_constant()) sum.terms.reserve(term_count(a) + term_count(b));
  sum.add(a, 1);
  sum.add(b, -1);
  return std::move(sum).build();
}

}  // namespace tandem
