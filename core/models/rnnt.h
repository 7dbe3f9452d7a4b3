#pragma once

#include <vector>

#include "core/models/gigaam_config.h"
#include "core/models/gigaam_weights.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// The predictor's input at the start of a sequence: not the blank's embedding but a vector of zeros.
inline constexpr int32_t kNoLabel = -1;

/// The RN-T head: a predictor that reads the labels said so far, and a joint network that weighs its output and an
/// encoder frame.
class RnntHead {
 public:
  RnntHead(const GigaAmHeadConfig& config, const GigaAmWeights& weights);

  const GigaAmHeadConfig& config() const { return config_; }
  /// Length of each of a lane's state vectors h and c: all layers one after the other.
  int64_t state_size() const { return config_.pred_rnn_layers * config_.pred_hidden; }

  /// The encoder's share of the joint network, which does not depend on the labels: [.., d] to f32 [.., joint hidden].
  Tensor project(const Tensor& encoded) const;
  /// labels i32 [n] (kNoLabel: start of a sequence), h and c f32 [n, state_size()] (zeros at the start). Gives
  /// [n, pred_hidden + 2 state_size()]: the predictor's output, the new h and the new c.
  Tensor predict(const Tensor& labels, const Tensor& h, const Tensor& c) const;
  /// projected [n, joint hidden] and the predictor's output [n, pred_hidden] to log-probabilities f32 [n, classes].
  Tensor join(const Tensor& projected, const Tensor& predicted) const;

 private:
  struct Cell {
    Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  };
  GigaAmHeadConfig config_;
  Tensor embedding_;
  std::vector<Cell> cells_;
  AffineWeights encoder_, predictor_, out_;
  Activations read_;
};

}  // namespace tandem
