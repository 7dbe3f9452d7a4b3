#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "core/kernel/kernel.h"

namespace tandem {

/// The start of a translation unit: vector types and small functions, each written when something first asks for it, so
/// that a unit declares only what it uses. All names start with `td_`. Generated C includes no header.
class CPrelude {
 public:
  /// C type of a register: "float", "td_f32x16". One-lane masks are `int` 0 or 1, vectors of masks are integers 0 or
  /// -1.
  std::string type(Type type);
  /// The unsigned integer type with as many bits: "unsigned", "td_u32x16".
  std::string unsigned_type(Type type);
  /// The signed integer type with as many bits: "int", "td_i32x16".
  std::string signed_type(Type type);
  /// C type of one buffer element; f16 and bf16 are their raw bits.
  static std::string element(DType dtype);
  /// Vector of buffer elements in a register.
  std::string element_vector(DType dtype, int lanes);
  /// The same vector in memory: only as aligned as one element.
  std::string memory_vector(DType dtype, int lanes);
  /// Vector of f16 lanes ("_Float16" for one lane), for conversions.
  std::string half_type(int lanes);
  std::string half_bits_type(int lanes);
  /// What the operands of a bf16 dot product are to clang.
  std::string bfloat16_type(int lanes);
  /// The attribute of functions that have bf16 dot products: no level of the psABI includes them.
  static constexpr const char* kDotTarget = "target(\"avx512bf16\")";
  /// "td_first4_16": a function from a count to the mask of the first `count` lanes, for elements of 4 or 8 bytes.
  std::string first_lanes(int bytes, int lanes);
  /// The literal 0, 1, 2 ... of an integer type.
  std::string lane_numbers(Type type);

  /// Adds a function once; `definition` starts behind "static inline ". Returns the name.
  std::string function(const std::string& name, const std::string& definition);

  /// All of it, in an order in which everything is declared before use.
  const std::string& text() const { return text_; }

 private:
  std::string vector_type(const char* element, const char* short_name, int lanes, int alignment);
  bool first_time(const std::string& name) { return seen_.insert(name).second; }

  std::unordered_set<std::string> seen_;
  std::string text_;
};

}  // namespace tandem
