#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/detail.h"

namespace tandem {

using tensor_detail::apply;
using tensor_detail::broadcast_shape;
using tensor_detail::meet;

namespace {

/// A scalar in the graph of the tensor that it meets.
std::pair<Tensor, Tensor> with_scalar(const Tensor& tensor, Number scalar, const char* operation) {
  const auto meeting = meet({tensor}, operation);
  const Tensor in_graph(meeting.graph, meeting.nodes[0]);
  return {in_graph, Tensor(meeting.graph, scalar.make(*meeting.graph, tensor.dtype()))};
}

}  // namespace

Tensor unary(Op op, const Tensor& x) {
  TANDEM_CHECK(info(op).op_class == OpClass::kUnary && info(op).type_rule != TypeRule::kGiven, name_of(op));
  return apply(op, {x});
}

Tensor binary(Op op, const Tensor& x, const Tensor& y) {
  TANDEM_CHECK(info(op).op_class == OpClass::kBinary && op != Op::kGather, name_of(op));
  const Shape shape = broadcast_shape(name_of(op), x.shape(), y.shape());
  return apply(op, {x.expand(shape), y.expand(shape)});
}

Tensor binary(Op op, const Tensor& x, Number y) {
  const auto [tensor, scalar] = with_scalar(x, y, name_of(op));
  return binary(op, tensor, scalar);
}

Tensor binary(Op op, Number x, const Tensor& y) {
  const auto [tensor, scalar] = with_scalar(y, x, name_of(op));
  return binary(op, scalar, tensor);
}

Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  const Shape shape = broadcast_shape("where", broadcast_shape("where", condition.shape(), x.shape()), y.shape());
  return apply(Op::kWhere, {condition.expand(shape), x.expand(shape), y.expand(shape)});
}

Tensor where(const Tensor& condition, const Tensor& x, Number y) {
  const auto [tensor, scalar] = with_scalar(x, y, "where");
  return where(condition, tensor, scalar);
}

Tensor where(const Tensor& condition, Number x, const Tensor& y) {
  const auto [tensor, scalar] = with_scalar(y, x, "where");
  return where(condition, scalar, tensor);
}

Tensor Tensor::cast(DType to) const { return to == dtype() ? *this : apply(Op::kCast, {*this}, {}, to); }

Tensor Tensor::bitcast(DType to) const { return to == dtype() ? *this : apply(Op::kBitcast, {*this}, {}, to); }

}  // namespace tandem
