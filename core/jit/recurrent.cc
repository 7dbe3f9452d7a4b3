#include "core/jit/recurrent.h"

#include <cmath>

#include "core/base/text.h"

namespace tandem {

Result<void> pack_lstm_state(const LstmState& state, Result<Buffer> h, Result<Buffer> c) {
  if (!h) return tl::unexpected<JitError>(std::move(h).error());
  if (!c) return tl::unexpected<JitError>(std::move(c).error());
  if (auto copied = h->copy_from(state.h); !copied) return copied;
  return c->copy_from(state.c);
}

Result<void> check_recurrent_state(std::span<const float> state, size_t h_size) {
  bool finite = true;
  // Without a way out, so that compilers make vectors of it: this is part of every step.
  for (const float value : state) finite &= value * 0 == 0;
  if (finite) return {};
  size_t at = 0;
  while (std::isfinite(state[at])) at++;
  return fail(ErrorCode::kNonFinite,
              concat("element ", at < h_size ? at : at - h_size, " of the new state ", at < h_size ? "h" : "c", " is ",
                     state[at],
                     "; the state stays as it was. Check that inputs and weights are finite and in the range "
                     "that the model was made for"));
}

Result<void> check_recurrent_layout(const BufferView& output, size_t head, const LstmState& state) {
  const std::string expected = concat("f32 [head ", head, " | h ", state.h.size(), " | c ", state.c.size(), "], ",
                                      head + state.h.size() + state.c.size(), " elements along the last axis");
  const std::string actual =
      concat("output \"", output.name(), "\" is ", name_of(output.dtype()), "[", join(output.shape()), "]");
  const auto refuse = [&] {
    return fail(ErrorCode::kOutputLayoutMismatch,
                concat(actual, ", the recurrent wrapper needs ", expected, "; concatenate them in this order"));
  };
  if (output.dtype() != DType::kF32 || output.shape().empty()) return refuse();
  const auto last = static_cast<size_t>(output.shape().back());
  if (output.size() != last || last != head + state.h.size() + state.c.size()) return refuse();
  return {};
}

}  // namespace tandem
