#include "core/models/weight_constant.h"

namespace tandem {

Tensor weight_constant(const WeightTensor& weight, const WeightFile& file) {
  const Shape shape(weight.shape.begin(), weight.shape.end());
  return Tensor::constant(
      weight.dtype, shape,
      constant_data(weight.dtype, shape, std::make_shared<const WeightFile>(file), weight.bytes, weight.name));
}

}  // namespace tandem
