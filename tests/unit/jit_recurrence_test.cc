// One recurrent cell twice: with its state on the host (JitRecurrent) and in the plan (TANDEM_STATE). Equal bits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cmath>
#include <cstring>
#include <thread>

namespace tandem {
namespace {

constexpr int64_t kIn = 5, kHidden = 7, kHead = 3;

/// Weights of a small LSTM with a head of its own.
struct CellModel {
  Tensor w_ih, w_hh, b_ih, b_hh, w_head;

  CellModel()
      : w_ih(filled({kHidden * 4, kIn}, 0.3)),
        w_hh(filled({kHidden * 4, kHidden}, 0.7)),
        b_ih(filled({kHidden * 4}, 1.1)),
        b_hh(filled({kHidden * 4}, 1.3)),
        w_head(filled({kHead, kHidden}, 1.9)) {}

  static Tensor filled(const Shape& shape, double step) {
    std::vector<float> values(static_cast<size_t>(element_count(shape).constant()));
    for (size_t i = 0; i < values.size(); i++)
      values[i] = static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
    return Tensor::constant(shape, values, "weight");
  }
  LstmOutput next(const Tensor& x, const Tensor& h, const Tensor& c) const {
    return lstm_cell(x, h, c, w_ih, w_hh, b_ih, b_hh);
  }
  Tensor head(const Tensor& h) const { return linear(relu(h), w_head); }
};

struct HostCell : Wrapper<HostCell, CellModel> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x, f32, 1, kIn)
  TANDEM_INPUT(h, f32, 1, kHidden)
  TANDEM_INPUT(c, f32, 1, kHidden)
  TANDEM_BUILD(x, h, c) {
    const LstmOutput state = model.next(x, h, c);
    return concat({model.head(state.h), state.h, state.c}, 1);
  }
  TANDEM_RECURRENT(h, c)
};

struct PlanCell : Wrapper<PlanCell, CellModel> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x, f32, 1, kIn)
  TANDEM_STATE(h, f32, 1, kHidden)
  TANDEM_STATE(c, f32, 1, kHidden)
  TANDEM_OUTPUT(head, f32)
  TANDEM_BUILD(x, h, c) {
    const LstmOutput state = model.next(x, h, c);
    return {as_head(model.head(state.h)), as_h(state.h), as_c(state.c)};
  }
};

std::vector<float> input_of(int step) {
  std::vector<float> x(kIn);
  for (size_t i = 0; i < x.size(); i++) x[i] = std::cos(static_cast<float>(step * 5 + static_cast<int>(i)));
  return x;
}

/// The states of one step after the other, as a person would compute them.
std::vector<double> expected_head(int steps) {
  const auto weight = [](double step, size_t i) {
    return static_cast<double>(static_cast<float>(std::sin(step * static_cast<double>(i + 1))));
  };
  std::vector<double> h(kHidden, 0), c(kHidden, 0);
  for (int step = 0; step < steps; step++) {
    const std::vector<float> x = input_of(step);
    std::vector<double> gates(kHidden * 4);
    for (size_t row = 0; row < gates.size(); row++) {
      double sum = weight(1.1, row) + weight(1.3, row);
      for (size_t i = 0; i < kIn; i++) sum += weight(0.3, row * kIn + i) * x[i];
      for (size_t i = 0; i < kHidden; i++) sum += weight(0.7, row * kHidden + i) * h[i];
      gates[row] = sum;
    }
    const auto sigmoid_of = [](double value) { return 1 / (1 + std::exp(-value)); };
    for (size_t i = 0; i < kHidden; i++) {
      c[i] = sigmoid_of(gates[kHidden + i]) * c[i] + sigmoid_of(gates[i]) * std::tanh(gates[2 * kHidden + i]);
      h[i] = sigmoid_of(gates[3 * kHidden + i]) * std::tanh(c[i]);
    }
  }
  std::vector<double> head(kHead);
  for (size_t row = 0; row < kHead; row++)
    for (size_t i = 0; i < kHidden; i++) head[row] += weight(1.9, row * kHidden + i) * std::max(h[i], 0.0);
  return head;
}

class JitRecurrence : public testing::TestWithParam<std::tuple<const char*, Numerics>> {
 protected:
  PrepareConfig config() const {
    PrepareConfig out;
    out.backend_name = std::get<0>(GetParam());
    out.numerics = std::get<1>(GetParam());
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, JitRecurrence,
                         testing::Combine(testing::Values("interpreter", "native", "wasm"),
                                          testing::Values(Numerics::kReproducible, Numerics::kFast)));

TEST_P(JitRecurrence, StateOnTheHostAndInThePlanGiveEqualBits) {
  HostCell host_cell{CellModel()};
  PlanCell plan_cell{CellModel()};
  ASSERT_TRUE(host_cell.prepare_with_config(config()));
  ASSERT_TRUE(plan_cell.prepare_with_config(config()));
  auto host = JitRecurrent<HostCell>::make(std::move(host_cell), LstmState::zeros(kHidden), kHead);
  ASSERT_TRUE(host) << host.error().text();
  EXPECT_EQ(host->head_len(), static_cast<size_t>(kHead));
  constexpr int kSteps = 20;
  for (int round = 0; round < 2; round++) {
    for (int step = 0; step < kSteps; step++) {
      const std::vector<float> x = input_of(step);
      const auto head = host->step([&](HostCell& jit) { return jit.x_mut()->copy_from(x); });
      ASSERT_TRUE(head) << head.error().text();
      ASSERT_TRUE(plan_cell.x_mut()->copy_from(x));
      ASSERT_TRUE(plan_cell.execute());
      const auto same_bits = [&](std::span<const float> a, std::span<const float> b) {
        return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
      };
      EXPECT_TRUE(same_bits(*head, *plan_cell.head_view<float>())) << "step " << step;
      EXPECT_TRUE(same_bits(host->state().h, *plan_cell.h_view<float>())) << "step " << step;
      EXPECT_TRUE(same_bits(host->state().c, *plan_cell.c_view<float>())) << "step " << step;
    }
    const std::vector<double> expected = expected_head(kSteps);
    for (size_t i = 0; i < kHead; i++) EXPECT_NEAR((*plan_cell.head_view<float>())[i], expected[i], 2e-5);
    host->reset();
    ASSERT_TRUE(plan_cell.reset());
  }
}

TEST_P(JitRecurrence, ASavedStateIsPutBack) {
  HostCell cell{CellModel()};
  ASSERT_TRUE(cell.prepare_with_config(config()));
  auto host = JitRecurrent<HostCell>::make(std::move(cell), LstmState::zeros(kHidden), kHead);
  ASSERT_TRUE(host);
  const auto step = [&](int number) {
    const auto head = host->step([&](HostCell& jit) { return jit.x_mut()->copy_from(input_of(number)); });
    return std::vector<float>(head->begin(), head->end());
  };
  step(0);
  const LstmState saved = host->state();
  const std::vector<float> second = step(1);
  step(2);
  host->state_mut() = saved;
  EXPECT_EQ(step(1), second);
  EXPECT_GE(host->last_timing().pack, 0);
  EXPECT_GT(host->last_timing().exec, 0);
  EXPECT_GE(host->last_timing().read, 0);
}

TEST(JitReplicas, RunWhileOthersPrepare) {
  PlanCell first{CellModel()};
  PrepareConfig config;
  config.backend_name = "native";
  config.numerics = Numerics::kReproducible;
  ASSERT_TRUE(first.prepare_with_config(config));
  constexpr int kThreads = 4, kRounds = 8;
  std::vector<std::vector<float>> heads(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; round++) {
        // Half of them make plans of their own.
        Result<PlanCell> cell = i % 2 == 0 ? first.replicate() : Result<PlanCell>(tl::in_place, CellModel());
        if (!cell || (i % 2 == 1 && !cell->prepare_with_config(config))) return;
        for (int step = 0; step < 10; step++)
          if (!cell->x_mut()->copy_from(input_of(step)) || !cell->execute()) return;
        heads[static_cast<size_t>(i)] = *cell->head()->to_vector<float>();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int step = 0; step < 10; step++) ASSERT_TRUE(first.x_mut()->copy_from(input_of(step)) && first.execute());
  for (const auto& head : heads) EXPECT_EQ(head, *first.head()->to_vector<float>());
}

}  // namespace
}  // namespace tandem
