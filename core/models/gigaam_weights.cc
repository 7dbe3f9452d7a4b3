#include "core/models/gigaam_weights.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/models/weight_constant.h"
#include "core/tensor/nn.h"

namespace tandem {
namespace {

/// Most names of a list in an error.
constexpr size_t kListed = 12;
constexpr std::string_view kWrapperPrefix = "model.";

/// Collects names and shapes below a prefix.
class NeedList {
 public:
  void add(const std::string& name, std::vector<int64_t> shape) { needs_.push_back({name, std::move(shape)}); }
  void affine(const std::string& name, std::vector<int64_t> weight) {
    const int64_t out = weight[0];
    add(name + ".weight", std::move(weight));
    add(name + ".bias", {out});
  }
  std::vector<WeightNeed> take() { return std::move(needs_); }

 private:
  std::vector<WeightNeed> needs_;
};

void add_subsampling(NeedList& list, const ConformerConfig& encoder) {
  const int64_t d = encoder.d_model, k = encoder.subs_kernel_size;
  const bool flat = encoder.subsampling == Subsampling::kConv1d;
  int64_t channels = flat ? encoder.feat_in : 1;
  for (int64_t i = 0; i < encoder.stages(); ++i) {
    const std::string name = concat("encoder.pre_encode.conv.", 2 * i);
    list.affine(name, flat ? std::vector<int64_t>{d, channels, k} : std::vector<int64_t>{d, channels, k, k});
    channels = d;
  }
  if (!flat) list.affine("encoder.pre_encode.out", {d, d * encoder.encoded_frames(encoder.feat_in)});
}

void add_layer(NeedList& list, const ConformerConfig& encoder, const std::string& layer) {
  const int64_t d = encoder.d_model, wide = d * encoder.ff_expansion_factor;
  const auto feed_forward = [&](const std::string& number) {
    list.affine(layer + "norm_feed_forward" + number, {d});
    list.affine(layer + "feed_forward" + number + ".linear1", {wide, d});
    list.affine(layer + "feed_forward" + number + ".linear2", {d, wide});
  };
  feed_forward("1");
  list.affine(layer + "norm_conv", {d});
  list.affine(layer + "conv.pointwise_conv1", {2 * d, d, 1});
  list.affine(layer + "conv.depthwise_conv", {d, 1, encoder.conv_kernel_size});
  list.affine(layer + "conv.batch_norm", {d});
  if (encoder.conv_norm == ConvolutionNorm::kBatchNorm) {
    list.add(layer + "conv.batch_norm.running_mean", {d});
    list.add(layer + "conv.batch_norm.running_var", {d});
  }
  list.affine(layer + "conv.pointwise_conv2", {d, d, 1});
  list.affine(layer + "norm_self_att", {d});
  for (const char* part : {"q", "k", "v", "out"}) list.affine(layer + "self_attn.linear_" + part, {d, d});
  feed_forward("2");
  list.affine(layer + "norm_out", {d});
}

void add_head(NeedList& list, const GigaAmHeadConfig& head, int64_t d) {
  if (head.kind == GigaAmHead::kCtc) return list.affine("head.decoder_layers.0", {head.num_classes, d, 1});
  const int64_t hidden = head.pred_hidden, joint = head.joint_hidden;
  list.add("head.decoder.embed.weight", {head.num_classes, hidden});
  for (int64_t i = 0; i < head.pred_rnn_layers; ++i) {
    for (const char* part : {"weight_ih_l", "weight_hh_l"})
      list.add(concat("head.decoder.lstm.", part, i), {4 * hidden, hidden});
    for (const char* part : {"bias_ih_l", "bias_hh_l"}) list.add(concat("head.decoder.lstm.", part, i), {4 * hidden});
  }
  list.affine("head.joint.pred", {joint, hidden});
  list.affine("head.joint.enc", {joint, d});
  list.affine("head.joint.joint_net.1", {head.num_classes, joint});
}

const WeightTensor* find_either(const WeightFile& file, const std::string& name) {
  const WeightTensor* found = file.find(name);
  return found != nullptr ? found : file.find(concat(kWrapperPrefix, name));
}

std::string type_text(const WeightNeed& need) { return concat("f32 [", join(need.shape), "]"); }

/// Why a tensor can't be this weight; empty when it can.
std::string mismatch(const WeightTensor& tensor, const WeightNeed& need) {
  if (!is_float(tensor.dtype))
    return concat("\"", tensor.name, "\" is ", tensor.type_text(), "; f32, f16, bf16 or f64 is needed");
  if (tensor.shape != need.shape)
    return concat("\"", tensor.name, "\" is ", tensor.type_text(), "; the configuration asks for ", type_text(need));
  return {};
}

std::string listed(const std::vector<std::string>& entries) {
  const size_t shown = std::min(entries.size(), kListed);
  std::string text = join(std::vector<std::string>(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(shown)));
  if (shown < entries.size()) text += concat(" and ", entries.size() - shown, " more");
  return text;
}

}  // namespace

std::vector<WeightNeed> gigaam_weight_needs(const GigaAmConfig& config) {
  NeedList list;
  if (config.encoder) {
    add_subsampling(list, *config.encoder);
    for (int64_t i = 0; i < config.encoder->n_layers; ++i)
      add_layer(list, *config.encoder, concat("encoder.layers.", i, "."));
    if (config.head) add_head(list, *config.head, config.encoder->d_model);
  }
  return list.take();
}

GigaAmWeightCheck check_gigaam_weights(const WeightFile& file, const GigaAmConfig& config) {
  GigaAmWeightCheck check;
  std::set<std::string, std::less<>> wanted;
  for (const WeightNeed& need : gigaam_weight_needs(config)) {
    wanted.insert(need.name);
    const WeightTensor* tensor = find_either(file, need.name);
    if (tensor == nullptr) {
      check.missing.push_back(concat("\"", need.name, "\" ", type_text(need)));
    } else if (std::string problem = mismatch(*tensor, need); !problem.empty()) {
      check.wrong.push_back(std::move(problem));
    }
  }
  const auto starts_with = [](std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
  };
  for (const WeightTensor& tensor : file.tensors()) {
    std::string_view name = tensor.name;
    if (starts_with(name, kWrapperPrefix)) name.remove_prefix(kWrapperPrefix.size());
    const bool counted = name.size() > 20 && name.substr(name.size() - 20) == ".num_batches_tracked";
    if ((starts_with(name, "encoder.") || starts_with(name, "head.")) && wanted.count(name) == 0 && !counted)
      check.surplus.push_back(tensor.name);
  }
  return check;
}

Result<GigaAmWeights> GigaAmWeights::find(const WeightFile& file, const GigaAmConfig& config,
                                          const GigaAmOptions& options) {
  if (const auto kept = options.weights;
      kept && *kept != DType::kF32 && *kept != DType::kF16 && *kept != DType::kBF16 && *kept != DType::kI8)
    return fail(ErrorCode::kInvalidArgument,
                concat("weights can't be kept as ", name_of(*kept), "; f32, f16, bf16 and i8 are possible"));
  if (options.activations != DType::kF32 && options.activations != DType::kBF16)
    return fail(ErrorCode::kInvalidArgument,
                concat("activations can't be stored as ", name_of(options.activations), "; f32 and bf16 are possible"));
  const GigaAmWeightCheck check = check_gigaam_weights(file, config);
  for (const WeightNeed& need : gigaam_weight_needs(config)) {
    if (find_either(file, need.name) != nullptr) continue;
    for (const std::string& name : {need.name, concat(kWrapperPrefix, need.name)})
      if (const auto reason = file.unreadable().find(name); reason != file.unreadable().end())
        return fail(ErrorCode::kUnsupported, concat(file.origin(), ": tensor \"", name, "\": ", reason->second));
  }
  if (!check.missing.empty())
    return fail(ErrorCode::kNotFound, concat(file.origin(), " lacks ", check.missing.size(), " weights of the model: ",
                                             listed(check.missing), "; the file has ", file.listing(kListed)));
  if (!check.wrong.empty())
    return fail(ErrorCode::kInvalidFormat, concat(file.origin(), ": ", check.wrong.size(), " weights do not fit ",
                                                  config.origin, ": ", listed(check.wrong)));
  GigaAmWeights weights;
  weights.file_ = file;
  weights.options_ = options;
  for (const WeightNeed& need : gigaam_weight_needs(config)) {
    weights.index_[need.name] = weights.tensors_.size();
    weights.tensors_.push_back(*find_either(file, need.name));
  }
  return weights;
}

Tensor AffineWeights::apply(const Tensor& x) const {
  if (scale.empty()) return linear(x, weight, bias);
  return linear(x, weight) * scale + bias;
}

Tensor GigaAmWeights::operator()(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) throw TensorError(concat("the configuration has no weight \"", name, "\""));
  return weight_constant(tensors_[found->second], file_).cast(DType::kF32);
}

Tensor GigaAmWeights::rounded(const std::string& name) const {
  const Tensor weight = (*this)(name);
  const bool half = options_.weights == DType::kF16 || options_.weights == DType::kBF16;
  return half ? weight.cast(*options_.weights).cast(DType::kF32) : weight;
}

AffineWeights GigaAmWeights::layer(const std::string& name) const {
  AffineWeights layer{rounded(name + ".weight"), (*this)(name + ".bias"), {}};
  if (options_.weights != DType::kI8) return layer;
  // Symmetric: the largest number of a channel becomes 127. A channel of zeros has any scale but 0.
  std::vector<int> inputs;
  for (int axis = 1; axis < layer.weight.rank(); ++axis) inputs.push_back(axis);
  const Tensor scale = maximum(abs(layer.weight).max(inputs, true), 1e-30) / 127.0;
  layer.weight = round(layer.weight / scale).cast(DType::kI8).cast(DType::kF32);
  layer.scale = scale.reshape(layer.bias.shape());
  return layer;
}

AffineWeights GigaAmWeights::plain(const std::string& name) const {
  return {(*this)(name + ".weight"), (*this)(name + ".bias"), {}};
}

}  // namespace tandem
