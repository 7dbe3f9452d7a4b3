#include "core/backend/index_program.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tandem {
namespace {

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

TEST(IndexProgram, ComputesWhatTheExpressionSays) {
  const Index t = Index::variable("t", 1, 1000), n = Index::variable("n", 1, 50);
  const std::vector<Index> variables = {n, t};
  const IndexProgram frames(floor_div(floor_div(t + 1, 2) + 1, 2) * 3 - n, variables);
  const IndexProgram bounded(min(max(t - 500, n * n), 400) + floor_mod(n - t, 7), variables);
  const IndexProgram ratio(floor_div(t * n - 3, n), variables);
  const IndexProgram constant(42, {});
  for (int64_t t_value : {1, 2, 3, 500, 777, 1000})
    for (int64_t n_value : {1, 7, 50}) {
      const int64_t values[] = {n_value, t_value};
      EXPECT_EQ(frames.evaluate(values), ((t_value + 1) / 2 + 1) / 2 * 3 - n_value);
      const int64_t rest = n_value - t_value - 7 * floor_of(n_value - t_value, 7);
      EXPECT_EQ(bounded.evaluate(values), std::min<int64_t>(std::max(t_value - 500, n_value * n_value), 400) + rest);
      EXPECT_EQ(ratio.evaluate(values), floor_of(t_value * n_value - 3, n_value));
    }
  EXPECT_EQ(constant.evaluate(nullptr), 42);
}

TEST(IndexProgram, RefusesOtherLeaves) {
  EXPECT_THROW(IndexProgram(Index::variable("t", 1, 9), {Index::variable("n", 1, 9)}), InternalError);
  EXPECT_THROW(IndexProgram(Index::loop(0, 4) + 1, {}), InternalError);
}

}  // namespace
}  // namespace tandem
