#pragma once

#include <span>
#include <string>

#include "core/weights/weight_file.h"

namespace tandem {

/// The largest magnitude; 0 for none. NaN are passed over.
float largest_magnitude(std::span<const float> values);

/// What weights may have to do with a result that is not finite: `the largest weight is 3.2, in "name"`, or
/// `the weight "name" holds nan at element 7`. Reads all of them; other dtypes than f32, f16, bf16 and f64 are passed
/// over.
std::string largest_weight_text(std::span<const WeightTensor> weights);

}  // namespace tandem
