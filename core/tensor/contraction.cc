#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/detail.h"
#include "core/tensor/nn.h"

namespace tandem {

using tensor_detail::apply;
using tensor_detail::broadcast_shape;
using tensor_detail::fail;

namespace {

/// Broadcasts both operands and sums their products over the last `count` axes.
Tensor contract(const char* operation, const Tensor& x, const Tensor& y, int count) {
  if (x.dtype() != y.dtype())
    fail(operation, concat("operands are ", name_of(x.dtype()), " and ", name_of(y.dtype()), "; cast one of them"));
  const Shape shape = broadcast_shape(operation, x.shape(), y.shape());
  Attributes attributes;
  attributes.count = count;
  return apply(Op::kContract, {x.expand(shape), y.expand(shape)}, std::move(attributes));
}

void require_same_dim(const char* operation, const Tensor& x, int axis, const Dim& want, const std::string& what) {
  if (!same(x.dim(axis), want))
    fail(operation, concat(what, " of shape ", text(x.shape()), " has ", x.dim(axis).text(), " on axis ", axis,
                           ", but ", want.text(), " is needed"));
}

void require_rank(const char* operation, const Tensor& x, int rank, const char* what) {
  if (x.rank() != rank) fail(operation, concat(what, " needs ", rank, " axes, but has shape ", text(x.shape())));
}

/// Convolution over any number of spatial axes.
struct Convolution {
  const char* name;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups;

  size_t spatial() const { return stride.size(); }

  void check(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
    const int rank = static_cast<int>(spatial()) + 2;
    require_rank(name, x, rank, "the input");
    require_rank(name, weight, rank, "the weight");
    for (size_t i = 0; i < spatial(); i++)
      if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0)
        fail(name, concat("stride ", stride[i], ", padding ", padding[i], ", dilation ", dilation[i],
                          ": stride and dilation are at least 1, padding at least 0"));
    if (groups < 1 || !same(floor_div(weight.dim(0), groups) * groups, weight.dim(0)))
      fail(name, concat(groups, " groups do not divide the ", weight.dim(0).text(), " output channels"));
    require_same_dim(name, x, 1, weight.dim(1) * groups,
                     concat("the input (weight ", text(weight.shape()), ", groups ", groups, ")"));
    if (bias.empty()) return;
    require_rank(name, bias, 1, "the bias");
    require_same_dim(name, bias, 0, weight.dim(0), "the bias");
  }

  /// [n, c, t..] to [n, t'.., groups, 1, taps.., c / groups].
  Tensor windows(const Tensor& x, const Tensor& weight) const {
    std::vector<DimPair> amounts(2, DimPair(0, 0));
    for (const int64_t amount : padding) amounts.emplace_back(amount, amount);
    Tensor view = x.pad(amounts);
    for (size_t i = 0; i < spatial(); i++) {
      const int axis = static_cast<int>(i) + 2;
      view = view.window(axis, weight.dim(axis), stride[i], dilation[i]);
    }
    const int axes = static_cast<int>(spatial());
    Shape grouped = {view.dim(0), groups, weight.dim(1)};
    grouped.insert(grouped.end(), view.shape().begin() + 2, view.shape().end());
    std::vector<int> order = {0};
    for (int i = 0; i < axes; i++) order.push_back(3 + i);
    order.push_back(1);
    for (int i = 0; i < axes; i++) order.push_back(3 + axes + i);
    order.push_back(2);
    return view.reshape(std::move(grouped)).permute(order).unsqueeze(2 + axes);
  }

  /// [o, c / groups, taps..] to [groups, o / groups, taps.., c / groups].
  Tensor filters(const Tensor& weight) const {
    Shape grouped = {groups, floor_div(weight.dim(0), groups)};
    grouped.insert(grouped.end(), weight.shape().begin() + 1, weight.shape().end());
    std::vector<int> order = {0, 1};
    for (size_t i = 0; i < spatial(); i++) order.push_back(3 + static_cast<int>(i));
    order.push_back(2);
    return weight.reshape(std::move(grouped)).permute(order);
  }

  Tensor run(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
    const Scope scope(x, name);
    check(x, weight, bias);
    const int axes = static_cast<int>(spatial());
    const Tensor product = contract(name, windows(x, weight), filters(weight), axes + 1);
    Tensor out = product.flatten(axes + 1, axes + 2);  // [n, t'.., o]
    if (!bias.empty()) out = out + bias;
    std::vector<int> order = {0, axes + 1};
    for (int i = 0; i < axes; i++) order.push_back(1 + i);
    return out.permute(order);
  }
};

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  const Scope scope(a.is_in_graph() ? a : b, "matmul");
  if (a.rank() == 0 || b.rank() == 0)
    fail("matmul", concat("shapes ", text(a.shape()), " and ", text(b.shape()), "; use * to multiply by a scalar"));
  const Tensor left = a.rank() == 1 ? a.unsqueeze(0) : a;
  const Tensor right = b.rank() == 1 ? b.unsqueeze(1) : b;
  if (!same(left.dim(-1), right.dim(-2)))
    fail("matmul", concat("shapes ", text(a.shape()), " and ", text(b.shape()), " do not fit: ", left.dim(-1).text(),
                          " columns meet ", right.dim(-2).text(), " rows; is one of them transposed?"));
  // [.., m, 1, k] by [.., 1, n, k]
  const Tensor product = contract("matmul", left.unsqueeze(-2), right.transpose(-1, -2).unsqueeze(-3), 1);
  const Tensor without_row = a.rank() == 1 ? product.squeeze(-2) : product;
  return b.rank() == 1 ? without_row.squeeze(-1) : without_row;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Scope scope(x, "linear");
  require_rank("linear", weight, 2, "the weight [out, in]");
  if (x.rank() == 0) fail("linear", "the input has shape []; it needs an axis of features");
  require_same_dim("linear", x, -1, weight.dim(1), concat("the input (weight ", text(weight.shape()), ")"));
  Tensor product = contract("linear", x.unsqueeze(-2), weight, 1);
  if (bias.empty()) return product;
  require_rank("linear", bias, 1, "the bias [out]");
  require_same_dim("linear", bias, 0, weight.dim(0), "the bias");
  return product + bias;
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  const Convolution convolution = {"conv1d", {options.stride}, {options.padding}, {options.dilation}, options.groups};
  return convolution.run(x, weight, bias);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const Convolution convolution = {"conv2d",
                                   {options.stride.begin(), options.stride.end()},
                                   {options.padding.begin(), options.padding.end()},
                                   {options.dilation.begin(), options.dilation.end()},
                                   options.groups};
  return convolution.run(x, weight, bias);
}

}  // namespace tandem
