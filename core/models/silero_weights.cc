#include "core/models/silero_weights.h"

#include <algorithm>
#include <cstring>

#include "core/base/finite.h"
#include "core/base/text.h"
#include "core/models/silero.h"

namespace tandem {
namespace {

/// A tensor that the model needs, with its names in the two families of files.
struct Need {
  WeightTensor SileroWeights::* member;
  const char* onnx_name;
  const char* safetensors_name;
  std::vector<int64_t> shape;
};

std::vector<Need> needs_of(int64_t rate) {
  const int64_t bins = rate == 16000 ? 129 : 65;
  const int64_t kernel = rate == 16000 ? 256 : 128;
  using W = SileroWeights;
  return {
      {&W::stft_basis, "stft.forward_basis_buffer", "stft_conv.weight", {2 * bins, 1, kernel}},
      {&W::conv1_weight, "encoder.0.reparam_conv.weight", "conv1.weight", {128, bins, 3}},
      {&W::conv1_bias, "encoder.0.reparam_conv.bias", "conv1.bias", {128}},
      {&W::conv2_weight, "encoder.1.reparam_conv.weight", "conv2.weight", {64, 128, 3}},
      {&W::conv2_bias, "encoder.1.reparam_conv.bias", "conv2.bias", {64}},
      {&W::conv3_weight, "encoder.2.reparam_conv.weight", "conv3.weight", {64, 64, 3}},
      {&W::conv3_bias, "encoder.2.reparam_conv.bias", "conv3.bias", {64}},
      {&W::conv4_weight, "encoder.3.reparam_conv.weight", "conv4.weight", {128, 64, 3}},
      {&W::conv4_bias, "encoder.3.reparam_conv.bias", "conv4.bias", {128}},
      {&W::lstm_weight_ih, "decoder.rnn.weight_ih", "lstm_cell.weight_ih", {512, 128}},
      {&W::lstm_weight_hh, "decoder.rnn.weight_hh", "lstm_cell.weight_hh", {512, 128}},
      {&W::lstm_bias_ih, "decoder.rnn.bias_ih", "lstm_cell.bias_ih", {512}},
      {&W::lstm_bias_hh, "decoder.rnn.bias_hh", "lstm_cell.bias_hh", {512}},
      {&W::final_weight, "decoder.decoder.2.weight", "final_conv.weight", {1, 128, 1}},
      {&W::final_bias, "decoder.decoder.2.bias", "final_conv.bias", {1}},
  };
}

/// One way of naming all tensors.
struct NameSet {
  std::string prefix;
  bool onnx = true;

  std::string name_of(const Need& need) const { return prefix + (onnx ? need.onnx_name : need.safetensors_name); }
};

/// The set of which most tensors are there; the first one when there are none at all.
NameSet best_name_set(const WeightFile& file, const std::vector<Need>& needs, int64_t rate) {
  const NameSet sets[] = {
      {rate == 16000 ? "If_0_then_branch__Inline_0__" : "If_0_else_branch__Inline_0__", true}, {"", true}, {"", false}};
  NameSet best = sets[0];
  int64_t most = 0;
  for (const NameSet& set : sets) {
    const int64_t count = std::count_if(needs.begin(), needs.end(), [&](const Need& need) {
      const std::string name = set.name_of(need);
      return file.find(name) != nullptr || file.unreadable().count(name) != 0;
    });
    if (count > most) {
      most = count;
      best = set;
    }
  }
  return best;
}

Result<void> check(const WeightTensor& tensor, const Need& need, const WeightFile& file, int64_t rate) {
  const std::string where = concat(file.origin(), ": tensor \"", tensor.name, "\"");
  const std::string expected = concat("Silero VAD at ", rate, " Hz needs f32 [", join(need.shape), "]");
  if (tensor.dtype != DType::kF32) {
    return fail(ErrorCode::kDtypeMismatch, concat(where, " is ", tensor.type_text(), "; ", expected));
  }
  const bool scalar = need.shape.size() == 1 && need.shape[0] == 1 && tensor.shape.empty();
  if (tensor.shape != need.shape && !scalar) {
    return fail(ErrorCode::kInvalidFormat, concat(where, " is ", tensor.type_text(), "; ", expected));
  }
  if (const size_t bad = first_non_finite_f32(tensor.bytes); bad < tensor.numel()) {
    float value = 0;
    std::memcpy(&value, tensor.bytes.data() + 4 * bad, 4);
    return fail(ErrorCode::kNonFinite, concat(where, " holds ", value, " at element ", bad, ": the file is damaged"));
  }
  return {};
}

}  // namespace

Result<SileroWeights> find_silero_weights(const WeightFile& file, int64_t sample_rate) {
  if (sample_rate != 16000 && sample_rate != 8000) {
    return fail(ErrorCode::kInvalidArgument,
                concat("Silero VAD has weights for 8000 and 16000 Hz, not for ", sample_rate, " Hz"));
  }
  const std::vector<Need> needs = needs_of(sample_rate);
  const NameSet names = best_name_set(file, needs, sample_rate);
  SileroWeights weights;
  weights.sample_rate = sample_rate;
  weights.file = file;
  for (const Need& need : needs) {
    const std::string name = names.name_of(need);
    const auto tensor = file.get(name);
    if (!tensor && tensor.error().code != ErrorCode::kNotFound) return tl::unexpected<JitError>(tensor.error());
    if (!tensor) {
      return fail(ErrorCode::kNotFound,
                  concat(file.origin(), " does not hold the weights of Silero VAD v5 or v6 at ", sample_rate,
                         " Hz: tensor \"", name, "\" is missing (\"", need.safetensors_name,
                         "\" in a safetensors file); the file has ", file.listing()));
    }
    if (auto ok = check(**tensor, need, file, sample_rate); !ok) return tl::unexpected<JitError>(ok.error());
    weights.*need.member = **tensor;
    (weights.*need.member).shape = need.shape;
  }
  return weights;
}

Result<void> check_silero_weights(const SileroWeights& weights) {
  if (auto sizes = silero_sizes(weights.sample_rate); !sizes) return tl::unexpected<JitError>(sizes.error());
  const DType kept = weights.kept.value_or(DType::kF32);
  if (kept == DType::kF32 || kept == DType::kF16 || kept == DType::kBF16) return {};
  return fail(ErrorCode::kInvalidArgument,
              concat("Silero VAD's weights can't be kept as ", name_of(kept), "; f32, f16 and bf16 are possible"));
}

}  // namespace tandem
