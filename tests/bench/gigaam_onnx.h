#pragma once

#include <string>

#include "core/models/gigaam_config.h"

namespace tandem::bench {

/// Writes GigaAM v3 with a CTC head as an ONNX model of opset 17 with dynamic batch and time: inputs "features"
/// f32 [b, features, t] and "feature_lengths" i64 [b], outputs "log_probs" f32 [b, t', classes] and "encoded_lengths"
/// i64 [b]. It has fewer nodes than an export from PyTorch, to be a fair opponent: MatMul for pointwise convolutions,
/// one additive mask of the keys, halves folded into weights, the rotation done once for queries and keys. The weights
/// lie in a second file beside it, "FILE.data". Throws std::runtime_error for another layout and when writing fails.
void write_gigaam_onnx(const std::string& file, const WeightFile& weights, const GigaAmConfig& config);

}  // namespace tandem::bench
