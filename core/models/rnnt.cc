#include "core/models/rnnt.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/nn.h"

namespace tandem {

RnntHead::RnntHead(const GigaAmHeadConfig& config, const GigaAmWeights& weights)
    : config_(config),
      embedding_(weights.rounded("head.decoder.embed.weight")),
      encoder_(weights.layer("head.joint.enc")),
      predictor_(weights.layer("head.joint.pred")),
      out_(weights.layer("head.joint.joint_net.1")),
      read_(weights.activations()) {
  for (int64_t i = 0; i < config.pred_rnn_layers; ++i) {
    const auto name = [i](const char* part) { return concat("head.decoder.lstm.", part, "_l", i); };
    cells_.push_back({weights.rounded(name("weight_ih")), weights.rounded(name("weight_hh")), weights(name("bias_ih")),
                      weights(name("bias_hh"))});
  }
}

Tensor RnntHead::project(const Tensor& encoded) const {
  const Scope scope(encoded, "joint");
  return encoder_.apply(read_(encoded.cast(DType::kF32)));
}

Tensor RnntHead::predict(const Tensor& labels, const Tensor& h, const Tensor& c) const {
  if (labels.rank() != 1 || h.rank() != 2 || !h.dim(1).is(state_size()) || !same(h.shape(), c.shape()))
    throw TensorError(concat("the predictor takes labels [n] and states [n, ", state_size(), "], not ",
                             text(labels.shape()), ", ", text(h.shape()), " and ", text(c.shape())));
  // A label outside the table, such as kNoLabel, reads zeros.
  Tensor x = embedding(labels, embedding_);
  std::vector<Tensor> new_h, new_c;
  const std::vector<Tensor> old_h = h.chunk(1, config_.pred_rnn_layers), old_c = c.chunk(1, config_.pred_rnn_layers);
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Scope scope(x, concat("predictor.", i));
    const Cell& cell = cells_[i];
    const LstmOutput state =
        lstm_cell(read_(x), read_(old_h[i]), old_c[i], cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh);
    new_h.push_back(state.h);
    new_c.push_back(state.c);
    x = state.h;
  }
  return concat({x, concat(new_h, 1), concat(new_c, 1)}, 1);
}

Tensor RnntHead::join(const Tensor& projected, const Tensor& predicted) const {
  const Scope scope(projected, "joint");
  const Tensor hidden = relu(projected + predictor_.apply(read_(predicted)));
  return log_softmax(out_.apply(read_(hidden)), -1);
}

}  // namespace tandem
