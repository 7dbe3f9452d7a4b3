#pragma once

#include "core/jit/wrapper.h"
#include "core/models/silero.h"

namespace tandem {

/// Silero VAD as a step whose state is kept by the caller: `JitRecurrent<SileroJit>::make(jit, LstmState::zeros(128),
/// 1)`. `prepare()` takes no InputSpec, since the sizes come with the model.
struct SileroJit : Wrapper<SileroJit, Silero> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(chunk, f32, 1, this->model().sizes().chunk())
  TANDEM_INPUT(state_h, f32, 1, kSileroHidden)
  TANDEM_INPUT(state_c, f32, 1, kSileroHidden)
  TANDEM_RECURRENT(state_h, state_c)
  TANDEM_BUILD(chunk, state_h, state_c) { return model.forward_chunk(chunk, state_h, state_c); }
};

/// Silero VAD as a step whose state stays in the plan; what `SileroVad` runs.
struct SileroStreamJit : Wrapper<SileroStreamJit, Silero> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(chunk, f32, 1, this->model().sizes().chunk())
  TANDEM_STATE(h, f32, 1, kSileroHidden)
  TANDEM_STATE(c, f32, 1, kSileroHidden)
  TANDEM_OUTPUT(probability, f32)
  TANDEM_BUILD(chunk, h, c) {
    const Silero::Step step = model.step(chunk, h, c);
    return {as_probability(step.probability), as_h(step.state.h), as_c(step.state.c)};
  }
};

/// The part of up to 64 steps of Silero VAD that needs no state, at once; see Silero::gates.
struct SileroGatesJit : Wrapper<SileroGatesJit, Silero> {
  static constexpr const char* kSessionName = "Silero VAD gates";
  using Wrapper::Wrapper;
  TANDEM_VAR(w, 1, 64)
  TANDEM_INPUT(samples, f32, this->model().sizes().context + w * this->model().sizes().window)
  TANDEM_OUTPUT(gates, f32)
  TANDEM_BUILD(samples, w) { return {as_gates(model.gates(samples, w))}; }
};

/// The rest of a step, from a row of gates; the state stays in the plan.
struct SileroScanJit : Wrapper<SileroScanJit, Silero> {
  static constexpr const char* kSessionName = "Silero VAD scan";
  using Wrapper::Wrapper;
  TANDEM_INPUT(gates, f32, 1, 4 * kSileroHidden)
  TANDEM_STATE(h, f32, 1, kSileroHidden)
  TANDEM_STATE(c, f32, 1, kSileroHidden)
  TANDEM_OUTPUT(probability, f32)
  TANDEM_BUILD(gates, h, c) {
    const Silero::Step step = model.step_from_gates(gates, h, c);
    return {as_probability(step.probability), as_h(step.state.h), as_c(step.state.c)};
  }
};

}  // namespace tandem
