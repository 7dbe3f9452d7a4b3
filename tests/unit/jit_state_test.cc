#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <thread>

#include "core/backend/registry.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Nothing {};

PrepareConfig on(const char* backend) {
  PrepareConfig config;
  config.backend_name = backend;
  config.numerics = Numerics::kReproducible;
  return config;
}

/// A running sum and the previous input, both kept in the plan.
struct Counter : Wrapper<Counter, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x)
  TANDEM_STATE(total, f32, 2)
  TANDEM_STATE(previous, f32, 2)
  TANDEM_OUTPUT(sum, f32)
  TANDEM_OUTPUT(rounded, i32)
  TANDEM_BUILD(x, total, previous) {
    const Tensor sum = total + x;
    return {as_sum(sum + previous * 100), as_rounded(sum.cast(DType::kI32)), as_total(sum), as_previous(x)};
  }
};

class JitState : public testing::TestWithParam<const char*> {
 protected:
  std::vector<float> step(Counter& counter, const std::vector<float>& x) {
    EXPECT_TRUE(counter.x_mut()->copy_from(x));
    auto done = counter.execute();
    EXPECT_TRUE(done) << done.error().text();
    return *counter.sum()->to_vector<float>();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, JitState, testing::Values("interpreter", "native"));

TEST_P(JitState, StaysInThePlanUntilReset) {
  Counter counter(Nothing{});
  auto prepared = counter.prepare_with_config(f32({2}), on(GetParam()));
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_THAT(step(counter, {1, 2.5f}), ElementsAre(1, 2.5f));
  EXPECT_THAT(step(counter, {3, 4}), ElementsAre(104, 256.5f));
  EXPECT_THAT(*counter.rounded()->to_vector<int32_t>(), ElementsAre(4, 6));
  EXPECT_THAT(*counter.total_mut()->to_vector<float>(), ElementsAre(4, 6.5f));
  EXPECT_THAT(step(counter, {0, 0}), ElementsAre(304, 406.5f));
  ASSERT_TRUE(counter.reset());
  EXPECT_THAT(step(counter, {1, 2.5f}), ElementsAre(1, 2.5f));
  EXPECT_EQ(counter.output_buffers()->size(), 4u);
  EXPECT_EQ(counter.input_buffer_ids()->size(), 3u);
}

TEST_P(JitState, ReplicasStartAsCopiesAndGoTheirOwnWay) {
  Counter counter(Nothing{});
  ASSERT_TRUE(counter.prepare_with_config(f32({2}), on(GetParam())));
  step(counter, {1, 2});
  auto replica = counter.replicate();
  ASSERT_TRUE(replica) << replica.error().text();
  std::vector<std::vector<float>> seen(2);
  std::thread first([&] {
    for (int i = 0; i < 100; i++) seen[0] = step(counter, {1, 1});
  });
  std::thread second([&] {
    for (int i = 0; i < 100; i++) seen[1] = step(*replica, {2, 0});
  });
  first.join();
  second.join();
  EXPECT_THAT(seen[0], ElementsAre(101 + 100, 102 + 100));
  EXPECT_THAT(seen[1], ElementsAre(201 + 200, 2));
}

TEST(JitStateErrors, ANewValueOfAnotherShapeIsRefused) {
  Session session("drift");
  session.declare_state("h", DType::kF32, {2});
  auto failed = session.prepare(
      {}, [](const Trace& trace) { return Outputs{{"y", trace.tensor("h")}, {"h", trace.tensor("h").slice(0, 0, 1)}}; },
      on("interpreter"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kBuild);
  EXPECT_THAT(failed.error().message, HasSubstr("f32[1], declared is f32[2]"));
  failed = session.prepare({}, [](const Trace& trace) { return Outputs{{"y", trace.tensor("h")}}; }, on("interpreter"));
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("does not return \"h\""));
}

/// [mean | h + x | c * 2 + 1]
struct Cell : Wrapper<Cell, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x)
  TANDEM_INPUT(h)
  TANDEM_INPUT(c)
  TANDEM_BUILD(x, h, c) { return concat({h.mean({1}, true), h + x, c * 2 + 1}, 1); }
  TANDEM_RECURRENT(h, c)
};
static_assert(RecurrentJit<Cell>);

TEST_P(JitState, RecurrentWrapperCarriesTheStateOnTheHost) {
  Cell cell(Nothing{});
  ASSERT_TRUE(cell.prepare_with_config(f32({1, 2}), f32({1, 2}), f32({1, 2}), on(GetParam())));
  auto run = JitRecurrent<Cell>::make(std::move(cell), LstmState::zeros(2), 1);
  ASSERT_TRUE(run) << run.error().text();
  const auto fill = [](Cell& jit) { return jit.x_mut()->copy_from(std::vector<float>{1, 3}); };
  EXPECT_EQ((*run->step(fill))[0], 0);
  EXPECT_EQ((*run->step(fill))[0], 2);
  EXPECT_EQ((*run->step(fill))[0], 4);
  EXPECT_THAT(run->state().h, ElementsAre(3, 9));
  EXPECT_THAT(run->state().c, ElementsAre(7, 7));
  EXPECT_GE(run->last_timing().exec, 0);
  auto refused = run->step([](Cell& jit) { return jit.x_mut()->copy_from(std::vector<float>{1}); });
  EXPECT_EQ(refused.error().code, ErrorCode::kViewOutOfBounds);
  EXPECT_THAT(run->state().h, ElementsAre(3, 9));
  run->reset();
  EXPECT_EQ((*run->step(fill))[0], 0);
}

TEST(JitStateErrors, ADriftingLayoutIsFoundAtConstruction) {
  Cell cell(Nothing{});
  EXPECT_EQ(JitRecurrent<Cell>::make(Cell(Nothing{}), LstmState::zeros(2), 1).error().code, ErrorCode::kNotPrepared);
  ASSERT_TRUE(cell.prepare_with_config(f32({1, 2}), f32({1, 2}), f32({1, 2}), on("interpreter")));
  auto drifted = JitRecurrent<Cell>::make(std::move(cell), LstmState::zeros(3), 1);
  ASSERT_FALSE(drifted);
  EXPECT_EQ(drifted.error().code, ErrorCode::kOutputLayoutMismatch);
  EXPECT_THAT(drifted.error().message, HasSubstr("f32[1, 5]"));
  EXPECT_THAT(drifted.error().message, HasSubstr("head 1 | h 3 | c 3"));
}

PrepareConfig configured(const char* name, const char* value, JitError* error = nullptr) {
  auto config =
      PrepareConfig::from([&](const char* asked) { return std::string_view(asked) == name ? value : nullptr; });
  if (config) return *config;
  if (error) *error = config.error();
  return {};
}

TEST(JitConfig, WordsOfTheEnvironment) {
  EXPECT_EQ(configured("TANDEM_BACKEND", "interpreter").backend_name, "interpreter");
  EXPECT_EQ(configured("TANDEM_NUMERICS", "reproducible").numerics, Numerics::kReproducible);
  EXPECT_EQ(configured("TANDEM_ISA", "avx2").isa, "avx2");
  EXPECT_TRUE(configured("TANDEM_BF16_DOT", "1").bfloat16_dot);
  EXPECT_FALSE(configured("TANDEM_BF16_DOT", "0").bfloat16_dot);
  EXPECT_TRUE(configured("TANDEM_TUNE", "1").tune);
  EXPECT_FALSE(configured("TANDEM_TUNE", "0").tune);
  EXPECT_EQ(configured("TANDEM_THREADS", "3").threads, 3);
  EXPECT_EQ(configured("TANDEM_MEMORY_LIMIT", "512M").memory_limit, int64_t{512} << 20);
  EXPECT_EQ(configured("TANDEM_DEBUG", "4").debug.level, 4);
  EXPECT_EQ(configured("TANDEM_DUMP", "folder").debug.folder, "folder");
  const std::pair<const char*, const char*> wrong[] = {{"TANDEM_BACKEND", "gpu"},        {"TANDEM_NUMERICS", "exact"},
                                                       {"TANDEM_ISA", "neon"},           {"TANDEM_THREADS", "-1"},
                                                       {"TANDEM_BF16_DOT", "yes"},       {"TANDEM_TUNE", "2"},
                                                       {"TANDEM_MEMORY_LIMIT", "12 MB"}, {"TANDEM_DEBUG", "9"}};
  for (const auto& [name, value] : wrong) {
    JitError error;
    configured(name, value, &error);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.message, HasSubstr(name));
    EXPECT_THAT(error.message, HasSubstr(value));
    EXPECT_THAT(error.message, HasSubstr("allowed: "));
    // No instruction set, though the interpreter has one of its name.
    if (std::string_view(name) == "TANDEM_ISA") EXPECT_THAT(error.message, Not(HasSubstr("interpreter")));
  }
}

TEST(JitConfig, BFloat16DotsAreForMachinesThatHaveThemAndFastNumerics) {
  PrepareConfig config;
  config.backend_name = "interpreter";
  EXPECT_FALSE(resolve(config)->bfloat16_dot);
  config.bfloat16_dot = true;
  EXPECT_TRUE(resolve(config)->bfloat16_dot);
  config.isa = "avx2";
  EXPECT_FALSE(resolve(config)->bfloat16_dot);
  config.numerics = Numerics::kReproducible;
  const auto refused = resolve(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("bfloat16_dot"), HasSubstr("exclude each other")));
}

TEST(JitConfig, PlansShareOneLiveBackend) {
  auto first = find_backend("interpreter");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->get(), find_backend("interpreter")->get());
  std::weak_ptr<Backend> live = *first;
  first->reset();
  EXPECT_TRUE(live.expired());
}

TEST(JitConfig, StagesCanBeWatched) {
  Counter counter(Nothing{});
  std::vector<Stage> stages;
  PrepareConfig config = on("interpreter");
  config.debug.observer = [&](Stage stage, const std::string&) { stages.push_back(stage); };
  ASSERT_TRUE(counter.prepare_with_config(f32({2}), config));
  EXPECT_THAT(stages, ElementsAre(Stage::kGraph, Stage::kRewritten, Stage::kSchedule, Stage::kKernels, Stage::kSource,
                                  Stage::kSummary));
}

TEST(JitProfile, EveryCallIsListed) {
  Counter counter(Nothing{});
  ASSERT_TRUE(counter.prepare_with_config(f32({2}), on("interpreter")));
  auto profile = counter.execute_profiled();
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->size(), counter.session().plan()->program().step_calls.size());
}

}  // namespace
}  // namespace tandem
