#include "core/models/weight_constant.h"

namespace tandem {

Tensor weight_constant(const WeightTensor& weight, const WeightFile& file) {
  const Shape shape(weight.shape.begin(), weight.shape.end());
  return Tensor::constant(
      weight.dtype, shape,
      constant_data(weight.dtype, shape, file.holder(), weight.bytes, weight.name, file.release_of(weight.bytes)));
}

}  // namespace tandem
