#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/detail.h"

namespace tandem {

using tensor_detail::apply;
using tensor_detail::fail;
using tensor_detail::is_half;

namespace {

/// Which axes are reduced; an empty list means all.
std::vector<bool> reduced_axes(const Tensor& x, const std::vector<int>& axes) {
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), axes.empty());
  for (const int entry : axes) {
    const auto axis = static_cast<size_t>(x.axis(entry));
    if (reduced[axis]) fail("reduction", concat("axis ", entry, " is named twice for shape ", text(x.shape())));
    reduced[axis] = true;
  }
  return reduced;
}

Tensor reduce(Op op, const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  const std::vector<bool> reduced = reduced_axes(x, axes);
  std::vector<int> order;
  Shape kept;
  for (int i = 0; i < x.rank(); i++) {
    const bool out = reduced[static_cast<size_t>(i)];
    if (!out) order.push_back(i);
    if (keepdims) kept.push_back(out ? Dim(1) : x.dim(i));
  }
  const int remaining = static_cast<int>(order.size());
  if (remaining == x.rank()) return x;
  for (int i = 0; i < x.rank(); i++)
    if (reduced[static_cast<size_t>(i)]) order.push_back(i);
  Attributes attributes;
  attributes.count = x.rank() - remaining;
  const Tensor result = apply(op, {x.permute(order)}, std::move(attributes));
  return keepdims ? result.reshape(std::move(kept)) : result;
}

/// How many elements each result takes.
Dim reduced_count(const Tensor& x, const std::vector<int>& axes) {
  const std::vector<bool> reduced = reduced_axes(x, axes);
  Dim count = 1;
  for (int i = 0; i < x.rank(); i++)
    if (reduced[static_cast<size_t>(i)]) count *= x.dim(i);
  return count;
}

Tensor divide_by(const Tensor& x, const Dim& count) {
  if (!is_float(x.dtype()))
    fail("mean", concat("works on floats, not on ", name_of(x.dtype()), "; cast to a float dtype first"));
  return count.is_constant() ? x / static_cast<double>(count.constant()) : x / size_tensor(count, x.dtype());
}

}  // namespace

Tensor Tensor::sum(const std::vector<int>& axes, bool keepdims) const {
  return reduce(Op::kReduceSum, *this, axes, keepdims);
}
Tensor Tensor::prod(const std::vector<int>& axes, bool keepdims) const {
  return reduce(Op::kReduceProd, *this, axes, keepdims);
}
Tensor Tensor::max(const std::vector<int>& axes, bool keepdims) const {
  return reduce(Op::kReduceMax, *this, axes, keepdims);
}
Tensor Tensor::min(const std::vector<int>& axes, bool keepdims) const {
  return reduce(Op::kReduceMin, *this, axes, keepdims);
}

Tensor Tensor::mean(const std::vector<int>& axes, bool keepdims) const {
  if (is_half(dtype())) return cast(DType::kF32).mean(axes, keepdims).cast(dtype());
  return divide_by(sum(axes, keepdims), reduced_count(*this, axes));
}

Tensor Tensor::var(const std::vector<int>& axes, bool keepdims, int64_t correction) const {
  if (is_half(dtype())) return cast(DType::kF32).var(axes, keepdims, correction).cast(dtype());
  const Tensor distance = *this - mean(axes, true);
  return divide_by((distance * distance).sum(axes, keepdims), reduced_count(*this, axes) - correction);
}

Tensor Tensor::any(const std::vector<int>& axes, bool keepdims) const { return cast(DType::kBool).max(axes, keepdims); }
Tensor Tensor::all(const std::vector<int>& axes, bool keepdims) const { return cast(DType::kBool).min(axes, keepdims); }

Tensor Tensor::argmax(int at, bool keepdims) const {
  const int along = axis(at);
  Tensor hit = equal(*this, max({along}, true));
  // A NaN makes the maximum NaN, which equals nothing: the NaN itself is the hit then.
  if (is_float(dtype())) hit = bitwise_or(hit, not_equal(*this, *this));
  Shape along_shape(shape().size(), Dim(1));
  along_shape[static_cast<size_t>(along)] = dim(along);
  const Tensor position = arange(dim(along)).reshape(along_shape).expand(shape());
  return where(hit, position, size_tensor(dim(along)).expand(shape())).min({along}, keepdims);
}

Tensor Tensor::cumsum(int at) const {
  const int along = axis(at);
  std::vector<DimPair> amounts(shape().size(), DimPair(0, 0));
  amounts[static_cast<size_t>(along)].first = dim(along) - 1;
  return pad(amounts).window(along, dim(along)).sum({-1});
}

}  // namespace tandem
