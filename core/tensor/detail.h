#pragma once

#include <initializer_list>

#include "core/tensor/tensor.h"

namespace tandem::tensor_detail {

/// A constant that is in no graph yet.
struct FreeConstant {
  DType dtype;
  Shape shape;
  std::shared_ptr<const ConstantData> data;
};

/// The one graph of several tensors, and their nodes in it.
struct Meeting {
  std::shared_ptr<Graph> graph;
  std::vector<NodeId> nodes;
};
Meeting meet(const std::vector<Tensor>& tensors, const char* operation);

/// Makes a node of tensors that may come from different graphs.
Tensor apply(Op op, const std::vector<Tensor>& operands, Attributes attributes = {}, DType dtype = DType::kF32,
             Shape shape = {});

/// The shape that both broadcast to; TensorError naming the operation when there is none.
Shape broadcast_shape(const char* operation, const Shape& a, const Shape& b);

/// f16 and bf16: a composition of several ops computes in f32 and rounds its result, since a sum over many elements
/// would leave the range of f16.
constexpr bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

/// 0, 1, ..., rank - 1.
std::vector<int> identity_order(int rank);

[[noreturn]] void fail(const char* operation, const std::string& problem);

}  // namespace tandem::tensor_detail
