// Targeted cases of the index simplifier. Each expected result is written by hand from the arithmetic of floor
// division.

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/index/index.h"
#include "core/index/index_text.h"

namespace tandem {
namespace {

class IndexRules : public ::testing::Test {
 protected:
  Index t = Index::variable("t", 1, 3000);
  Index u = Index::variable("u", 1, 500);
  Index x = Index::variable("x", -1000, 1000);
  Index padded = Index::variable("p", 16, 4096, 16);
  Index lane = Index::lane(16);
  Index stepped = Index::loop(1, padded, 16);
  Index i = Index::loop(2, u);
  Index j = Index::loop(3, t);
};

TEST_F(IndexRules, SumsAreLinearAndCanonical) {
  EXPECT_EQ(i + t + 1 + i * 3, t + 4 * i + 1);
  EXPECT_EQ((4 * i + t + 1).text(), "4*i2 + t + 1");
  EXPECT_TRUE((i + t - i - t).is(0));
  EXPECT_EQ((t + 1) * (t - 1), t * t - 1);
  EXPECT_EQ((2 * t * u - t * u).text(), "t*u");
  EXPECT_EQ(0 - x, x * -1);
  EXPECT_EQ((0 - x).text(), "-x");
}

TEST_F(IndexRules, VectorSubscriptsSplitIntoBlockAndLane) {
  EXPECT_EQ(floor_div(lane + stepped, 16).text(), "i1/16");
  EXPECT_EQ(floor_mod(lane + stepped, 16), lane);
  EXPECT_EQ(16 * floor_div(lane + stepped, 16) + floor_mod(lane + stepped, 16), lane + stepped);
  EXPECT_EQ(16 * floor_div(stepped, 16), stepped);
  EXPECT_EQ(floor_div(stepped * 3 + lane, 16), 3 * floor_div(stepped, 16));
  EXPECT_EQ(floor_div(lane + 16 * i, 16), i);
  EXPECT_EQ(floor_div(16 * i + lane, 64), floor_div(i, 4));
  EXPECT_EQ(floor_mod(16 * i + lane, 64), 16 * floor_mod(i, 4) + lane);
}

TEST_F(IndexRules, QuotientsOfRoundedSizes) {
  EXPECT_EQ(floor_div(t - floor_mod(t, 2), 2), floor_div(t, 2));
  EXPECT_EQ(floor_div(t - floor_mod(t + 1, 2) + 1, 2), floor_div(t + 1, 2));
  EXPECT_EQ(floor_div(u + x - floor_mod(x, 12), 4), floor_div(u, 4) + 3 * floor_div(x, 12));
  EXPECT_EQ(floor_div(3 * t - 3 * floor_mod(t, 4), 6), 2 * floor_div(t, 4));
  // 3 does not divide 2*4: nothing may be taken out.
  EXPECT_NE(floor_div(2 * t - 2 * floor_mod(t, 4), 3), 2 * floor_div(t, 4));
}

TEST_F(IndexRules, QuotientsOfQuotients) {
  EXPECT_EQ(floor_div(floor_div(x, 4), 8), floor_div(x, 32));
  EXPECT_EQ(floor_div(floor_div(x, 4) + 3, 8), floor_div(x + 12, 32));
  EXPECT_EQ(floor_mod(floor_mod(x, 32), 8), floor_mod(x, 8));
  EXPECT_EQ(floor_mod(floor_mod(x, 32) + i, 8), floor_mod(x + i, 8));
  EXPECT_EQ(floor_div(floor_mod(x, 32), 8), floor_mod(floor_div(x, 8), 4));
  EXPECT_EQ(floor_div(x * 6, 8), floor_div(x * 3, 4));
  EXPECT_EQ(floor_mod(x * 6, 8), 2 * floor_mod(x * 3, 4));
  EXPECT_EQ(floor_div(17 * x, 16), x + floor_div(x, 16));
  EXPECT_EQ(floor_div(x, 1), x);
  EXPECT_TRUE(floor_mod(x, 1).is(0));
  EXPECT_EQ(floor_div(x - 1, 4), floor_div(x + 3, 4) - 1);
  EXPECT_EQ(floor_div(x * t, u * t), floor_div(x, u));
}

TEST_F(IndexRules, QuotientAndRemainderRecombine) {
  EXPECT_EQ(floor_div(x, 12) * 12 + floor_mod(x, 12), x);
  EXPECT_EQ(5 * 12 * floor_div(x, 12) + 5 * floor_mod(x, 12), 5 * x);
  EXPECT_EQ(12 * floor_div(x + i + 5, 12) + floor_mod(x + i + 5, 12), x + i + 5);
  EXPECT_EQ(x - 12 * floor_div(x, 12), floor_mod(x, 12));
  EXPECT_EQ(8 * floor_mod(floor_div(x, 8), 4) + floor_mod(x, 8), floor_mod(x, 32));
  EXPECT_EQ(t * floor_div(x, t) + floor_mod(x, t), x);
  EXPECT_EQ((t + 3) * floor_div(x, t + 3) + floor_mod(x, t + 3), x);
  EXPECT_EQ(u * t * floor_div(x, t) + u * floor_mod(x, t), u * x);
  EXPECT_EQ(6 * u * floor_div(x, 6) + u * floor_mod(x, 6), u * x);
  EXPECT_EQ(4 * floor_div(x, 32) + floor_mod(floor_div(x, 8), 4), floor_div(x, 8));
}

TEST_F(IndexRules, SymbolicDivisors) {
  EXPECT_EQ(floor_div(t * i + j, t), i);
  EXPECT_EQ(floor_mod(t * i + j, t), j);
  EXPECT_EQ(floor_div(4 * t * i + j, 4 * t), i);
  EXPECT_EQ(floor_div(t * i + j, 4 * t), floor_div(i, 4));
  EXPECT_EQ(floor_mod(t * i + j, 4 * t), t * floor_mod(i, 4) + j);
  const Index k = Index::loop(7, t + 1);
  EXPECT_EQ(floor_div((t + 1) * i + k, t + 1), i);
  EXPECT_EQ(floor_mod((t + 1) * i + k, t + 1), k);
  EXPECT_EQ(floor_div(t, t), Index(1));
  const Index flat = Index::loop(8, t * u);
  EXPECT_EQ(floor_div(flat, t) * t + floor_mod(flat, t), flat);
  EXPECT_EQ(less(floor_div(flat, t), u), Truth::kAlways);
  EXPECT_EQ(less(floor_mod(flat, t), t), Truth::kAlways);
  EXPECT_THROW(floor_div(t, x), InternalError);
}

TEST_F(IndexRules, RangesDecide) {
  EXPECT_EQ(floor_mod(lane, 16), lane);
  EXPECT_TRUE(floor_div(lane, 16).is(0));
  EXPECT_TRUE(floor_div(lane - 16, 16).is(-1));
  EXPECT_EQ(floor_mod(lane - 16, 16), lane);
  EXPECT_EQ(Index::loop(4, 1) + t, t);
  EXPECT_EQ(ceil_div(t, 4).upper(), 750);
  EXPECT_EQ((ceil_div(t, 16) * 16).multiple(), 16);
  EXPECT_EQ(stepped.multiple(), 16);
  EXPECT_EQ(stepped.upper(), 4080);
}

TEST_F(IndexRules, MinimumAndMaximum) {
  EXPECT_EQ(max(0, i), i);
  EXPECT_EQ(min(i, u), i);
  EXPECT_EQ(min(min(x, t), x), min(t, x));
  EXPECT_EQ(min(min(x, 5), 3), min(x, 3));
  EXPECT_EQ(max(min(x, 5), 7), Index(7));
  EXPECT_EQ(min(x, max(x, t)), x);
  EXPECT_EQ(max(x + 1, x), x + 1);
  EXPECT_EQ(min(Index(3), Index(-4)), Index(-4));
  EXPECT_EQ(max(0, min(t - 1, max(0, i))).text(), "min(i2, t - 1)");
}

TEST_F(IndexRules, ComparisonsUseBounds) {
  EXPECT_EQ(less(Index(1), Index(5)), Truth::kAlways);
  EXPECT_EQ(less(Index(5), Index(5)), Truth::kNever);
  EXPECT_EQ(less_equal(Index(1), Index(5)), Truth::kAlways);
  EXPECT_EQ(less_equal(Index(5), Index(5)), Truth::kAlways);
  EXPECT_EQ(less_equal(Index(6), Index(5)), Truth::kNever);
  EXPECT_EQ(less(lane, 16), Truth::kAlways);
  EXPECT_EQ(less(lane, 15), Truth::kUnknown);
  EXPECT_EQ(less_equal(lane, 15), Truth::kAlways);
  EXPECT_EQ(less_equal(lane, 14), Truth::kUnknown);
  EXPECT_EQ(less_equal(16, lane), Truth::kNever);
  EXPECT_EQ(less_equal(15, lane), Truth::kUnknown);
}

TEST_F(IndexRules, ComparisonsUseLoopEnds) {
  EXPECT_EQ(less(i, u), Truth::kAlways);
  EXPECT_EQ(less(u, i), Truth::kNever);
  EXPECT_EQ(less_equal(u, i), Truth::kNever);
  EXPECT_EQ(less(i, t), Truth::kUnknown);
  EXPECT_EQ(less(stepped + lane, padded), Truth::kAlways);
  EXPECT_EQ(less(t * i + j, t * u), Truth::kAlways);
  EXPECT_EQ(less_equal(0, (t - 1) * i), Truth::kAlways);
  const Index outer = Index::loop(4, u, 4);
  const Index inner = Index::loop_between(5, outer, min(outer + 4, u));
  EXPECT_EQ(less(inner, u), Truth::kAlways);
  EXPECT_EQ(less_equal(outer, inner), Truth::kAlways);
  EXPECT_EQ(less(inner - outer, 4), Truth::kAlways);
  EXPECT_EQ(less(x, min(x + 1, t + 1001)), Truth::kAlways);
  EXPECT_EQ(less_equal(floor_div(j, 16), floor_div(t - 1, 16)), Truth::kAlways);
  EXPECT_EQ(less_equal(floor_div(t, 4), t), Truth::kAlways);
  EXPECT_EQ(less_equal(t, ceil_div(t, 16) * 16), Truth::kAlways);
  EXPECT_EQ(less(ceil_div(t, 16) * 16, t + 16), Truth::kAlways);
  EXPECT_EQ(less_equal(floor_div(i, t) * t, i), Truth::kAlways);
  EXPECT_TRUE(same(floor_div(i, t) * t, i - floor_mod(i, t)));
  // A negative quotient grows with its divisor, and a product whose factors change sign has no direction at all.
  EXPECT_EQ(less_equal(-3, floor_div(-3 * u, i + 1)), Truth::kUnknown);
  EXPECT_EQ(less_equal(0, i * min(i - 5, j)), Truth::kUnknown);
}

TEST_F(IndexRules, CoefficientAndSubstitute) {
  EXPECT_EQ((t * i + 3 * i + j).coefficient(i), t + 3);
  EXPECT_EQ((t + j).coefficient(i), Index(0));
  EXPECT_FALSE(floor_div(i + x, 4).coefficient(i).has_value());
  EXPECT_FALSE((i * i).coefficient(i).has_value());
  EXPECT_EQ(floor_div(x + i, 4).substitute(x, 4 * t), t + floor_div(i, 4));
  EXPECT_TRUE((t * i + floor_mod(j, 7)).depends_on(j));
  EXPECT_FALSE(i.depends_on(u));
  int leaves = 0;
  (t * i + floor_mod(j + t, 7)).for_each_leaf([&](const Index&) { ++leaves; });
  EXPECT_EQ(leaves, 3);
}

TEST_F(IndexRules, Shapes) {
  const Shape shape = {1, 64, t};
  EXPECT_EQ(text(shape), "[1, 64, t]");
  EXPECT_EQ(element_count(shape), 64 * t);
  EXPECT_EQ(text(dense_strides(shape)), "[64*t, t, 1]");
  EXPECT_FALSE(is_constant(shape));
  EXPECT_EQ(maximum(shape), (std::vector<int64_t>{1, 64, 3000}));
  EXPECT_TRUE(same(shape, Shape{1, 64, t + 1 - 1}));
  EXPECT_FALSE(same(shape, Shape{1, 64}));
  EXPECT_FALSE(same(shape, Shape{2, 64, t}));
  EXPECT_FALSE(same(shape, Shape{1, 64, u}));
}

TEST_F(IndexRules, TextReadsBack) {
  const Index odd = Index::variable("i0", 0, 9);
  const Index v = Index::value(12, 0, 5);
  const std::vector<Index> leaves = {t, u, x, padded, lane, stepped, i, j, odd, v};
  const Index cases[] = {odd + 1,
                         -3 * t - 7,
                         Index(INT64_MIN),
                         Index(INT64_MAX),
                         floor_mod(x * 3 - i, 7) * 5 - floor_div(x, t),
                         t * u * floor_div(x + v, 3),
                         min(x, max(i, t - 5) + 2) * 3,
                         0 - t * u};
  for (const Index& expected : cases) {
    const auto parsed = parse_index(expected.text(), leaves);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(*parsed, expected) << expected.text() << " became " << parsed->text();
  }
  EXPECT_EQ((odd + 1).text(), "`i0` + 1");
}

TEST_F(IndexRules, BadTextIsAnError) {
  for (const char* text : {"", "t +", "(t", "w", "t/x", "t%0", "99999999999999999999", "min(t", "t t", "`t", "t/0",
                           "9223372036854775807 + 1", "min()", "*t"}) {
    const auto parsed = parse_index(text, {t, x});
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidFormat) << text;
  }
  EXPECT_FALSE(parse_index(std::string(100000, '('), {t}).has_value());
  EXPECT_FALSE(parse_index("min(" + std::string(3000, '-') + "t)", {t}).has_value());
}

TEST_F(IndexRules, OverflowIsAnError) {
  EXPECT_THROW(Index(INT64_MAX) + 1, InternalError);
  EXPECT_THROW(Index(INT64_MAX) * t + t, InternalError);
  const Index big = Index::variable("n", 0, INT64_MAX);
  EXPECT_EQ((big * big).upper(), INT64_MAX);
  EXPECT_EQ((big - big * t).lower(), INT64_MIN);
  // What is not known stays unknown: a loop to an end without a bound has none either.
  EXPECT_EQ(Index::loop(1, big).upper(), INT64_MAX);
  EXPECT_EQ(Index::loop_between(1, INT64_MIN, INT64_MIN).upper(), INT64_MIN);
  EXPECT_EQ(Index(INT64_MIN).multiple(), int64_t{1} << 62);
}

TEST_F(IndexRules, HashesAreTheSameOnEveryPlatform) {
  EXPECT_EQ((4 * i + t + 1).hash(), (1 + t + i * 4).hash());
  EXPECT_NE((4 * i + t + 1).hash(), (4 * i + t).hash());
  // As computed by a 32-bit WebAssembly build: the order of terms, and so every text and key, hangs on these.
  const Index stepped_by_4 = Index::loop(3, t, 4);
  const Index mixed =
      floor_mod(stepped_by_4 * 3 - min(i, t - 7), 8 * u) * 5 + floor_div(t * t, 48) + lane + Index::value(1, -5, 70);
  EXPECT_EQ(mixed.text(), "lane + v1 + (t*t)/48 + 5*((3*i3 - min(i2, t - 7))%(8*u))");
  EXPECT_EQ((4 * i + t + 1).hash(), 10893554707741390033ull);
  EXPECT_EQ(mixed.hash(), 15026895824491439191ull);
}

}  // namespace
}  // namespace tandem
