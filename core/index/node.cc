#include "core/index/node.h"

#include <algorithm>

#include "core/base/bits.h"
#include "core/base/text.h"

namespace tandem {
namespace index_detail {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  TANDEM_CHECK(!__builtin_add_overflow(a, b, &result), concat("index ", a, " + ", b, " leaves 64 bits"));
  return result;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  TANDEM_CHECK(!__builtin_mul_overflow(a, b, &result), concat("index ", a, " * ", b, " leaves 64 bits"));
  return result;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

int64_t greatest_common_divisor(int64_t a, int64_t b) {
  // In unsigned arithmetic, because the magnitude of the smallest int64 has no int64.
  uint64_t x = a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  const uint64_t largest_power = uint64_t{1} << 62;
  return x > static_cast<uint64_t>(kNoUpper) ? static_cast<int64_t>(largest_power) : static_cast<int64_t>(x);
}

namespace {

bool unbounded(int64_t value) { return value == kNoLower || value == kNoUpper; }

int64_t saturating_add(int64_t a, int64_t b, int64_t unknown) {
  if (a == unknown || b == unknown) return unknown;
  if (unbounded(a)) return a;
  if (unbounded(b)) return b;
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return a < 0 ? kNoLower : kNoUpper;
  return result;
}

int64_t saturating_multiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t result = 0;
  if (unbounded(a) || unbounded(b) || __builtin_mul_overflow(a, b, &result)) {
    return (a < 0) == (b < 0) ? kNoUpper : kNoLower;
  }
  return result;
}

int64_t saturating_divide(int64_t a, int64_t b) {
  if (unbounded(a)) return a;
  if (unbounded(b)) return a < 0 ? -1 : 0;
  return floor_quotient(a, b);
}

template <typename Operation>
Interval corners(const Interval& a, const Interval& b, Operation operation) {
  const int64_t values[] = {operation(a.lower, b.lower), operation(a.lower, b.upper), operation(a.upper, b.lower),
                            operation(a.upper, b.upper)};
  return {*std::min_element(std::begin(values), std::end(values)),
          *std::max_element(std::begin(values), std::end(values))};
}

}  // namespace

Interval add(const Interval& a, const Interval& b) {
  return {saturating_add(a.lower, b.lower, kNoLower), saturating_add(a.upper, b.upper, kNoUpper)};
}

// rule: product-interval
Interval multiply(const Interval& a, const Interval& b) { return corners(a, b, saturating_multiply); }

// rule: quotient-interval
Interval divide(const Interval& a, const Interval& b) { return corners(a, b, saturating_divide); }

// rule: remainder-bounds
Interval remainder(const Interval& a, const Interval& b) {
  Interval result{0, b.upper == kNoUpper ? kNoUpper : b.upper - 1};
  if (a.lower >= 0) {
    result.upper = std::min(result.upper, a.upper);
    if (a.upper < b.lower) result.lower = a.lower;
  }
  return result;
}

std::optional<int64_t> single_block(const Interval& a, int64_t divisor) {
  if (unbounded(a.lower) || unbounded(a.upper)) return std::nullopt;
  const int64_t first = floor_quotient(a.lower, divisor);
  if (first != floor_quotient(a.upper, divisor)) return std::nullopt;
  return first;
}

namespace {

/// Place of a kind in the canonical order: what changes fastest comes first, as in "4*i0 + t + 1".
int rank_of(IndexKind kind) {
  switch (kind) {
    case IndexKind::kConstant:
      return 0;
    case IndexKind::kLoop:
      return 1;
    case IndexKind::kLane:
      return 2;
    case IndexKind::kValue:
      return 3;
    case IndexKind::kVariable:
      return 4;
    case IndexKind::kProduct:
      return 5;
    case IndexKind::kFloorDiv:
      return 6;
    case IndexKind::kMod:
      return 7;
    case IndexKind::kMin:
      return 8;
    case IndexKind::kMax:
      return 9;
    case IndexKind::kSum:
      return 10;
  }
  return 11;
}

template <typename Number>
int order(Number a, Number b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int compare_structure(const IndexNode& a, const IndexNode& b) {
  if (int result = order(a.offset, b.offset)) return result;
  if (is_leaf(a.kind)) {
    if (int result = order(a.lower, b.lower)) return result;
    if (int result = order(a.upper, b.upper)) return result;
    if (int result = order(a.multiple, b.multiple)) return result;
  }
  if (int result = order(a.operands.size(), b.operands.size())) return result;
  if (int result = order(a.terms.size(), b.terms.size())) return result;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (int result = compare(a.operands[i], b.operands[i])) return result;
  }
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (int result = order(a.terms[i].coefficient, b.terms[i].coefficient)) return result;
    if (int result = compare(a.terms[i].factor, b.terms[i].factor)) return result;
  }
  return 0;
}

}  // namespace

int compare(const Index& a, const Index& b) {
  const IndexNode* x = IndexBuilder::address(a);
  const IndexNode* y = IndexBuilder::address(b);
  if (x == y) return 0;
  if (x->kind != y->kind) return order(rank_of(x->kind), rank_of(y->kind));
  if (int result = order(x->id, y->id)) return result;
  if (x->kind == IndexKind::kVariable) {
    if (int result = x->name.compare(y->name)) return result;
  }
  if (int result = order(x->hash, y->hash)) return result;
  return compare_structure(*x, *y);
}

Index make_floor_div(const Index& a, const Index& b) {
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kFloorDiv;
  const Interval bounds = divide(interval_of(a), interval_of(b));
  node->lower = bounds.lower;
  node->upper = bounds.upper;
  if (b.is_constant() && a.multiple() % b.constant() == 0) node->multiple = a.multiple() / b.constant();
  node->operands = {a, b};
  return IndexBuilder::finish(std::move(node));
}

Index make_floor_mod(const Index& a, const Index& b) {
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kMod;
  const Interval bounds = remainder(interval_of(a), interval_of(b));
  // rule: remainder-multiple
  node->multiple = greatest_common_divisor(a.multiple(), b.multiple());
  node->lower = bounds.lower;
  node->upper = bounds.upper == kNoUpper ? kNoUpper : bounds.upper - bounds.upper % node->multiple;
  node->operands = {a, b};
  return IndexBuilder::finish(std::move(node));
}

}  // namespace index_detail

Index IndexBuilder::finish(std::shared_ptr<IndexNode> node) {
  uint64_t hash = hash_mix(0x7461'6E64'656Dull, static_cast<uint64_t>(node->kind));
  hash = hash_mix(hash, node->id);
  hash = hash_mix(hash, static_cast<uint64_t>(node->offset));
  if (index_detail::is_leaf(node->kind)) {
    hash = hash_mix(hash, static_cast<uint64_t>(node->lower));
    hash = hash_mix(hash, static_cast<uint64_t>(node->upper));
    hash = hash_mix(hash, static_cast<uint64_t>(node->multiple));
    for (char letter : node->name) hash = hash_mix(hash, static_cast<unsigned char>(letter));
  }
  for (const Index::Term& term : node->terms) {
    hash = hash_mix(hash, static_cast<uint64_t>(term.coefficient));
    hash = hash_mix(hash, term.factor.hash());
  }
  for (const Index& operand : node->operands) hash = hash_mix(hash, operand.hash());
  node->hash = hash;
  return Index(std::shared_ptr<const IndexNode>(std::move(node)));
}

}  // namespace tandem
