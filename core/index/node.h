#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/index/index.h"

namespace tandem {

/// The immutable node behind an `Index`. Which members mean something depends on the kind.
struct IndexNode : std::enable_shared_from_this<IndexNode> {
  IndexKind kind = IndexKind::kConstant;
  uint32_t id = 0;     ///< kLoop, kValue.
  int64_t offset = 0;  ///< kConstant: the number; kSum: the constant part; kLoop: the step; kLane: the lanes.
  int64_t lower = 0;   ///< kNoLower: nothing known.
  int64_t upper = 0;   ///< kNoUpper: nothing known.
  int64_t multiple = 1;
  uint64_t hash = 0;
  std::string name;  ///< kVariable.
  std::vector<Index::Term> terms;
  std::vector<Index> operands;  ///< kLoop: begin and end, which are not part of the expression.
};

/// The only maker of nodes; internal to core/index.
struct IndexBuilder {
  static Index wrap(std::shared_ptr<const IndexNode> node) { return Index(std::move(node)); }
  /// Fills in the hash and wraps. Bounds and multiple must be set.
  static Index finish(std::shared_ptr<IndexNode> node);
  static const IndexNode* address(const Index& index) { return index.node_.get(); }
};

namespace index_detail {

/// Bounds at these ends mean that nothing is known; every saturating operation keeps them.
inline constexpr int64_t kNoLower = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kNoUpper = std::numeric_limits<int64_t>::max();

struct Interval {
  int64_t lower = 0;
  int64_t upper = 0;
};

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_multiply(int64_t a, int64_t b);
/// Quotient rounding down, for b > 0.
int64_t floor_quotient(int64_t a, int64_t b);
/// a - b * floor_quotient(a, b).
int64_t floor_remainder(int64_t a, int64_t b);
/// Greatest common divisor of the magnitudes; gcd(0, b) = |b|.
int64_t greatest_common_divisor(int64_t a, int64_t b);

Interval add(const Interval& a, const Interval& b);
Interval multiply(const Interval& a, const Interval& b);
/// Both for a divisor of at least 1.
Interval divide(const Interval& a, const Interval& b);
Interval remainder(const Interval& a, const Interval& b);
/// Has the expression a single value? Saturated bounds don't tell.
inline bool is_single(const Index& a) {
  return a.lower() == a.upper() && (a.is_constant() || (a.lower() != kNoLower && a.upper() != kNoUpper));
}
inline Interval interval_of(const Index& a) { return {a.lower(), a.upper()}; }
/// The q with q * divisor <= x < (q + 1) * divisor for every x of the interval, if there is one.
std::optional<int64_t> single_block(const Interval& a, int64_t divisor);

/// A total order that is the same on every platform: by kind, then id or name, then hash, then structure.
int compare(const Index& a, const Index& b);

/// A linear sum under construction.
struct LinearSum {
  int64_t offset = 0;
  std::vector<Index::Term> terms;  ///< Any order, duplicates allowed.

  LinearSum() = default;
  explicit LinearSum(const Index& a) { add(a, 1); }
  void add(const Index& a, int64_t scale);
  /// Adds scale * factor, where the factor may be anything.
  void add_term(const Index& factor, int64_t coefficient);
  /// Sorts, merges, recombines quotients with remainders, and wraps the smallest node.
  Index build() &&;
  /// Sorts and merges the terms, and turns factors of a single value into numbers.
  void normalize();
};

/// Puts matching quotients and remainders of a normalized sum together: c*a*(x div a) + c*(x mod a) = c*x and its
/// relatives. True when something changed; the sum must then be normalized again.
bool recombine(LinearSum& sum);

/// Finished nodes without simplification.
Index make_floor_div(const Index& a, const Index& b);
Index make_floor_mod(const Index& a, const Index& b);

/// a = quotient * divisor + rest, where everything that the divisor evidently divides is in the quotient.
struct Split {
  Index quotient;
  Index rest;
};
/// The divisor is a positive number or a single term (see `is_monomial`).
Split split_by(const Index& a, const Index& divisor);
/// A number or a sum of exactly one term without an offset.
bool is_monomial(const Index& a);
/// a / divisor when it is evidently exact.
std::optional<Index> divide_exactly(const Index& a, const Index& divisor);
/// Products of some of the factors of the divisor, largest first, that may split a quotient; never 1 nor the divisor.
std::vector<Index> divisor_candidates(const Index& a, const Index& divisor);
/// The constant q with q*divisor <= a < (q+1)*divisor, if provable.
std::optional<int64_t> provable_block(const Index& a, const Index& divisor);

/// Is a >= bound for every value of the leaves?
bool provably_at_least(const Index& a, int64_t bound);

/// Calls `visit(coefficient, factor)` for each term; an expression that isn't a sum is its own only term.
template <typename Visit>
void for_each_term(const Index& a, Visit visit) {
  if (a.kind() == IndexKind::kSum) {
    for (const Index::Term& term : a.node().terms) visit(term.coefficient, term.factor);
  } else if (!a.is_constant()) {
    visit(int64_t{1}, a);
  }
}

inline bool is_leaf(IndexKind kind) {
  return kind == IndexKind::kVariable || kind == IndexKind::kLoop || kind == IndexKind::kLane ||
         kind == IndexKind::kValue;
}

}  // namespace index_detail
}  // namespace tandem
