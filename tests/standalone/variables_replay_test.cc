// One plan, all values: nothing is compiled, instantiated or allocated after it was made.

#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include "core/backend/registry.h"
#include "tests/reference/cases.h"
#include "tests/reference/random.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/counting_backend.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

/// All values of each variable, with the others at each of theirs when these are not too many, else at random ones.
std::vector<std::vector<int64_t>> all_values(const std::vector<Index>& variables) {
  constexpr int64_t kMost = 400;
  int64_t combinations = 1;
  for (const Index& variable : variables) combinations *= variable.upper() - variable.lower() + 1;
  std::vector<std::vector<int64_t>> out;
  reference::Random random(7);
  const auto fits = [&](const std::vector<int64_t>& values) {
    for (size_t i = 0; i < variables.size(); i++)
      if (values[i] % variables[i].multiple() != 0) return false;
    return true;
  };
  if (combinations <= kMost) {
    for (int64_t number = 0; number < combinations; number++) {
      std::vector<int64_t> values;
      int64_t rest = number;
      for (const Index& variable : variables) {
        const int64_t count = variable.upper() - variable.lower() + 1;
        values.push_back(variable.lower() + rest % count);
        rest /= count;
      }
      if (fits(values)) out.push_back(values);
    }
    return out;
  }
  for (size_t chosen = 0; chosen < variables.size(); chosen++)
    for (int64_t value = variables[chosen].lower(); value <= variables[chosen].upper(); value++) {
      std::vector<int64_t> values;
      for (const Index& variable : variables) values.push_back(random.between(variable.lower(), variable.upper()));
      values[chosen] = value;
      if (fits(values)) out.push_back(values);
    }
  return out;
}

class VariablesReplay : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, VariablesReplay, testing::Values("interpreter", "native", "wasm"));

TEST_P(VariablesReplay, NothingIsCompiledOrAllocatedAfterPrepare) {
  PrepareConfig config;
  config.backend_name = GetParam();
  auto resolved = resolve(config);
  ASSERT_TRUE(resolved) << resolved.error().text();
  const auto counted = std::make_shared<test::CountingBackend>(resolved->backend);
  int cases = 0;
  int64_t runs = 0;
  for (const reference::Case& from : reference::load_cases(TANDEM_SOURCE_DIR)) {
    if (from.graph.find("variables ") == std::string::npos) continue;
    SCOPED_TRACE(from.name);
    const reference::LoadedCase loaded = reference::load(from);
    auto planned =
        test::PlannedGraph::make(loaded.module, {GetParam(), counted, resolved->capabilities}, Numerics::kReproducible);
    ASSERT_TRUE(planned) << planned.error().text();
    if (planned->plan().variables().empty()) continue;
    // Inputs of their largest size stay where this writes them; what they hold matters to lengths and indices only.
    ASSERT_TRUE(planned->run(loaded.options));
    const int compilations = counted->compilations, allocations = counted->allocations;
    const auto values = all_values(planned->plan().variables());
    bool good = true;
    const int64_t asked = test::allocations_of([&] {
      for (const std::vector<int64_t>& each : values) good = planned->replay(each.data()) && good;
    });
    EXPECT_TRUE(good);
    EXPECT_EQ(counted->compilations, compilations);
    EXPECT_EQ(counted->allocations, allocations);
    // What crosses to the process that runs WebAssembly goes through buffers of the host.
    if (GetParam() != std::string_view("wasm")) EXPECT_EQ(asked, 0);
    cases++;
    runs += static_cast<int64_t>(values.size());
  }
  EXPECT_GE(cases, 40);
  EXPECT_GE(runs, 40 * 50);
}

struct Nothing {};

struct Attention : Wrapper<Attention, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(b, 1, 3)
  TANDEM_VAR(t, 1, 40)
  TANDEM_INPUT(x, f32, b, t, 8)
  TANDEM_INPUT(lengths, i32, b)
  TANDEM_STATE(seen, f32, 8)
  TANDEM_OUTPUT(y, f32)
  TANDEM_BUILD(x, lengths, seen) {
    const Tensor scores = softmax(matmul(x, x.transpose(-1, -2)).limit(2, lengths, -10000), -1);
    const Tensor y = matmul(scores, x) + seen;
    return {as_y(y), as_seen(y.mean({0, 1}) * 0.5)};
  }
};

TEST_P(VariablesReplay, AWrapperAllocatesNothingEither) {
  PrepareConfig config;
  config.backend_name = GetParam();
  auto resolved = resolve(config);
  ASSERT_TRUE(resolved) << resolved.error().text();
  const auto counted = std::make_shared<test::CountingBackend>(resolved->backend);
  config.backend = counted;
  Attention jit(Nothing{});
  ASSERT_TRUE(jit.prepare_with_config(config));
  ASSERT_TRUE(jit.execute());
  const int compilations = counted->compilations, allocations = counted->allocations;
  EXPECT_EQ(compilations, 1);
  const std::vector<float> x(size_t{3} * 40 * 8, 0.25f);
  const std::vector<int32_t> lengths = {5, 40, 0};
  bool good = true;
  const int64_t asked = test::allocations_of([&] {
    for (int64_t b = 1; b <= 3; b++)
      for (int64_t t = 1; t <= 40; t++) {
        good = good && jit.x_mut()->copy_from(std::span(x).first(static_cast<size_t>(b * t * 8)), {b, t, 8});
        good = good && jit.lengths_mut()->copy_from(std::span(lengths).first(static_cast<size_t>(b)), {b});
        good = good && jit.execute_with_vars({{"b", b}, {"t", t}}) && jit.execute_bound(b, t);
        good = good && jit.y()->size() == static_cast<size_t>(b * t * 8) && jit.y_view<float>();
      }
  });
  EXPECT_TRUE(good);
  EXPECT_EQ(counted->compilations, compilations);
  EXPECT_EQ(counted->allocations, allocations);
  if (GetParam() != std::string_view("wasm")) EXPECT_EQ(asked, 0);
}

TEST(VariablesReplayCounters, Count) {
  EXPECT_GE(test::allocations_of([] { delete new std::vector<int>(100); }), 1);
  const auto counted = std::make_shared<test::CountingBackend>(*find_backend("interpreter"));
  PrepareConfig config;
  config.backend = counted;
  for (int i = 1; i < 3; i++) {
    Attention jit(Nothing{});
    ASSERT_TRUE(jit.prepare_with_config(config));
    EXPECT_EQ(counted->compilations, i);
    EXPECT_GE(counted->allocations, i);
  }
}

}  // namespace
}  // namespace tandem
