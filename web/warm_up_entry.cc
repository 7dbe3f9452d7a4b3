// The first plan of a page takes several times as long as the next one: browsers compile every function of the engine
// when it is first called, and run a quickly made version of it until they have seen it work. Here are small plans that
// nobody needs, to be made while a page waits for its weights. Together they go through every stage of preparing: a
// trace, rules, contractions, reductions and maps, packing, the emitter, an instance. Each is short, so that a page
// stays responsive between them.

#include <cmath>
#include <iterator>
#include <vector>

#include "core/jit/session.h"
#include "core/tensor/nn.h"
#include "web/boundary.h"
#include "web/engine.h"

namespace tandem::web {

namespace {

/// Some weights; what they are does not matter, but they must not be alike.
Tensor weights(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape).constant()));
  for (size_t i = 0; i < values.size(); i++) values[i] = std::sin(static_cast<float>(i));
  return Tensor::constant(shape, values);
}

/// Frames of a signal and their lengths: mirrored ends, windows, a contraction, a root.
Outputs frames(const Trace& trace) {
  const Tensor signal = trace.tensor("x").reshape({1, 96}).reflect_pad({{0, 0}, {0, 16}}).unsqueeze(1);
  const std::vector<Tensor> parts = conv1d(signal, weights({34, 1, 32}), {}, {.stride = 16}).chunk(1, 2);
  return sqrt(parts[0] * parts[0] + parts[1] * parts[1]);
}

/// Convolutions with padding, a bias and an activation, in two precisions.
Outputs convolutions(const Trace& trace) {
  Tensor x = trace.tensor("x").reshape({1, 24, 4});
  x = relu(conv1d(x, weights({16, 24, 3}), weights({16}), {.padding = 1})).cast(DType::kF64);
  x = conv1d(x, weights({8, 16, 3}).cast(DType::kF64), weights({8}).cast(DType::kF64), {.stride = 2, .padding = 1});
  return relu(x).cast(DType::kF32);
}

/// A recurrent step with its state, and a probability.
Outputs recurrence(const Trace& trace) {
  const Tensor x = trace.tensor("x").reshape({1, 96}).shrink({{0, 1}, {0, 16}});
  const Tensor state = trace.tensor("x").reshape({1, 96}).shrink({{0, 1}, {16, 32}});
  const LstmOutput next =
      lstm_cell(x, state, state, weights({64, 16}), weights({64, 16}), weights({64}), weights({64}));
  const Tensor score = conv1d(relu(next.h).unsqueeze(2), weights({1, 16, 1}), weights({1}));
  return Outputs{{"probability", sigmoid(score).mean({2})}, {"h", next.h}, {"c", next.c}};
}

constexpr Outputs (*kPlans[])(const Trace&) = {frames, convolutions, recurrence};

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// Makes the plan of this number and throws it away. 1: there is another one after it; 0: that was the last.
TANDEM_EXPORT int tandem_warm_up(uint32_t number, const char* isa, int mode) {
  return guarded(0, [&]() -> Result<int> {
    if (number >= std::size(kPlans)) return 0;
    const PrepareConfig config = prepare_config(isa, mode);
    Session session("warm-up");
    session.declare_input("x", DType::kF32, {96});
    if (auto prepared = session.prepare({}, kPlans[number], config); !prepared)
      return tl::unexpected<JitError>(prepared.error());
    if (auto executed = session.execute(); !executed) return tl::unexpected<JitError>(executed.error());
    return number + 1 < std::size(kPlans) ? 1 : 0;
  });
}
