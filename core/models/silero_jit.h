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

}  // namespace tandem
