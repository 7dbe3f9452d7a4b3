#include <algorithm>

#include "core/index/node.h"

namespace tandem {
namespace {

using namespace index_detail;

/// How an expression moves when one leaf grows.
enum class Direction : uint8_t { kNone, kUp, kDown, kMixed };

Direction opposite(Direction direction) {
  if (direction == Direction::kUp) return Direction::kDown;
  if (direction == Direction::kDown) return Direction::kUp;
  return direction;
}

Direction both(Direction a, Direction b) {
  if (a == Direction::kNone) return b;
  if (b == Direction::kNone || a == b) return a;
  return Direction::kMixed;
}

Direction scaled(Direction direction, const Interval& by) {
  if (direction == Direction::kNone || by.lower >= 0) return direction;
  return by.upper <= 0 ? opposite(direction) : Direction::kMixed;
}

Direction direction_of(const Index& a, const Index& leaf);

Direction direction_of_product(const std::vector<Index>& factors, const Index& leaf) {
  Direction result = Direction::kNone;
  Interval others{1, 1};
  bool several = false;
  bool nonnegative = true;
  for (const Index& factor : factors) {
    const Direction direction = direction_of(factor, leaf);
    if (direction == Direction::kNone) {
      others = multiply(others, interval_of(factor));
      continue;
    }
    several = several || result != Direction::kNone;
    nonnegative = nonnegative && factor.lower() >= 0;
    result = both(result, direction);
  }
  if (several && !nonnegative) return Direction::kMixed;
  return scaled(result, others);
}

Direction direction_of(const Index& a, const Index& leaf) {
  switch (a.kind()) {
    case IndexKind::kConstant:
      return Direction::kNone;
    case IndexKind::kVariable:
    case IndexKind::kLoop:
    case IndexKind::kLane:
    case IndexKind::kValue:
      return a == leaf ? Direction::kUp : Direction::kNone;
    case IndexKind::kSum: {
      Direction result = Direction::kNone;
      for (const Index::Term& term : a.terms()) {
        result = both(result, scaled(direction_of(term.factor, leaf), {term.coefficient, term.coefficient}));
      }
      return result;
    }
    case IndexKind::kProduct:
      return direction_of_product(a.operands(), leaf);
    case IndexKind::kFloorDiv:
      return both(direction_of(a.operands()[0], leaf),
                  scaled(opposite(direction_of(a.operands()[1], leaf)), interval_of(a.operands()[0])));
    case IndexKind::kMod:
      return a.depends_on(leaf) ? Direction::kMixed : Direction::kNone;
    case IndexKind::kMin:
    case IndexKind::kMax: {
      Direction result = Direction::kNone;
      for (const Index& operand : a.operands()) result = both(result, direction_of(operand, leaf));
      return result;
    }
  }
  return Direction::kMixed;
}

/// The largest value of a loop counter, as far as it is known: exact when the step divides the range.
/// rule: loop-last
Index last_of(const Index& loop) {
  const Index& end = loop.node().operands[1];
  const Index& begin = loop.node().operands[0];
  const int64_t common =
      greatest_common_divisor(greatest_common_divisor(begin.multiple(), end.multiple()), loop.node().offset);
  return end - Index(std::max<int64_t>(common, 1));
}

class Prover {
 public:
  explicit Prover(int& budget) : budget_(budget) {}

  /// Is a >= bound? Each step replaces something by what makes the expression no larger.
  bool at_least(const Index& a, int64_t bound) {
    if (a.lower() >= bound) return true;
    if (a.upper() < bound || a.is_constant() || --budget_ < 0) return false;
    if (const auto answer = by_extremes(a, bound)) return *answer;
    if (const auto answer = by_products(a, bound)) return *answer;
    if (const auto smaller = without_a_loop(a)) return at_least(*smaller, bound);
    if (const auto answer = by_remainders(a, bound)) return *answer;
    if (const auto answer = by_quotients(a, bound)) return *answer;
    if (const auto smaller = without_a_leaf(a)) return at_least(*smaller, bound);
    return false;
  }

 private:
  static Index with_term(const Index& a, int64_t coefficient, const Index& factor, const Index& replacement) {
    LinearSum sum(a);
    sum.add(factor, checked_multiply(coefficient, -1));
    sum.add(replacement, coefficient);
    return std::move(sum).build();
  }

  /// A minimum or maximum equals one of its operands, and is on a known side of all of them.  rule: extreme-operand
  std::optional<bool> by_extremes(const Index& a, int64_t bound) {
    std::optional<bool> answer;
    for_each_term(a, [&](int64_t coefficient, const Index& factor) {
      if (answer || (factor.kind() != IndexKind::kMin && factor.kind() != IndexKind::kMax)) return;
      const bool one_suffices = (factor.kind() == IndexKind::kMax) == (coefficient > 0);
      const auto holds = [&](const Index& operand) {
        return at_least(with_term(a, coefficient, factor, operand), bound);
      };
      const std::vector<Index>& operands = factor.operands();
      answer = one_suffices ? std::any_of(operands.begin(), operands.end(), holds)
                            : std::all_of(operands.begin(), operands.end(), holds);
    });
    return answer;
  }

  /// Which end of a leaf makes the expression smallest; nothing when that is unknown.
  static std::optional<bool> smallest_at_first(const Index& a, const Index& leaf) {
    const Direction direction = direction_of(a, leaf);
    if (direction == Direction::kUp) return true;
    if (direction == Direction::kDown) return false;
    const auto coefficient = a.coefficient(leaf);
    if (coefficient && coefficient->lower() >= 0) return true;
    if (coefficient && coefficient->upper() <= 0) return false;
    return std::nullopt;
  }

  static bool bounds_depend_on(const Index& loop, const Index& leaf) {
    return loop.node().operands[0].depends_on(leaf) || loop.node().operands[1].depends_on(leaf);
  }

  /// Puts the symbolic end of a loop counter in its place; inner loops first, as their ends hold the outer ones.
  static std::optional<Index> without_a_loop(const Index& a) {
    std::vector<Index> loops;
    a.for_each_leaf([&](const Index& leaf) {
      if (leaf.kind() == IndexKind::kLoop) loops.push_back(leaf);
    });
    for (const Index& loop : loops) {
      if (std::any_of(loops.begin(), loops.end(), [&](const Index& other) { return bounds_depend_on(other, loop); })) {
        continue;
      }
      const auto first = smallest_at_first(a, loop);
      if (!first) continue;
      return a.substitute(loop, *first ? loop.node().operands[0] : last_of(loop));
    }
    return std::nullopt;
  }

  /// Puts the constant end of another leaf in its place: better than intervals when the leaf occurs more than once.
  static std::optional<Index> without_a_leaf(const Index& a) {
    std::optional<Index> result;
    a.for_each_leaf([&](const Index& leaf) {
      if (result || leaf.kind() == IndexKind::kLoop) return;
      const auto first = smallest_at_first(a, leaf);
      if (!first) return;
      const int64_t end = *first ? leaf.lower() : leaf.upper();
      if (end != kNoLower && end != kNoUpper) result = a.substitute(leaf, Index(end));
    });
    return result;
  }

  /// 0 <= x mod m <= min(m - 1, x) for x >= 0.  rule: remainder-bounds
  std::optional<bool> by_remainders(const Index& a, int64_t bound) {
    std::optional<bool> answer;
    for_each_term(a, [&](int64_t coefficient, const Index& factor) {
      if (answer || factor.kind() != IndexKind::kMod) return;
      if (coefficient > 0) {
        answer = at_least(with_term(a, coefficient, factor, 0), bound);
        return;
      }
      const Index& numerator = factor.operands()[0];
      answer = at_least(with_term(a, coefficient, factor, factor.operands()[1] - 1), bound) ||
               (at_least(numerator, 0) && at_least(with_term(a, coefficient, factor, numerator), bound));
    });
    return answer;
  }

  /// d * (x div d) lies in [x - d + 1, x].  rule: quotient-bounds
  std::optional<bool> by_quotients(const Index& a, int64_t bound) {
    if (!small_numbers(a) || bound < -kSmall || bound > kSmall) return std::nullopt;
    std::optional<bool> answer;
    for_each_term(a, [&](int64_t coefficient, const Index& factor) {
      if (answer || factor.kind() != IndexKind::kFloorDiv) return;
      const Index& numerator = factor.operands()[0];
      const Index& divisor = factor.operands()[1];
      if (!small_numbers(numerator) || !small_numbers(divisor)) return;
      // a >= bound exactly if divisor * (a - bound) > -divisor.  rule: scaled-comparison
      LinearSum sum((a - Index(coefficient) * factor - Index(bound)) * divisor);
      sum.add(coefficient > 0 ? numerator - divisor + 1 : numerator, coefficient);
      sum.add(divisor, 1);
      answer = at_least(std::move(sum).build(), 1);
    });
    return answer;
  }

  /// The same where the product with a symbolic divisor d is already there.
  std::optional<bool> by_products(const Index& a, int64_t bound) {
    std::optional<bool> answer;
    for_each_term(a, [&](int64_t coefficient, const Index& factor) {
      if (answer || factor.kind() != IndexKind::kProduct) return;
      for (const Index& quotient : factor.operands()) {
        if (quotient.kind() != IndexKind::kFloorDiv) continue;
        const Index& numerator = quotient.operands()[0];
        const Index& divisor = quotient.operands()[1];
        if (quotient * divisor != factor) continue;
        const Index end = coefficient > 0 ? numerator - divisor + 1 : numerator;
        answer = at_least(with_term(a, coefficient, factor, end), bound);
        return;
      }
    });
    return answer;
  }

  static constexpr int64_t kSmall = int64_t{1} << 20;

  static bool small_numbers(const Index& a) {
    const auto small = [](int64_t number) { return number > -kSmall && number < kSmall; };
    if (a.is_constant()) return small(a.constant());
    if (a.kind() != IndexKind::kSum) return true;
    return small(a.node().offset) && std::all_of(a.terms().begin(), a.terms().end(),
                                                 [&](const Index::Term& term) { return small(term.coefficient); });
  }

  int& budget_;
};

/// Steps left of the outermost proof: proofs inside of proofs share them, so that the whole stays bounded.
thread_local int* running_budget = nullptr;

}  // namespace

namespace index_detail {

bool provably_at_least(const Index& a, int64_t bound) {
  if (a.lower() >= bound) return true;
  if (a.upper() < bound || a.is_constant()) return false;
  if (running_budget != nullptr) return Prover(*running_budget).at_least(a, bound);
  constexpr int kMostSteps = 64;
  int budget = kMostSteps;
  struct Scope {
    explicit Scope(int* steps) { running_budget = steps; }
    ~Scope() { running_budget = nullptr; }
  } scope(&budget);
  return Prover(budget).at_least(a, bound);
}

}  // namespace index_detail

namespace {

/// a < b as far as the bounds alone tell: most questions are about numbers, and need no difference.
Truth less_by_bounds(const Index& a, const Index& b) {
  if (a.upper() != kNoUpper && b.lower() != kNoLower && a.upper() < b.lower()) return Truth::kAlways;
  if (a.lower() != kNoLower && b.upper() != kNoUpper && a.lower() >= b.upper()) return Truth::kNever;
  return Truth::kUnknown;
}

}  // namespace

Truth less(const Index& a, const Index& b) {
  if (const Truth known = less_by_bounds(a, b); known != Truth::kUnknown) return known;
  const Index difference = b - a;
  if (provably_at_least(difference, 1)) return Truth::kAlways;
  return provably_at_least(a - b, 0) ? Truth::kNever : Truth::kUnknown;
}

Truth less_equal(const Index& a, const Index& b) {
  const Truth reverse = less_by_bounds(b, a);
  if (reverse != Truth::kUnknown) return reverse == Truth::kNever ? Truth::kAlways : Truth::kNever;
  const Index difference = b - a;
  if (provably_at_least(difference, 0)) return Truth::kAlways;
  return provably_at_least(a - b, 1) ? Truth::kNever : Truth::kUnknown;
}

bool same(const Index& a, const Index& b) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  const Index difference = a - b;
  if (difference.is_constant()) return difference.is(0);
  if (difference.lower() > 0 || difference.upper() < 0) return false;
  return provably_at_least(difference, 0) && provably_at_least(b - a, 0);
}

}  // namespace tandem
