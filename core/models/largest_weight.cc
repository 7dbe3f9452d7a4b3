#include "core/models/largest_weight.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/graph/constant.h"

namespace tandem {
float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

std::string largest_weight_text(std::span<const WeightTensor> weights) {
  double largest = 0;
  const WeightTensor* largest_in = nullptr;
  for (const WeightTensor& tensor : weights)
    for (size_t i = 0; is_float(tensor.dtype) && i < tensor.numel(); ++i) {
      const double value = constant_element(tensor.dtype, tensor.bytes.data(), i);
      if (!std::isfinite(value)) return concat("the weight \"", tensor.name, "\" holds ", value, " at element ", i);
      if (std::fabs(value) <= largest) continue;
      largest = std::fabs(value);
      largest_in = &tensor;
    }
  if (largest_in == nullptr) return "all weights are 0";
  const bool wide = largest_in->dtype == DType::kF64;
  const std::string shown = wide ? number_text(largest) : number_text(static_cast<float>(largest));
  return concat("the largest weight is ", shown, ", in \"", largest_in->name, "\"");
}

}  // namespace tandem
