#include "core/models/ctc.h"

#include <algorithm>

#include "core/tensor/nn.h"

namespace tandem {

CtcHead::CtcHead(const GigaAmWeights& weights)
    : out_(weights.layer("head.decoder_layers.0")), read_(weights.activations()) {
  out_.weight = out_.weight.squeeze(2);
}

Tensor CtcHead::forward(const Tensor& encoded) const {
  const Scope scope(encoded, "ctc");
  return log_softmax(out_.apply(read_(encoded.cast(DType::kF32))), -1);
}

TokenSequence ctc_greedy(const CtcLane& lane) {
  TokenSequence result;
  const int64_t blank = lane.classes - 1;
  int64_t previous = -1;
  for (int64_t frame = 0; frame < lane.frames(); ++frame) {
    const float* row = lane.log_probs.data() + frame * lane.classes;
    const int64_t best = std::max_element(row, row + lane.classes) - row;
    if (best != blank && best != previous) {
      result.tokens.push_back(static_cast<int32_t>(best));
      result.frames.push_back(static_cast<int32_t>(frame));
    }
    previous = best;
  }
  return result;
}

}  // namespace tandem
