#pragma once

#include <functional>
#include <span>
#include <type_traits>

#include "core/graph/graph.h"

namespace tandem {

/// Describes bytes as the data of a constant and computes their hash. `owner` keeps the bytes alive; `release` may be
/// called when they are not needed for a while (ConstantData).
std::shared_ptr<const ConstantData> constant_data(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                                                  std::span<const std::byte> bytes, std::string name = {},
                                                  std::function<void()> release = {});
/// The same for bytes that the constant is to own.
std::shared_ptr<const ConstantData> constant_data(DType dtype, const Shape& shape, std::vector<std::byte> bytes,
                                                  std::string name = {});

/// A number of any dtype, shape []: rounded (floats) or wrapped (integers) to the dtype; a number with a fraction for
/// an integer dtype is a TensorError.
NodeId make_scalar(Graph& graph, DType dtype, double value);
NodeId make_integer_scalar(Graph& graph, DType dtype, int64_t value);

/// A constant tensor. Throws TensorError when the number of bytes is not what dtype and shape need.
NodeId make_constant(Graph& graph, DType dtype, const Shape& shape, std::shared_ptr<const ConstantData> data);

/// A constant from elements in row-major order; T is a C++ type that `dtype_of` knows.
template <typename T>
NodeId make_constant(Graph& graph, const Shape& shape, std::span<const T> elements, std::string name = {}) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(elements);
  return make_constant(graph, dtype_of<T>, shape,
                       constant_data(dtype_of<T>, shape, {bytes.begin(), bytes.end()}, std::move(name)));
}
template <typename T>
NodeId make_constant(Graph& graph, const Shape& shape, const std::vector<T>& elements, std::string name = {}) {
  return make_constant(graph, shape, std::span<const T>(elements), std::move(name));
}

/// Element `i` of a constant as a number; exact for all dtypes but i64 and u64 beyond 2^53.
double constant_element(DType dtype, const std::byte* bytes, size_t i);
/// Element `i` of an integer or bool constant.
int64_t constant_integer(DType dtype, const std::byte* bytes, size_t i);
/// Appends a number as an element of the dtype; the counterpart of `constant_element`.
void append_element(std::vector<std::byte>& bytes, DType dtype, double value);
void append_integer(std::vector<std::byte>& bytes, DType dtype, int64_t value);

}  // namespace tandem
