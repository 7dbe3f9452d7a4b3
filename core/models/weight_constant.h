#pragma once

#include "core/tensor/tensor.h"
#include "core/weights/weight_file.h"

namespace tandem {

/// A tensor of a weight file as a constant of a graph. The bytes are shared, and what holds them is kept alive.
Tensor weight_constant(const WeightTensor& weight, const WeightFile& file);

}  // namespace tandem
