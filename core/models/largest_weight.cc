#include "core/models/largest_weight.h"

#include <algorithm>
#include <cmath>

#include "core/base/half.h"
#include "core/base/text.h"

namespace tandem {
namespace {

template <typename T>
T load(const WeightTensor& tensor, size_t i) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + i * sizeof value, sizeof value);
  return value;
}

/// 0 for a dtype that no weight has.
double value_at(const WeightTensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case DType::kF32:
      return load<float>(tensor, i);
    case DType::kF64:
      return load<double>(tensor, i);
    case DType::kF16:
      return f32_from_f16(load<uint16_t>(tensor, i));
    case DType::kBF16:
      return f32_from_bf16(load<uint16_t>(tensor, i));
    default:
      return 0;
  }
}

}  // namespace

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

std::string largest_weight_text(std::span<const WeightTensor> weights) {
  double largest = 0;
  const WeightTensor* largest_in = nullptr;
  for (const WeightTensor& tensor : weights)
    for (size_t i = 0; i < tensor.numel(); ++i) {
      const double value = value_at(tensor, i);
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
