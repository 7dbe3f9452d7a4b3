#pragma once

#include <array>

#include "core/tensor/tensor.h"

namespace tandem {

// Products. All are one `contract` node over expanded views; nothing is copied.

/// Matrix product of the last two axes, the others broadcast. A vector [k] on the left counts as [1, k], on the right
/// as [k, 1], and the added axis is taken away again.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x [.., in] by weight [out, in] plus bias [out] (empty: none): [.., out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;  ///< Zeros on both sides; use pad() for different ones.
  int64_t dilation = 1;
  int64_t groups = 1;
};
/// Cross-correlation of x [n, c, t] with weight [o, c / groups, k], plus bias [o] (empty: none): [n, o, t'].
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

struct Conv2dOptions {
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t groups = 1;
};
/// The same for x [n, c, h, w] with weight [o, c / groups, kh, kw]: [n, o, h', w'].
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv2dOptions& options = {});

// Normalisation. f16 and bf16 compute in f32 and round the result.

Tensor softmax(const Tensor& x, int axis);
/// Softmax over the first lengths[..] elements of the axis, 0 beyond them (attention over keys that exist); the axes of
/// `lengths` are the first ones of x.
Tensor softmax(const Tensor& x, int axis, const Tensor& lengths);
Tensor log_softmax(const Tensor& x, int axis);
/// (x - mean) / sqrt(var + eps) over as many last axes as `weight` has, times weight plus bias (empty: none).
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
/// Inference form over axis 1: (x - mean) / sqrt(variance + eps) * weight + bias; all four are [c].
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight, const Tensor& bias,
                  double eps = 1e-5);

// Activations.

Tensor relu(const Tensor& x);
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// x, below 0: alpha * (e^x - 1).
Tensor elu(const Tensor& x, double alpha = 1.0);
/// x * sigmoid(x).
Tensor silu(const Tensor& x);
/// x / 2 * (1 + erf(x / sqrt 2)), the exact form.
Tensor gelu(const Tensor& x);
/// log(1 + e^x), written so that it neither overflows nor loses small results.
Tensor softplus(const Tensor& x);
/// Half of the axis times the sigmoid of its other half.
Tensor glu(const Tensor& x, int axis);

/// The new state of an LSTM cell.
struct LstmOutput {
  Tensor h;
  Tensor c;
};
/// One step: x [n, in], h and c [n, hidden], w_ih [4 hidden, in], w_hh [4 hidden, hidden], biases [4 hidden] (empty:
/// none); gates in the order i, f, g, o. Both products are one contraction over [x | h].
LstmOutput lstm_cell(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
/// The same after the input's half of the gates: gates [n, 4 hidden] is linear(x, w_ih, b_ih + b_hh), which is one
/// large product for all steps of a sequence that is known.
LstmOutput lstm_cell(const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& w_hh);

}  // namespace tandem
