#include "backends/clang/c_prelude.h"

#include "core/base/text.h"

namespace tandem {

namespace {

struct CName {
  const char* element;
  const char* brief;
};

CName name_of_scalar(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF32:
      return {"float", "f32"};
    case Scalar::kF64:
      return {"double", "f64"};
    case Scalar::kI64:
    case Scalar::kMask64:
      return {"long", "i64"};
    case Scalar::kI32:
    case Scalar::kMask32:
      return {"int", "i32"};
  }
  return {"int", "i32"};
}

// u32 and u64 have the registers of i32 and i64, so that their vectors need no conversion.
CName name_of_element(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return {"unsigned char", "u8"};
    case DType::kI8:
      return {"signed char", "i8"};
    case DType::kI16:
      return {"short", "i16"};
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return {"unsigned short", "u16"};
    case DType::kI32:
    case DType::kU32:
      return {"int", "i32"};
    case DType::kI64:
    case DType::kU64:
      return {"long", "i64"};
    case DType::kF32:
      return {"float", "f32"};
    case DType::kF64:
      return {"double", "f64"};
  }
  return {"int", "i32"};
}

}  // namespace

std::string CPrelude::vector_type(const char* element, const char* short_name, int lanes, int alignment) {
  std::string name = concat("td_", short_name, "x", lanes, alignment != 0 ? "_m" : "");
  if (first_time(name)) {
    text_ += concat("typedef ", element, " ", name, " __attribute__((ext_vector_type(", lanes, ")");
    if (alignment != 0) text_ += concat(", aligned(", alignment, ")");
    text_ += "));\n";
  }
  return name;
}

std::string CPrelude::type(Type type) {
  if (type.lanes == 1) return is_mask(type.scalar) ? "int" : name_of_scalar(type.scalar).element;
  CName name = name_of_scalar(type.scalar);
  return vector_type(name.element, name.brief, type.lanes, 0);
}

std::string CPrelude::unsigned_type(Type type) {
  bool wide = size_of(type.scalar) == 8;
  if (type.lanes == 1) return wide ? "unsigned long" : "unsigned";
  return vector_type(wide ? "unsigned long" : "unsigned", wide ? "u64" : "u32", type.lanes, 0);
}

std::string CPrelude::signed_type(Type type) {
  return this->type({size_of(type.scalar) == 8 ? Scalar::kI64 : Scalar::kI32, type.lanes});
}

std::string CPrelude::element(DType dtype) { return name_of_element(dtype).element; }

std::string CPrelude::element_vector(DType dtype, int lanes) {
  CName name = name_of_element(dtype);
  return lanes == 1 ? name.element : vector_type(name.element, name.brief, lanes, 0);
}

std::string CPrelude::memory_vector(DType dtype, int lanes) {
  CName name = name_of_element(dtype);
  return vector_type(name.element, name.brief, lanes, static_cast<int>(size_of(dtype)));
}

std::string CPrelude::half_type(int lanes) {
  return lanes == 1 ? "_Float16" : vector_type("_Float16", "f16", lanes, 0);
}

std::string CPrelude::bfloat16_type(int lanes) { return vector_type("__bf16", "bf16", lanes, 0); }

std::string CPrelude::half_bits_type(int lanes) { return element_vector(DType::kF16, lanes); }

std::string CPrelude::lane_numbers(Type type) {
  if (type.lanes == 1) return "0";
  std::string list;
  for (int i = 0; i < type.lanes; i++) list += concat(i == 0 ? "" : ", ", i);
  return concat("(", this->type(type), "){", list, "}");
}

std::string CPrelude::first_lanes(int bytes, int lanes) {
  Type integer{bytes == 8 ? Scalar::kI64 : Scalar::kI32, static_cast<uint8_t>(lanes)};
  std::string mask = vector_type("_Bool", "bool", lanes, 0);
  std::string name = concat("td_first", bytes == 8 ? 8 : 4, "_", lanes);
  return function(
      name, concat(mask, " ", name, "(long count) {\n  return __builtin_convertvector(", lane_numbers(integer), " < (",
                   type(integer), ")(", bytes == 8 ? "long" : "int", ")count, ", mask, ");\n}"));
}

std::string CPrelude::function(const std::string& name, const std::string& definition) {
  if (first_time(name)) {
    text_ += "static inline __attribute__((always_inline)) ";
    text_ += definition;
    text_ += "\n";
  }
  return name;
}

}  // namespace tandem
