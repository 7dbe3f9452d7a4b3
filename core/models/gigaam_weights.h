#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/models/gigaam_config.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// A tensor that a model needs.
struct WeightNeed {
  std::string name;
  std::vector<int64_t> shape;
};

/// All weights of a model: names of the PyTorch state dict, encoder first, in the order of its modules.
std::vector<WeightNeed> gigaam_weight_needs(const GigaAmConfig& config);

/// What a file has and what it lacks for a model; sentences and names for people.
struct GigaAmWeightCheck {
  std::vector<std::string> missing;  ///< "encoder.pre_encode.conv.0.bias f32 [768]"
  std::vector<std::string> surplus;  ///< Under encoder or head, but not part of the model.
  std::vector<std::string> wrong;    ///< Shape or dtype, with what is needed.

  bool fits() const { return missing.empty() && wrong.empty(); }
};
GigaAmWeightCheck check_gigaam_weights(const WeightFile& file, const GigaAmConfig& config);

/// How a model is loaded.
struct GigaAmOptions {
  /// What a plan keeps the matrices as, those of linear layers and convolutions but the depthwise ones: kF32, kF16 or
  /// kBF16 (LSTM and embedding too), or kI8 with one scale for each output channel. Products are added in f32 whatever
  /// it is; biases and norms stay f32. Empty: as the file stores them. A file that stores less isn't made larger.
  std::optional<DType> weights;
  /// What products read of values that a step computes: kF32, or kBF16, rounded to nearest even and stored so. See
  /// Activations.
  DType activations = DType::kF32;
};

/// Marks what a product reads. With bf16 it is rounded to nearest even and so stored, in half the bytes, however many
/// read it:
/// - inputs of linear layers and convolutions: log-mel and the subsampled frames, normalised and rotated rows, hidden
///   layers, what the attention saw, inputs of the depthwise and pointwise convolutions, encoded frames, RN-T's
///   embedding, h, predicted and hidden vectors;
/// - both sides of the products of attention: q and k, the softmax and v.
/// The rest stays f32: sums of products, the residual stream, norms, scores, maximum and
/// sum of a softmax, gates and state of an LSTM, log-probabilities, and weights, which have an option of their own.
class Activations {
 public:
  explicit Activations(DType dtype = DType::kF32) : dtype_(dtype) {}
  /// f32 to f32 that holds nothing but values of the dtype.
  Tensor operator()(const Tensor& x) const { return x.cast(dtype_).cast(DType::kF32); }

 private:
  DType dtype_;
};

/// A linear layer or convolution: its products times `scale` (empty: 1), plus bias.
struct AffineWeights {
  Tensor weight, bias, scale;
  /// The linear layer of x [.., in]: [.., out].
  Tensor apply(const Tensor& x) const;
};

/// The weights of a model by name, as constants that share the file's bytes.
class GigaAmWeights {
 public:
  /// Finds every tensor that the configuration needs, with or without `model.` before its name; f32, f16, bf16 or f64.
  /// Tensors outside `encoder` and `head` don't matter, nor do surplus ones. Errors: kNotFound (lists what is missing),
  /// kInvalidFormat (lists wrong shapes and dtypes), kUnsupported (a tensor that could not be read), kInvalidArgument
  /// (an option).
  static Result<GigaAmWeights> find(const WeightFile& file, const GigaAmConfig& config,
                                    const GigaAmOptions& options = {});

  /// The weight as f32, whatever it is stored as. TensorError when the model has none of this name.
  Tensor operator()(const std::string& name) const;
  /// The same, rounded to the wanted f16 or bf16: what a plan keeps is that.
  Tensor rounded(const std::string& name) const;
  /// `name`.weight [out, ..] and `name`.bias as the options want them; a scale is [out].
  AffineWeights layer(const std::string& name) const;
  /// The same for the weights of norms and depthwise convolutions, which stay f32.
  AffineWeights plain(const std::string& name) const;
  Activations activations() const { return Activations(options_.activations); }
  /// Weights of the model and their bytes in the file.
  const std::vector<WeightTensor>& tensors() const { return tensors_; }

 private:
  WeightFile file_;
  GigaAmOptions options_;
  std::vector<WeightTensor> tensors_;
  std::map<std::string, size_t> index_;
};

}  // namespace tandem
