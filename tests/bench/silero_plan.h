#pragma once

#include <memory>

#include "core/models/silero.h"
#include "core/plan/plan.h"

namespace tandem::bench {

/// A plan of one step of Silero VAD at the weights' rate: inputs chunk, h, c; one output [probability, h, c]. Throws
/// std::runtime_error.
std::unique_ptr<Plan> silero_plan(const SileroWeights& weights, std::shared_ptr<Backend> backend,
                                  const Capabilities& capabilities, Numerics numerics);

/// One step of such a plan: chunk in, probability out, the state goes round.
float silero_step(Plan& plan, const float* chunk);

}  // namespace tandem::bench
