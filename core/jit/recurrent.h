#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/jit/buffer.h"

namespace tandem {

/// The state of a recurrent model on the host.
struct LstmState {
  std::vector<float> h;
  std::vector<float> c;

  /// Both of n zeros.
  static LstmState zeros(size_t n) { return {std::vector<float>(n, 0.0f), std::vector<float>(n, 0.0f)}; }
};

/// How long the parts of a step took, in microseconds.
struct StepTiming {
  double pack = 0;  ///< Writing the inputs and the state.
  double exec = 0;  ///< The kernels.
  double read = 0;  ///< Splitting the output.
};

/// What JitRecurrent needs of a wrapper; TANDEM_RECURRENT(h, c) writes the three.
template <typename J>
concept RecurrentJit = requires(J& jit, const LstmState& state) {
  { jit.pack_state(state) } -> std::same_as<Result<void>>;
  { jit.execute_step() } -> std::same_as<Result<void>>;
  { jit.output_buffer() } -> std::same_as<Result<BufferView>>;
};

/// Copies the host's state into the inputs that take it.
Result<void> pack_lstm_state(const LstmState& state, Result<Buffer> h, Result<Buffer> c);

/// Checks that the output is f32 [head | h | c] along its last axis, the others 1; kOutputLayoutMismatch with the
/// numbers.
Result<void> check_recurrent_layout(const BufferView& output, size_t head, const LstmState& state);

/// kNonFinite naming the first element of the new state [h | c] that is NaN or infinite: it would spoil all later
/// steps.
Result<void> check_recurrent_state(std::span<const float> state, size_t h_size);

/// Runs a prepared wrapper step by step and keeps its state on the host between the steps.
template <RecurrentJit J>
class JitRecurrent {
 public:
  /// `head`: how many elements of the output are the step's result; behind them stand the new h and c. Checks the
  /// layout once; kNotPrepared for a wrapper without plan.
  [[nodiscard]] static Result<JitRecurrent> make(J jit, LstmState state, size_t head) {
    auto output = jit.output_buffer();
    if (!output) return tl::unexpected<JitError>(output.error());
    if (auto checked = check_recurrent_layout(*output, head, state); !checked)
      return tl::unexpected<JitError>(checked.error());
    return JitRecurrent(std::move(jit), std::move(state), head);
  }

  /// Fills the step's inputs with `fill(jit)`, which may return a Result<void>, hands the state in, runs, keeps the new
  /// state, and returns the head. The view stands until the next step. After an error the state is as before; a new
  /// state that is not finite is one (kNonFinite).
  template <typename Fill>
  [[nodiscard]] Result<std::span<const float>> step(Fill&& fill) {
    const Clock::time_point start = Clock::now();
    if constexpr (std::is_void_v<std::invoke_result_t<Fill, J&>>) {
      fill(jit_);
    } else {
      if (auto filled = fill(jit_); !filled) return tl::unexpected<JitError>(std::move(filled).error());
    }
    if (auto packed = jit_.pack_state(state_); !packed) return tl::unexpected<JitError>(std::move(packed).error());
    const Clock::time_point packed_at = Clock::now();
    if (auto done = jit_.execute_step(); !done) return tl::unexpected<JitError>(std::move(done).error());
    const Clock::time_point executed_at = Clock::now();
    auto head = split();
    timing_ = {microseconds(start, packed_at), microseconds(packed_at, executed_at),
               microseconds(executed_at, Clock::now())};
    return head;
  }

  /// Zeroes the state; the plan is not touched.
  void reset() {
    std::fill(state_.h.begin(), state_.h.end(), 0.0f);
    std::fill(state_.c.begin(), state_.c.end(), 0.0f);
  }

  const StepTiming& last_timing() const { return timing_; }
  const LstmState& state() const { return state_; }
  /// For putting a saved state back; the lengths must stay.
  LstmState& state_mut() { return state_; }
  size_t head_len() const { return head_; }
  J& jit() { return jit_; }
  const J& jit() const { return jit_; }

 private:
  using Clock = std::chrono::steady_clock;

  JitRecurrent(J jit, LstmState state, size_t head) : jit_(std::move(jit)), state_(std::move(state)), head_(head) {}

  static double microseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
  }

  Result<std::span<const float>> split() {
    auto output = jit_.output_buffer();
    if (!output) return tl::unexpected<JitError>(std::move(output).error());
    auto all = output->template span<float>();
    if (!all) return tl::unexpected<JitError>(std::move(all).error());
    // A variable in the output's shape could change it after the check.
    if (all->size() != head_ + state_.h.size() + state_.c.size())
      return tl::unexpected<JitError>(check_recurrent_layout(*output, head_, state_).error());
    if (auto checked = check_recurrent_state(all->subspan(head_), state_.h.size()); !checked)
      return tl::unexpected<JitError>(std::move(checked).error());
    const auto h = all->begin() + static_cast<ptrdiff_t>(head_);
    const auto c = h + static_cast<ptrdiff_t>(state_.h.size());
    std::copy(h, c, state_.h.begin());
    std::copy(c, all->end(), state_.c.begin());
    return all->first(head_);
  }

  J jit_;
  LstmState state_;
  size_t head_;
  StepTiming timing_;
};

}  // namespace tandem
