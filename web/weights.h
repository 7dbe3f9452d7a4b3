#pragma once

#include <cstdint>

#include "core/weights/weight_file.h"

namespace tandem::web {

/// A file that `tandem_weights_read` or `tandem_weights_join` made. Throws TensorError (NotFound) for a number that is
/// not in use.
const WeightFile& weight_file(uint32_t handle);

}  // namespace tandem::web
