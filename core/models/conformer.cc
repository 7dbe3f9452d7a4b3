#include "core/models/conformer.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/nn.h"

namespace tandem {
namespace {

/// What a convolution over `axes` axes gives without bias, scaled, plus the bias.
Tensor finish(Tensor y, const AffineWeights& layer, int axes) {
  const auto per_channel = [axes](Tensor x) {
    for (int i = 0; i < axes; ++i) x = x.unsqueeze(-1);
    return x;
  };
  if (!layer.scale.empty()) y = y * per_channel(layer.scale);
  return y + per_channel(layer.bias);
}

Tensor normalise(const AffineWeights& norm, const Tensor& x) { return layer_norm(x, norm.weight, norm.bias); }

/// A convolution of kernel 1 as a linear layer.
AffineWeights pointwise(const GigaAmWeights& weights, const std::string& name) {
  AffineWeights layer = weights.layer(name);
  layer.weight = layer.weight.squeeze(2);
  return layer;
}

/// Rotates the pairs (j, j + size / 2) of each head: x [b, t, heads, size].
Tensor rotate(const Tensor& x, const RotaryTables& rotary) {
  const std::vector<Tensor> half = x.chunk(-1, 2);
  return concat({half[0] * rotary.cosine - half[1] * rotary.sine, half[1] * rotary.cosine + half[0] * rotary.sine}, -1);
}

}  // namespace

ConformerLayer::ConformerLayer(const ConformerConfig& config, const GigaAmWeights& weights, const std::string& prefix)
    : config_(config),
      read_(weights.activations()),
      feed_forward1_(feed_forward(weights, prefix, "1")),
      feed_forward2_(feed_forward(weights, prefix, "2")),
      norm_attention_(weights.plain(prefix + "norm_self_att")),
      query_(weights.layer(prefix + "self_attn.linear_q")),
      key_(weights.layer(prefix + "self_attn.linear_k")),
      value_(weights.layer(prefix + "self_attn.linear_v")),
      out_(weights.layer(prefix + "self_attn.linear_out")),
      norm_convolution_(weights.plain(prefix + "norm_conv")),
      pointwise1_(pointwise(weights, prefix + "conv.pointwise_conv1")),
      depthwise_(weights.plain(prefix + "conv.depthwise_conv")),
      inner_norm_(weights.plain(prefix + "conv.batch_norm")),
      pointwise2_(pointwise(weights, prefix + "conv.pointwise_conv2")),
      norm_out_(weights.plain(prefix + "norm_out")) {
  if (config_.conv_norm != ConvolutionNorm::kBatchNorm) return;
  // Batch norm is a scale and a shift per channel: they go into the convolution before it.
  const std::string norm = prefix + "conv.batch_norm.";
  const Tensor scale = inner_norm_.weight / sqrt(weights(norm + "running_var") + 1e-5);
  depthwise_.bias = (depthwise_.bias - weights(norm + "running_mean")) * scale + inner_norm_.bias;
  depthwise_.weight = depthwise_.weight * scale.unsqueeze(1).unsqueeze(2);
}

ConformerLayer::FeedForward ConformerLayer::feed_forward(const GigaAmWeights& weights, const std::string& prefix,
                                                         const std::string& number) const {
  const std::string name = prefix + "feed_forward" + number;
  return {weights.plain(prefix + "norm_feed_forward" + number), weights.layer(name + ".linear1"),
          weights.layer(name + ".linear2"), weights.activations()};
}

Tensor ConformerLayer::FeedForward::forward(const Tensor& x) const {
  const Scope scope(x, "feed_forward");
  return linear2.apply(read(silu(linear1.apply(read(normalise(norm, x))))));
}

Tensor ConformerLayer::attention(const Tensor& x, const RotaryTables& rotary, const Tensor& lengths) const {
  const Scope scope(x, "attention");
  const Dim &b = x.dim(0), &t = x.dim(1);
  const Shape split = {b, t, config_.n_heads, config_.head_size()};
  const auto heads = [&split](const Tensor& y) { return y.reshape(split).permute({0, 2, 1, 3}); };
  const Tensor y = read_(normalise(norm_attention_, x));
  // The features are rotated before the projections, not after them as usual.
  const Tensor rotated = read_(rotate(y.reshape(split), rotary).reshape(y.shape()));
  const Tensor q = heads(read_(query_.apply(rotated))), k = heads(read_(key_.apply(rotated)));
  const Tensor v = heads(read_(value_.apply(y)).limit(1, lengths));
  const Tensor scores = matmul(q, k.transpose(-1, -2)) * (1.0 / std::sqrt(static_cast<double>(config_.head_size())));
  // Neither weights nor values exist beyond a length: the sum over them ends there.
  const Tensor seen = matmul(read_(softmax(scores, 3, lengths)), v);
  return out_.apply(read_(seen).permute({0, 2, 1, 3}).reshape(x.shape()));
}

Tensor ConformerLayer::convolution(const Tensor& x, const Tensor& lengths) const {
  const Scope scope(x, "convolution");
  Tensor y = read_(glu(pointwise1_.apply(read_(normalise(norm_convolution_, x))), -1));
  y = y.limit(1, lengths).transpose(1, 2);
  y = conv1d(y, depthwise_.weight, depthwise_.bias,
             {.padding = (config_.conv_kernel_size - 1) / 2, .groups = config_.d_model})
          .transpose(1, 2);
  if (config_.conv_norm == ConvolutionNorm::kLayerNorm) y = normalise(inner_norm_, y);
  return pointwise2_.apply(read_(silu(y)));
}

Tensor ConformerLayer::forward(Tensor x, const RotaryTables& rotary, const Tensor& lengths,
                               std::vector<Tensor>* trace) const {
  const auto note = [trace](const Tensor& stream) {
    if (trace != nullptr) trace->push_back(stream);
  };
  // What lies beyond a lane's length is cut off after each module, so that no module computes it.
  const auto add = [&](const Tensor& change) { x = (x + change).limit(1, lengths); };
  add(feed_forward1_.forward(x) * 0.5);
  note(x);
  add(attention(x, rotary, lengths));
  note(x);
  add(convolution(x, lengths));
  note(x);
  add(feed_forward2_.forward(x) * 0.5);
  note(x);
  return normalise(norm_out_, x).limit(1, lengths);
}

Conformer::Conformer(const ConformerConfig& config, const GigaAmWeights& weights)
    : config_(config), read_(weights.activations()) {
  for (int64_t i = 0; i < config.stages(); ++i)
    stages_.push_back(weights.layer(concat("encoder.pre_encode.conv.", 2 * i)));
  if (config.subsampling == Subsampling::kConv2d) subsampling_out_ = weights.layer("encoder.pre_encode.out");
  for (int64_t i = 0; i < config.n_layers; ++i)
    layers_.emplace_back(config, weights, concat("encoder.layers.", i, "."));
}

EncodedBatch Conformer::subsample(const Tensor& mel, Tensor lengths) const {
  const Scope scope(mel, "subsampling");
  const bool flat = config_.subsampling == Subsampling::kConv1d;
  const int64_t pad = (config_.subs_kernel_size - 1) / 2;
  // v3 [b, channels, t]; v2 [b, channels, t, features].
  Tensor x = flat ? mel : mel.transpose(1, 2).unsqueeze(1);
  // Lengths are in frames of the present stage; the frames come first, so that lanes can be cut.
  const auto clear_tail = [&](const Tensor& y) { return y.transpose(1, 2).limit(1, lengths).transpose(1, 2); };
  x = clear_tail(read_(x));
  for (const AffineWeights& stage : stages_) {
    x = flat ? finish(conv1d(x, stage.weight, {}, {.stride = 2, .padding = pad}), stage, 1)
             : finish(conv2d(x, stage.weight, {}, {.stride = {2, 2}, .padding = {pad, pad}}), stage, 2);
    lengths = shift_right(lengths + 1, 1);
    x = relu(clear_tail(x));
    if (!flat || &stage != &stages_.back()) x = read_(x);
  }
  if (flat) return {x.transpose(1, 2), lengths};
  return {subsampling_out_.apply(x.permute({0, 2, 1, 3}).flatten(2, 3)), lengths};
}

RotaryTables Conformer::rotary_tables(const Dim& frames) const {
  // The table of the most frames is a constant; a batch reads its beginning. Angles reach thousands of radians, where
  // f32 would have lost three digits.
  const int64_t size = config_.head_size();
  const Tensor pair = arange(size / 2).cast(DType::kF64);
  const Tensor frequency = pow(static_cast<double>(config_.pos_emb_max_len), pair * (-2.0 / static_cast<double>(size)));
  const Tensor angle = arange(frames.upper()).cast(DType::kF64).unsqueeze(1) * frequency;
  const auto table = [&](const Tensor& values) {
    return values.cast(DType::kF32).shrink({{0, frames}, {0, size / 2}}).unsqueeze(1);
  };
  return {table(cos(angle)), table(sin(angle))};
}

EncodedBatch Conformer::forward_batch(const Tensor& mel, const Tensor& lengths, const Dim& b, const Dim& t,
                                      std::vector<Tensor>* trace) const {
  if (mel.rank() != 3 || !mel.dim(1).is(config_.feat_in) || lengths.rank() != 1)
    throw TensorError(concat("the encoder takes mel [b, ", config_.feat_in, ", t] and lengths [b], not ",
                             text(mel.shape()), " and ", text(lengths.shape())));
  if (t.upper() > config_.most_frames())
    throw TensorError(concat("t may be ", t.upper(), " mel frames, but the positions of the encoder end at ",
                             config_.most_frames(), "; set a smaller upper bound"),
                      ErrorCode::kInvalidArgument);
  const Scope scope(mel, "encoder");
  auto [x, encoded_lengths] =
      subsample(mel.shrink({{0, b}, {0, config_.feat_in}, {0, t}}), lengths.shrink({{0, b}}).cast(DType::kI32));
  if (trace != nullptr) trace->push_back(x);
  const RotaryTables rotary = rotary_tables(x.dim(1));
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Scope layer(x, concat("layers.", i));
    x = layers_[i].forward(x, rotary, encoded_lengths, i == 0 ? trace : nullptr);
    if (trace != nullptr) trace->push_back(x);
  }
  return {x, encoded_lengths};
}

}  // namespace tandem
