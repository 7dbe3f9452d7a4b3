#include <algorithm>

#include "core/base/text.h"
#include "core/index/node.h"

namespace tandem {

using namespace index_detail;

namespace {

/// Calls `visit` on the direct parts of an expression.
template <typename Visit>
void for_each_part(const Index& a, Visit visit) {
  for (const Index::Term& term : a.terms()) visit(term.factor);
  for (const Index& operand : a.operands()) visit(operand);
}

/// Distinct leaves, as parts of the expression: nothing is copied.
void collect_leaves(const Index& a, std::vector<const Index*>& leaves) {
  if (is_leaf(a.kind())) {
    if (std::none_of(leaves.begin(), leaves.end(), [&](const Index* known) { return *known == a; }))
      leaves.push_back(&a);
    return;
  }
  for_each_part(a, [&](const Index& part) { collect_leaves(part, leaves); });
}

Index rebuild(const Index& a, const std::vector<Index>& parts) {
  switch (a.kind()) {
    case IndexKind::kSum: {
      LinearSum sum;
      sum.offset = a.offset();
      for (size_t i = 0; i < parts.size(); ++i) sum.add(parts[i], a.terms()[i].coefficient);
      return std::move(sum).build();
    }
    case IndexKind::kFloorDiv:
      return floor_div(parts[0], parts[1]);
    case IndexKind::kMod:
      return floor_mod(parts[0], parts[1]);
    default:
      break;
  }
  Index result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    if (a.kind() == IndexKind::kProduct) result = result * parts[i];
    if (a.kind() == IndexKind::kMin) result = min(result, parts[i]);
    if (a.kind() == IndexKind::kMax) result = max(result, parts[i]);
  }
  return result;
}

}  // namespace

bool Index::depends_on(const Index& leaf) const {
  if (is_leaf(kind())) return *this == leaf;
  bool found = false;
  for_each_part(*this, [&](const Index& part) { found = found || part.depends_on(leaf); });
  return found;
}

Index Index::substitute(const std::function<std::optional<Index>(const Index& leaf)>& replacement) const {
  if (is_constant()) return *this;
  if (is_leaf(kind())) return replacement(*this).value_or(*this);
  std::vector<Index> parts;
  bool changed = false;
  for_each_part(*this, [&](const Index& part) {
    parts.push_back(part.substitute(replacement));
    changed = changed || parts.back().node_ != part.node_;
  });
  return changed ? rebuild(*this, parts) : *this;
}

Index Index::substitute(const Index& leaf, const Index& with) const {
  return substitute([&](const Index& found) -> std::optional<Index> {
    if (found == leaf) return with;
    return std::nullopt;
  });
}

std::optional<Index> Index::coefficient(const Index& leaf) const {
  Index result = 0;
  bool linear = true;
  for_each_term(*this, [&](int64_t coefficient, const Index& factor) {
    if (!linear || !factor.depends_on(leaf)) return;
    if (factor == leaf) {
      result = result + Index(coefficient);
      return;
    }
    linear = factor.kind() == IndexKind::kProduct;
    if (!linear) return;
    Index rest = coefficient;
    int occurrences = 0;
    for (const Index& part : factor.operands()) {
      if (part == leaf) {
        ++occurrences;
      } else {
        linear = linear && !part.depends_on(leaf);
        rest = rest * part;
      }
    }
    linear = linear && occurrences == 1;
    result = result + rest;
  });
  if (!linear) return std::nullopt;
  return result;
}

void Index::for_each_leaf(const std::function<void(const Index& leaf)>& visit) const {
  if (is_constant()) return;
  if (is_leaf(kind())) return visit(*this);
  std::vector<const Index*> leaves;
  leaves.reserve(8);
  collect_leaves(*this, leaves);
  for (const Index* leaf : leaves) visit(*leaf);
}

int64_t Index::evaluate(const std::function<int64_t(const Index& leaf)>& value_of) const {
  if (is_leaf(kind())) return value_of(*this);
  const auto part = [&](size_t i) { return node_->operands[i].evaluate(value_of); };
  switch (kind()) {
    case IndexKind::kSum: {
      int64_t sum = node_->offset;
      for (const Term& term : node_->terms) {
        sum = checked_add(sum, checked_multiply(term.coefficient, term.factor.evaluate(value_of)));
      }
      return sum;
    }
    case IndexKind::kFloorDiv:
    case IndexKind::kMod: {
      const int64_t numerator = part(0);
      const int64_t divisor = part(1);
      TANDEM_CHECK(divisor >= 1, concat("'", text(), "' divides by ", divisor));
      return kind() == IndexKind::kMod ? floor_remainder(numerator, divisor) : floor_quotient(numerator, divisor);
    }
    case IndexKind::kProduct:
    case IndexKind::kMin:
    case IndexKind::kMax: {
      int64_t result = part(0);
      for (size_t i = 1; i < node_->operands.size(); ++i) {
        const int64_t next = part(i);
        if (kind() == IndexKind::kProduct) result = checked_multiply(result, next);
        if (kind() == IndexKind::kMin) result = std::min(result, next);
        if (kind() == IndexKind::kMax) result = std::max(result, next);
      }
      return result;
    }
    default:
      return node_->offset;
  }
}

}  // namespace tandem
