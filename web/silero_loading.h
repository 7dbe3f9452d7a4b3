#pragma once

#include "core/models/silero_weights.h"
#include "web/arguments.h"
#include "web/engine.h"

namespace tandem::web {

/// A detector of Silero VAD, of a stream or of recordings, from the bytes of its weights, which are not needed
/// afterwards. `origin` names them in errors; `dtype`: what plans keep the matrices as, see SileroWeights::kept.
template <typename Detector>
Result<Detector> load_silero(const uint8_t* bytes, uint32_t size, const char* origin, int sample_rate,
                             const char* dtype, const char* isa, int mode) {
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  TANDEM_TRY(file, read_weights(ByteSource::view({first, size}), origin));
  TANDEM_TRY(weights, find_silero_weights(file, sample_rate));
  weights.kept = dtype_or_throw(dtype);
  return Detector::create(weights, prepare_config(isa, mode));
}

}  // namespace tandem::web
