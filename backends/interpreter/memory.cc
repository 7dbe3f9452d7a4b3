#include <cstring>

#include "backends/interpreter/code.h"

namespace tandem {
namespace {

// The register array that holds elements of a register type.
int32_t* lanes_as(Lanes& lanes, int32_t) { return lanes.i32; }
int64_t* lanes_as(Lanes& lanes, int64_t) { return lanes.i64; }
float* lanes_as(Lanes& lanes, float) { return lanes.f32; }
double* lanes_as(Lanes& lanes, double) { return lanes.f64; }

template <typename Element, typename Register>
LoadFunction load_as() {
  return [](Lanes& result, const unsigned char* memory, int lanes) {
    Register* out = lanes_as(result, Register{});
    for (int i = 0; i < lanes; i++) {
      Element element;
      std::memcpy(&element, memory + static_cast<size_t>(i) * sizeof element, sizeof element);
      out[i] = static_cast<Register>(element);
    }
  };
}

template <typename Element, typename Register>
StoreFunction store_as() {
  return [](unsigned char* memory, const Lanes& value, int lanes) {
    const Register* in = lanes_as(const_cast<Lanes&>(value), Register{});
    for (int i = 0; i < lanes; i++) {
      const Element element = static_cast<Element>(in[i]);
      std::memcpy(memory + static_cast<size_t>(i) * sizeof element, &element, sizeof element);
    }
  };
}

}  // namespace

LoadFunction load_function(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return load_as<uint8_t, int32_t>();
    case DType::kI8:
      return load_as<int8_t, int32_t>();
    case DType::kI16:
      return load_as<int16_t, int32_t>();
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return load_as<uint16_t, int32_t>();
    case DType::kI32:
    case DType::kU32:
      return load_as<int32_t, int32_t>();
    case DType::kI64:
    case DType::kU64:
      return load_as<int64_t, int64_t>();
    case DType::kF32:
      return load_as<float, float>();
    case DType::kF64:
      return load_as<double, double>();
  }
  return nullptr;
}

StoreFunction store_function(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return store_as<uint8_t, int32_t>();
    case 2:
      return store_as<uint16_t, int32_t>();
    case 4:
      return dtype == DType::kF32 ? store_as<float, float>() : store_as<int32_t, int32_t>();
    default:
      return dtype == DType::kF64 ? store_as<double, double>() : store_as<int64_t, int64_t>();
  }
}

}  // namespace tandem
