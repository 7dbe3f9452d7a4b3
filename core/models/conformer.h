#pragma once

#include <vector>

#include "core/models/gigaam_config.h"
#include "core/models/gigaam_weights.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Cosines and sines of the rotary angles: f32 [frames, 1, head size / 2] each.
struct RotaryTables {
  Tensor cosine, sine;
};

/// One layer of the encoder: half a feed-forward module, attention, convolution, half a feed-forward module, norm.
class ConformerLayer {
 public:
  /// `prefix` is "encoder.layers.0." and the like.
  ConformerLayer(const ConformerConfig& config, const GigaAmWeights& weights, const std::string& prefix);

  /// x [b, t, d] to [b, t, d]; rows from lengths[b] (i32) on are neither read nor computed, and come out as 0. `trace`,
  /// when there is one, gets the residual stream after each module.
  Tensor forward(Tensor x, const RotaryTables& rotary, const Tensor& lengths,
                 std::vector<Tensor>* trace = nullptr) const;

 private:
  struct FeedForward {
    AffineWeights norm, linear1, linear2;
    Activations read;
    Tensor forward(const Tensor& x) const;
  };
  FeedForward feed_forward(const GigaAmWeights& weights, const std::string& prefix, const std::string& number) const;
  Tensor attention(const Tensor& x, const RotaryTables& rotary, const Tensor& lengths) const;
  Tensor convolution(const Tensor& x, const Tensor& lengths) const;

  ConformerConfig config_;
  Activations read_;  ///< Marks what products read.
  FeedForward feed_forward1_, feed_forward2_;
  AffineWeights norm_attention_, query_, key_, value_, out_;
  AffineWeights norm_convolution_, pointwise1_, depthwise_, inner_norm_, pointwise2_;
  AffineWeights norm_out_;
};

/// What the encoder gives: encoded f32 [b, t', d], and per lane how many of its rows count, i32 [b].
struct EncodedBatch {
  Tensor encoded, lengths;
};

/// The Conformer encoder of GigaAM v2 and v3.
class Conformer {
 public:
  Conformer(const ConformerConfig& config, const GigaAmWeights& weights);

  const ConformerConfig& config() const { return config_; }
  /// mel f32 [>= b, features, >= t] and lengths i32 [>= b], of which the first b lanes and t frames count; b and t may
  /// be symbolic. A lane's frames from its length on don't matter, whatever they hold. `trace`, when there is one, gets
  /// the subsampled frames, the residual stream after each module of the first layer, and the outputs of all layers.
  EncodedBatch forward_batch(const Tensor& mel, const Tensor& lengths, const Dim& b, const Dim& t,
                             std::vector<Tensor>* trace = nullptr) const;

 private:
  EncodedBatch subsample(const Tensor& mel, Tensor lengths) const;
  RotaryTables rotary_tables(const Dim& frames) const;

  ConformerConfig config_;
  Activations read_;  ///< Marks what products read.
  std::vector<AffineWeights> stages_;
  AffineWeights subsampling_out_;
  std::vector<ConformerLayer> layers_;
};

}  // namespace tandem
