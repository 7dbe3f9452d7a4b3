#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include "tests/support/allocation_counter.h"

namespace tandem {
namespace {

struct Nothing {};

struct Cell : Wrapper<Cell, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(x, f32, 2, t)
  TANDEM_INPUT(h, f32, 1, 4)
  TANDEM_INPUT(c, f32, 1, 4)
  TANDEM_BUILD(x, h, c) {
    const Tensor mean = x.mean().reshape({1, 1});
    return concat({mean, tanh(h + mean), c + mean}, 1);
  }
  TANDEM_RECURRENT(h, c)
};

struct Running : Wrapper<Running, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(x, f32, 2, t)
  TANDEM_STATE(total, f32, 2)
  TANDEM_OUTPUT(y, f32)
  TANDEM_BUILD(x, total) {
    const Tensor sum = x.sum({1}) + total;
    return {as_y(x + 1), as_total(sum)};
  }
};

/// How often `work` asks for memory in ten rounds, after a first one that may.
template <typename Work>
int64_t allocations_of(const Work& work) {
  work();
  return test::allocations_of([&] {
    for (int i = 0; i < 10; i++) work();
  });
}

class JitAllocation : public testing::TestWithParam<const char*> {
 protected:
  PrepareConfig config() {
    PrepareConfig out;
    out.backend_name = GetParam();
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, JitAllocation, testing::Values("native", "interpreter"));

TEST_P(JitAllocation, TheCounterCounts) {
  EXPECT_GE(allocations_of([] { delete new std::vector<int>(100); }), 10);
}

TEST_P(JitAllocation, ExecuteAllocatesNothing) {
  Running running(Nothing{});
  ASSERT_TRUE(running.prepare_with_config(config()));
  const std::vector<float> x(6, 1.0f);
  bool good = true;
  EXPECT_EQ(allocations_of([&] {
              good = good && running.x_mut()->copy_from(x, {2, 3}) && running.execute_with_vars({{"t", 3}}) &&
                     running.execute_bound(5) && running.execute() && running.y_view<float>();
            }),
            0);
  EXPECT_TRUE(good);
  EXPECT_EQ(running.y()->size(), 16u);
}

/// Many outputs, and so many calls.
struct Fan : Wrapper<Fan, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x, f32, 50)
  TANDEM_OUTPUT_ARRAY(parts, 50, f32)
  TANDEM_BUILD(x) {
    std::vector<Tensor> parts;
    for (int i = 0; i < 50; i++) parts.push_back(x.slice(0, i, i + 1) * 2);
    return {as_parts(parts)};
  }
};

TEST_P(JitAllocation, FiftyKernelsAllocateNothing) {
  Fan fan(Nothing{});
  ASSERT_TRUE(fan.prepare_with_config(config()));
  EXPECT_EQ(fan.session().plan()->program().step_calls.size(), 50u);
  bool good = true;
  EXPECT_EQ(allocations_of([&] { good = good && fan.execute() && fan.parts_view<float>(49); }), 0);
  EXPECT_TRUE(good);
}

TEST_P(JitAllocation, StepAllocatesNothing) {
  Cell cell(Nothing{});
  ASSERT_TRUE(cell.prepare_with_config(config()));
  auto run = JitRecurrent<Cell>::make(std::move(cell), LstmState::zeros(4), 1);
  ASSERT_TRUE(run);
  const std::vector<float> x(16, 1.0f);
  bool good = true;
  EXPECT_EQ(allocations_of([&] { good = good && run->step([&](Cell& jit) { return jit.x_mut()->copy_from(x); }); }), 0);
  EXPECT_TRUE(good);
  EXPECT_EQ(run->state().c[3], 11.0f);
}

}  // namespace
}  // namespace tandem
