// Random expressions, simplified as they are built, against plain int64 arithmetic on the same operations.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "core/index/index.h"
#include "core/index/index_text.h"

namespace tandem {
namespace {

int64_t direct_floor_div(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  while (quotient * b > a) --quotient;
  return quotient;
}

/// The operations of an expression as they were asked for, without any simplification.
struct Shadow {
  char operation = 'c';  ///< c(onstant), l(eaf), or + - * / % m(in) M(ax)
  int64_t number = 0;
  std::shared_ptr<Shadow> a;
  std::shared_ptr<Shadow> b;

  int64_t evaluate(const std::vector<int64_t>& leaves) const {
    if (operation == 'c') return number;
    if (operation == 'l') return leaves[static_cast<size_t>(number)];
    const int64_t x = a->evaluate(leaves);
    const int64_t y = b->evaluate(leaves);
    switch (operation) {
      case '+':
        return x + y;
      case '-':
        return x - y;
      case '*':
        return x * y;
      case '/':
        return direct_floor_div(x, y);
      case '%':
        return x - y * direct_floor_div(x, y);
      case 'm':
        return std::min(x, y);
      default:
        return std::max(x, y);
    }
  }
};

struct Pair {
  Index index;
  std::shared_ptr<Shadow> shadow;
};

class RandomIndex : public ::testing::Test {
 protected:
  RandomIndex() {
    const Index t = Index::variable("t", 1, 40);
    const Index u = Index::variable("u", 1, 9);
    const Index p = Index::variable("p", 16, 96, 16);
    const Index tile = Index::loop(2, u, 4);
    leaves_ = {t,
               u,
               p,
               Index::variable("x", -50, 50),
               Index::value(0, -7, 30),
               Index::lane(8),
               Index::loop(0, t),
               Index::loop(1, p, 16),
               tile,
               Index::loop_between(3, tile, min(tile + 4, u)),
               Index::loop(4, 12, 3)};
  }

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  /// Values that the leaves can have together; loops take a step inside of their range.
  std::vector<int64_t> sample() {
    std::vector<int64_t> values;
    for (const Index& leaf : leaves_) {
      if (leaf.kind() == IndexKind::kLoop) {
        const auto known = [&](const Index& other) { return value_of(values, other); };
        const int64_t begin = leaf.loop_begin().evaluate(known);
        const int64_t end = leaf.loop_end().evaluate(known);
        values.push_back(begin + leaf.loop_step() * pick(0, (end - 1 - begin) / leaf.loop_step()));
      } else {
        values.push_back(pick(leaf.lower() / leaf.multiple(), leaf.upper() / leaf.multiple()) * leaf.multiple());
      }
    }
    return values;
  }

  int64_t value_of(const std::vector<int64_t>& values, const Index& leaf) const {
    const auto place = std::find(leaves_.begin(), leaves_.end(), leaf);
    return values.at(static_cast<size_t>(place - leaves_.begin()));
  }

  Pair constant(int64_t value) {
    auto shadow = std::make_shared<Shadow>();
    shadow->number = value;
    return {value, shadow};
  }

  Pair leaf(size_t i) {
    auto shadow = std::make_shared<Shadow>();
    shadow->operation = 'l';
    shadow->number = static_cast<int64_t>(i);
    return {leaves_[i], shadow};
  }

  static Pair join(char operation, const Pair& a, const Pair& b) {
    auto shadow = std::make_shared<Shadow>();
    shadow->operation = operation;
    shadow->a = a.shadow;
    shadow->b = b.shadow;
    const Index& x = a.index;
    const Index& y = b.index;
    switch (operation) {
      case '+':
        return {x + y, shadow};
      case '-':
        return {x - y, shadow};
      case '*':
        return {x * y, shadow};
      case '/':
        return {floor_div(x, y), shadow};
      case '%':
        return {floor_mod(x, y), shadow};
      case 'm':
        return {min(x, y), shadow};
      default:
        return {max(x, y), shadow};
    }
  }

  /// Mostly the small powers of two and products of sizes that subscripts divide by.
  Pair divisor() {
    static constexpr int64_t kDivisors[] = {1, 2, 3, 4, 4, 6, 8, 8, 12, 16, 16, 24, 32, 64};
    switch (pick(0, 5)) {
      case 0:
        return leaf(static_cast<size_t>(pick(0, 2)));
      case 1:
        return join('*', leaf(static_cast<size_t>(pick(0, 2))), constant(kDivisors[pick(0, 8)]));
      case 2:
        return pick(0, 1) == 0 ? join('*', leaf(0), leaf(1)) : join('+', leaf(0), constant(pick(0, 3)));
      default:
        return constant(kDivisors[pick(0, 13)]);
    }
  }

  Pair expression(int depth) {
    if (depth == 0 || pick(0, 9) == 0) {
      return pick(0, 4) == 0 ? constant(pick(-20, 40)) : leaf(static_cast<size_t>(pick(0, 10)));
    }
    const int64_t choice = pick(0, 15);
    if (choice < 5) return join('+', expression(depth - 1), expression(depth - 1));
    if (choice < 6) return join('-', expression(depth - 1), expression(depth - 1));
    if (choice < 8) return join('*', expression(depth - 1), constant(pick(-3, 17)));
    if (choice < 9) return join('*', expression(depth - 1), leaf(static_cast<size_t>(pick(0, 2))));
    if (choice < 11) return join('/', expression(depth - 1), divisor());
    if (choice < 13) return join('%', expression(depth - 1), divisor());
    if (choice < 14) {
      // The two halves of one division, so that they can recombine.
      const Pair numerator = expression(depth - 1);
      const Pair by = divisor();
      return join('+', join('*', join('/', numerator, by), by), join('%', numerator, by));
    }
    return join(choice == 14 ? 'm' : 'M', expression(depth - 1), expression(depth - 1));
  }

  std::mt19937_64 random_{20240517};
  std::vector<Index> leaves_;
};

constexpr int kSamples = 6;

TEST_F(RandomIndex, SimplifiedEqualsDirectEvaluation) {
  for (int round = 0; round < 20000; ++round) {
    const Pair made = expression(static_cast<int>(pick(1, 4)));
    const Index& index = made.index;
    for (int k = 0; k < kSamples; ++k) {
      const std::vector<int64_t> values = sample();
      const int64_t expected = made.shadow->evaluate(values);
      const int64_t actual = index.evaluate([&](const Index& leaf) { return value_of(values, leaf); });
      ASSERT_EQ(actual, expected) << "round " << round << ": " << index.text();
      ASSERT_LE(index.lower(), expected) << "round " << round << ": " << index.text();
      ASSERT_GE(index.upper(), expected) << "round " << round << ": " << index.text();
      if (index.multiple() == 0) {
        ASSERT_EQ(expected, 0) << "round " << round << ": " << index.text();
      } else {
        ASSERT_EQ(expected % index.multiple(), 0) << "round " << round << ": " << index.text();
      }
    }
  }
}

TEST_F(RandomIndex, TextReadsBackAsTheSameExpression) {
  for (int round = 0; round < 5000; ++round) {
    const Index index = expression(static_cast<int>(pick(1, 4))).index;
    const auto parsed = parse_index(index.text(), leaves_);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    ASSERT_EQ(*parsed, index) << "round " << round << ": " << index.text() << " became " << parsed->text();
    ASSERT_EQ(parsed->hash(), index.hash());
  }
}

TEST_F(RandomIndex, ComparisonsHoldForEverySample) {
  int decided = 0;
  for (int round = 0; round < 10000; ++round) {
    const Pair a = expression(static_cast<int>(pick(0, 3)));
    const Pair b = pick(0, 1) == 0 ? expression(static_cast<int>(pick(0, 3)))
                                   : join('+', a, expression(static_cast<int>(pick(0, 2))));
    const Truth is_less = less(a.index, b.index);
    const Truth is_less_equal = less_equal(a.index, b.index);
    const bool equal = same(a.index, b.index);
    decided += is_less != Truth::kUnknown;
    for (int k = 0; k < 2 * kSamples; ++k) {
      const std::vector<int64_t> values = sample();
      const int64_t x = a.shadow->evaluate(values);
      const int64_t y = b.shadow->evaluate(values);
      const std::string where = "round " + std::to_string(round) + ": " + a.index.text() + " against " + b.index.text();
      if (is_less != Truth::kUnknown) {
        ASSERT_EQ(x < y, is_less == Truth::kAlways) << where;
      }
      if (is_less_equal != Truth::kUnknown) {
        ASSERT_EQ(x <= y, is_less_equal == Truth::kAlways) << where;
      }
      if (equal) {
        ASSERT_EQ(x, y) << where;
      }
    }
  }
  EXPECT_GT(decided, 3000) << "the generator compares almost nothing that can be decided";
}

TEST_F(RandomIndex, SubstitutionEqualsEvaluationWithTheReplacement) {
  for (int round = 0; round < 3000; ++round) {
    const Pair made = expression(static_cast<int>(pick(1, 4)));
    // Within the bounds of x, and without x itself.
    const Index replacement = leaves_[0] + leaves_[5] - 47 + pick(0, 40);
    const Index substituted = made.index.substitute(leaves_[3], min(replacement, 50));
    for (int k = 0; k < kSamples; ++k) {
      std::vector<int64_t> values = sample();
      const auto value = [&](const Index& leaf) { return value_of(values, leaf); };
      const int64_t actual = substituted.evaluate(value);
      values[3] = min(replacement, 50).evaluate(value);
      ASSERT_EQ(actual, made.shadow->evaluate(values)) << made.index.text() << " became " << substituted.text();
    }
  }
}

}  // namespace
}  // namespace tandem
