#include <limits>

#include "core/tensor/nn.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/detail.h"

namespace tandem {

using tensor_detail::fail;
using tensor_detail::is_half;

namespace {

void require_float(const char* operation, const Tensor& x) {
  if (!is_float(x.dtype()))
    fail(operation, concat("works on floats, not on ", name_of(x.dtype()), "; cast to a float dtype first"));
}

/// A per-channel vector [c] in a shape that broadcasts over axis 1 of `x`.
Tensor per_channel(const Tensor& vector, const Tensor& x) {
  if (vector.rank() != 1 || !same(vector.dim(0), x.dim(1)))
    fail("batch_norm", concat("a parameter has shape ", text(vector.shape()), "; [", x.dim(1).text(),
                              "] is needed for ", text(x.shape())));
  Shape shape(x.shape().size(), Dim(1));
  shape[1] = x.dim(1);
  return vector.reshape(std::move(shape));
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  require_float("softmax", x);
  if (is_half(x.dtype())) return softmax(x.cast(DType::kF32), axis).cast(x.dtype());
  const Scope scope(x, "softmax");
  const Tensor power = exp(x - x.max({axis}, true));
  return power * (1.0 / power.sum({axis}, true));
}

Tensor softmax(const Tensor& x, int axis, const Tensor& lengths) {
  require_float("softmax", x);
  if (is_half(x.dtype())) return softmax(x.cast(DType::kF32), axis, lengths).cast(x.dtype());
  const Scope scope(x, "softmax");
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor power = exp(x - x.limit(axis, lengths, -infinity).max({axis}, true));
  return (power * (1.0 / power.limit(axis, lengths).sum({axis}, true))).limit(axis, lengths);
}

Tensor log_softmax(const Tensor& x, int axis) {
  require_float("log_softmax", x);
  if (is_half(x.dtype())) return log_softmax(x.cast(DType::kF32), axis).cast(x.dtype());
  const Scope scope(x, "log_softmax");
  const Tensor shifted = x - x.max({axis}, true);
  return shifted - log(exp(shifted).sum({axis}, true));
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Scope scope(x, "layer_norm");
  require_float("layer_norm", x);
  const int count = weight.rank();
  if (count < 1 || count > x.rank() || !same(weight.shape(), Shape(x.shape().end() - count, x.shape().end())))
    fail("layer_norm",
         concat("the weight has shape ", text(weight.shape()), "; it must be the last axes of ", text(x.shape())));
  std::vector<int> axes;
  for (int i = x.rank() - count; i < x.rank(); i++) axes.push_back(i);
  const DType dtype = x.dtype();
  const DType compute = is_half(dtype) ? DType::kF32 : dtype;
  const Tensor wide = x.cast(compute);
  const Tensor centred = wide - wide.mean(axes, true);
  const Tensor variance = (centred * centred).mean(axes, true);
  Tensor out = centred * (1.0 / sqrt(variance + eps)) * weight.cast(compute);
  if (!bias.empty()) out = out + bias.cast(compute);
  return out.cast(dtype);
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const Scope scope(x, "batch_norm");
  require_float("batch_norm", x);
  if (x.rank() < 2) fail("batch_norm", concat("the input [n, c, ..] has shape ", text(x.shape())));
  // Scale and shift depend on constants alone: they fold into two vectors at prepare.
  const Tensor scale = weight / sqrt(variance + eps);
  const Tensor shift = bias - mean * scale;
  return x * per_channel(scale, x) + per_channel(shift, x);
}

Tensor relu(const Tensor& x) { return maximum(x, 0); }

Tensor leaky_relu(const Tensor& x, double slope) { return where(less(x, 0), x * slope, x); }

Tensor elu(const Tensor& x, double alpha) { return where(less(x, 0), (exp(minimum(x, 0)) - 1) * alpha, x); }

Tensor silu(const Tensor& x) { return x * sigmoid(x); }

Tensor gelu(const Tensor& x) { return x * 0.5 * (erf(x * 0.70710678118654752) + 1); }

Tensor softplus(const Tensor& x) {
  // log(1 + u) for small u: u - u * u / 2 keeps what 1 + u would round away.
  const Tensor u = exp(-abs(x));
  const double limit = x.dtype() == DType::kF64 ? 1e-6 : 1e-3;
  return maximum(x, 0) + where(less(u, limit), u - u * u * 0.5 + u * u * u * (1.0 / 3.0), log(u + 1));
}

Tensor glu(const Tensor& x, int axis) {
  const std::vector<Tensor> halves = x.chunk(axis, 2);
  return halves[0] * sigmoid(halves[1]);
}

namespace {

LstmOutput lstm_state(const Tensor& gates, const Tensor& c) {
  const std::vector<Tensor> parts = gates.chunk(1, 4);
  const Tensor next_c = sigmoid(parts[1]) * c + sigmoid(parts[0]) * tanh(parts[2]);
  return {sigmoid(parts[3]) * tanh(next_c), next_c};
}

}  // namespace

LstmOutput lstm_cell(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  const Scope scope(x, "lstm_cell");
  if (x.rank() != 2 || h.rank() != 2 || !same(h.shape(), c.shape()))
    fail("lstm_cell",
         concat("x [n, in] has shape ", text(x.shape()), ", h [n, hidden] ", text(h.shape()), ", c ", text(c.shape())));
  const Dim rows = h.dim(1) * 4;
  if (w_ih.rank() != 2 || w_hh.rank() != 2 || !same(w_ih.shape(), Shape{rows, x.dim(1)}) ||
      !same(w_hh.shape(), Shape{rows, h.dim(1)}))
    fail("lstm_cell", concat("weights have shapes ", text(w_ih.shape()), " and ", text(w_hh.shape()), "; ",
                             text(Shape{rows, x.dim(1)}), " and ", text(Shape{rows, h.dim(1)}), " are needed"));
  Tensor bias = b_ih.empty() ? b_hh : b_ih;
  if (!b_ih.empty() && !b_hh.empty()) bias = b_ih + b_hh;
  const Tensor gates = linear(concat({x, h}, 1), concat({w_ih, w_hh}, 1), bias);
  return lstm_state(gates, c);
}

LstmOutput lstm_cell(const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& w_hh) {
  const Scope scope(gates, "lstm_cell");
  if (h.rank() != 2 || !same(h.shape(), c.shape()) || !same(gates.shape(), Shape{h.dim(0), h.dim(1) * 4}) ||
      !same(w_hh.shape(), Shape{h.dim(1) * 4, h.dim(1)}))
    fail("lstm_cell",
         concat("gates [n, 4 hidden] have shape ", text(gates.shape()), ", h [n, hidden] ", text(h.shape()), ", c ",
                text(c.shape()), ", the weight [4 hidden, hidden] ", text(w_hh.shape())));
  return lstm_state(linear(h, w_hh) + gates, c);
}

}  // namespace tandem
