#pragma once

#include <map>
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

/// The weights of a model by name, as constants that share the file's bytes.
class GigaAmWeights {
 public:
  /// Finds every tensor that the configuration needs, with or without `model.` before its name; f32, f16, bf16 or f64.
  /// Tensors outside `encoder` and `head` don't matter, nor do surplus ones. Errors: kNotFound (lists what is missing),
  /// kInvalidFormat (lists wrong shapes and dtypes), kUnsupported (a tensor that could not be read).
  static Result<GigaAmWeights> find(const WeightFile& file, const GigaAmConfig& config);

  /// The weight as f32, whatever it is stored as. TensorError when the model has none of this name.
  Tensor operator()(const std::string& name) const;
  /// Weights of the model and their bytes in the file.
  const std::vector<WeightTensor>& tensors() const { return tensors_; }

 private:
  WeightFile file_;
  std::vector<WeightTensor> tensors_;
  std::map<std::string, size_t> index_;
};

}  // namespace tandem
