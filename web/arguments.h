#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor/tensor.h"
#include "web/build_scope.h"

namespace tandem::web {

/// A tensor, or a number that takes the dtype of the tensor it meets.
using Operand = std::variant<Tensor, Number>;

/// The arguments of an operation as tensor.js writes them, one a line: numbers as JavaScript prints them, tensors as
/// %number, dimensions as the text of an expression, lists with ';' and pairs with ':' between their parts.
class Arguments {
 public:
  Arguments(std::string_view text, const BuildScope& scope) : rest_(text), scope_(scope) {}

  /// The next argument.
  template <typename T>
  T take() {
    T value;
    read(next(), value);
    return value;
  }

 private:
  std::string_view next();
  void read(std::string_view text, Tensor& value) const;
  void read(std::string_view text, std::vector<Tensor>& value) const;
  void read(std::string_view text, int& value) const;
  void read(std::string_view text, int64_t& value) const;
  void read(std::string_view text, std::vector<int>& value) const;
  void read(std::string_view text, std::vector<int64_t>& value) const;
  void read(std::string_view text, bool& value) const;
  void read(std::string_view text, double& value) const;
  void read(std::string_view text, DType& value) const;
  void read(std::string_view text, Dim& value) const;
  void read(std::string_view text, Shape& value) const;
  void read(std::string_view text, std::vector<DimPair>& value) const;

  std::string_view rest_;
  const BuildScope& scope_;
};

template <>
Number Arguments::take<Number>();
template <>
Operand Arguments::take<Operand>();

/// What tensor.js checks and writes for a C++ type.
template <typename T>
inline constexpr const char* kind_of = "";
template <>
inline constexpr const char* kind_of<Tensor> = "tensor";
template <>
inline constexpr const char* kind_of<std::vector<Tensor>> = "tensors";
template <>
inline constexpr const char* kind_of<Operand> = "operand";
template <>
inline constexpr const char* kind_of<Number> = "number";
template <>
inline constexpr const char* kind_of<int> = "integer";
template <>
inline constexpr const char* kind_of<int64_t> = "integer";
template <>
inline constexpr const char* kind_of<std::vector<int>> = "integers";
template <>
inline constexpr const char* kind_of<std::vector<int64_t>> = "integers";
template <>
inline constexpr const char* kind_of<bool> = "flag";
template <>
inline constexpr const char* kind_of<double> = "real";
template <>
inline constexpr const char* kind_of<DType> = "dtype";
template <>
inline constexpr const char* kind_of<Dim> = "dim";
template <>
inline constexpr const char* kind_of<Shape> = "dims";
template <>
inline constexpr const char* kind_of<std::vector<DimPair>> = "pairs";

/// Throws TensorError (InvalidArgument) for a name that is none.
DType dtype_or_throw(std::string_view name);

}  // namespace tandem::web
