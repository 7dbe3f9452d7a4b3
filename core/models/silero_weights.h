#pragma once

#include <optional>

#include "core/weights/weight_file.h"

namespace tandem {

/// Weights of one rate branch of Silero VAD v5 or v6, all f32. `bins` is 129 at 16 kHz and 65 at 8 kHz.
struct SileroWeights {
  WeightTensor stft_basis;                      ///< [2 * bins, 1, 256 at 16 kHz or 128 at 8 kHz]
  WeightTensor conv1_weight, conv1_bias;        ///< [128, bins, 3], [128]
  WeightTensor conv2_weight, conv2_bias;        ///< [64, 128, 3], [64]
  WeightTensor conv3_weight, conv3_bias;        ///< [64, 64, 3], [64]
  WeightTensor conv4_weight, conv4_bias;        ///< [128, 64, 3], [128]
  WeightTensor lstm_weight_ih, lstm_weight_hh;  ///< [512, 128]; gates in the order input, forget, cell, output
  WeightTensor lstm_bias_ih, lstm_bias_hh;      ///< [512]
  WeightTensor final_weight, final_bias;        ///< [1, 128, 1], [1]
  int64_t sample_rate = 0;                      ///< 16000 or 8000
  WeightFile file;                              ///< keeps the bytes alive
  /// What plans keep the matrices of the convolutions and the LSTM as, but for those layers that need f64: f16 or bf16;
  /// f32 or empty: as they are.
  std::optional<DType> kept = {};
};

/// Finds the weights for `sample_rate` (16000 or 8000) by any of three sets of names: those inside the original ONNX
/// files (of the branch for this rate), the same without the branch's prefix, and the keys of the safetensors file; all
/// tensors must come from one set. The last bias may also have shape []. Errors: kInvalidArgument (rate), kNotFound
/// (names the missing tensor and lists what is there), kDtypeMismatch and kInvalidFormat (wrong dtype or shape, with
/// both), kUnsupported (a tensor that could not be read), kNonFinite.
Result<SileroWeights> find_silero_weights(const WeightFile& file, int64_t sample_rate);

/// Can plans be made of them? kInvalidArgument for another rate, and for a `kept` that is not f32, f16 or bf16.
Result<void> check_silero_weights(const SileroWeights& weights);

}  // namespace tandem
