#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

/// Element types of tensors. f16 and bf16 are storage types: every operation on them computes in f32 and rounds once,
/// to nearest even, denormals kept. Bool is one byte, 0 or 1.
enum class DType : uint8_t { kBool, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF16, kBF16, kF32, kF64 };

/// Number of element types, for tables indexed by them.
inline constexpr int kDTypeCount = 13;

/// Bytes of one element.
constexpr size_t size_of(DType dtype) {
  constexpr uint8_t sizes[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(dtype)];
}

constexpr bool is_float(DType dtype) { return dtype >= DType::kF16; }
constexpr bool is_unsigned(DType dtype) { return dtype >= DType::kU8 && dtype <= DType::kU64; }
constexpr bool is_signed_integer(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kI64; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kU64; }

/// Is every value of `from` a value of `to`?
constexpr bool holds(DType to, DType from) {
  if (to == from || from == DType::kBool) return true;
  if (to == DType::kBool) return false;
  if (is_float(from)) return is_float(to) && (to == DType::kF64 || (to == DType::kF32 && from != DType::kF64));
  const size_t bits = 8 * size_of(from) - (is_unsigned(from) ? 0 : 1);
  // Floats hold the integers up to 2^(bits of their significand).
  if (is_float(to)) return bits <= (to == DType::kF16 ? 11 : to == DType::kBF16 ? 8 : to == DType::kF32 ? 24 : 53);
  if (is_unsigned(from)) return size_of(to) > size_of(from) || (is_unsigned(to) && size_of(to) == size_of(from));
  return is_signed_integer(to) && size_of(to) >= size_of(from);
}

/// "bool", "i8", ..., "bf16", "f32", "f64": the names in texts, files and errors.
constexpr std::string_view name_of(DType dtype) {
  constexpr std::string_view names[kDTypeCount] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                                   "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(dtype)];
}

/// The dtype with this name, or nothing.
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; i++)
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

/// The dtype of a C++ element type: `dtype_of<float>` is kF32. Half types have their storage structs in
/// core/base/half.h.
template <typename T>
inline constexpr DType dtype_of = T::kDType;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;
template <>
inline constexpr DType dtype_of<int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<int16_t> = DType::kI16;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::kU8;
template <>
inline constexpr DType dtype_of<uint16_t> = DType::kU16;
template <>
inline constexpr DType dtype_of<uint32_t> = DType::kU32;
template <>
inline constexpr DType dtype_of<uint64_t> = DType::kU64;
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<double> = DType::kF64;

}  // namespace tandem
