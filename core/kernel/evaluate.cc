#include "core/kernel/evaluate.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/base/bits.h"

namespace tandem {
namespace {

template <typename T>
T* lanes_of(Lanes& lanes) {
  if constexpr (std::is_same_v<T, int32_t>) return lanes.i32;
  if constexpr (std::is_same_v<T, uint32_t>) return lanes.u32;
  if constexpr (std::is_same_v<T, int64_t>) return lanes.i64;
  if constexpr (std::is_same_v<T, uint64_t>) return lanes.u64;
  if constexpr (std::is_same_v<T, float>) return lanes.f32;
  if constexpr (std::is_same_v<T, double>) return lanes.f64;
}
template <typename T>
const T* lanes_of(const Lanes& lanes) {
  return lanes_of<T>(const_cast<Lanes&>(lanes));
}

template <typename Result, typename A, typename F>
LaneFunction map_one(F) {
  return [](Lanes& result, const Lanes& a, const Lanes&, const Lanes&, int lanes) {
    for (int i = 0; i < lanes; i++) lanes_of<Result>(result)[i] = F{}(lanes_of<A>(a)[i]);
  };
}
template <typename Result, typename A, typename F>
LaneFunction map_two(F) {
  return [](Lanes& result, const Lanes& a, const Lanes& b, const Lanes&, int lanes) {
    for (int i = 0; i < lanes; i++) lanes_of<Result>(result)[i] = F{}(lanes_of<A>(a)[i], lanes_of<A>(b)[i]);
  };
}
template <typename Result, typename A, typename F>
LaneFunction map_three(F) {
  return [](Lanes& result, const Lanes& a, const Lanes& b, const Lanes& c, int lanes) {
    for (int i = 0; i < lanes; i++)
      lanes_of<Result>(result)[i] = F{}(lanes_of<A>(a)[i], lanes_of<A>(b)[i], lanes_of<A>(c)[i]);
  };
}

// The masks of a type are as wide as it is.
template <typename T>
using MaskOf = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

template <typename T>
LaneFunction comparison(Opcode opcode) {
  using Mask = MaskOf<T>;
  constexpr Mask set = -1, clear = 0;
  switch (opcode) {
    case Opcode::kEqual:
      return map_two<Mask, T>([](T a, T b) { return a == b ? set : clear; });
    case Opcode::kNotEqual:
      return map_two<Mask, T>([](T a, T b) { return a != b ? set : clear; });
    case Opcode::kLess:
      return map_two<Mask, T>([](T a, T b) { return a < b ? set : clear; });
    case Opcode::kLessEqual:
      return map_two<Mask, T>([](T a, T b) { return a <= b ? set : clear; });
    default:
      return nullptr;
  }
}

// Equal numbers differ in their bits only when they are zeros; then the sign decides.
template <typename T>
T minimum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

template <typename T>
LaneFunction float_function(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
      return map_two<T, T>([](T a, T b) { return a + b; });
    case Opcode::kSub:
      return map_two<T, T>([](T a, T b) { return a - b; });
    case Opcode::kMul:
      return map_two<T, T>([](T a, T b) { return a * b; });
    case Opcode::kDiv:
      return map_two<T, T>([](T a, T b) { return a / b; });
    case Opcode::kFma:
      return map_three<T, T>([](T a, T b, T c) { return std::fma(a, b, c); });
    case Opcode::kSqrt:
      return map_one<T, T>([](T a) { return std::sqrt(a); });
    case Opcode::kMin:
      return map_two<T, T>([](T a, T b) { return minimum(a, b); });
    case Opcode::kMax:
      return map_two<T, T>([](T a, T b) { return maximum(a, b); });
    case Opcode::kFloor:
      return map_one<T, T>([](T a) { return std::floor(a); });
    case Opcode::kCeil:
      return map_one<T, T>([](T a) { return std::ceil(a); });
    case Opcode::kTrunc:
      return map_one<T, T>([](T a) { return std::trunc(a); });
    case Opcode::kNearest:
      return map_one<T, T>([](T a) { return std::nearbyint(a); });
    default:
      return comparison<T>(opcode);
  }
}

// Sign operations work on the bits, so that NaN keeps its payload on every compiler.
template <typename U>
LaneFunction sign_function(Opcode opcode) {
  constexpr U sign = U{1} << (sizeof(U) * 8 - 1);
  switch (opcode) {
    case Opcode::kNeg:
      return map_one<U, U>([](U a) { return a ^ sign; });
    case Opcode::kAbs:
      return map_one<U, U>([](U a) { return a & ~sign; });
    default:
      return nullptr;
  }
}

template <typename S>
S quotient(S a, S b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<S>(0 - static_cast<std::make_unsigned_t<S>>(a));
  return a / b;
}

template <typename S>
LaneFunction signed_function(Opcode opcode) {
  using U = std::make_unsigned_t<S>;
  constexpr U bits = sizeof(S) * 8;
  switch (opcode) {
    case Opcode::kDiv:
      return map_two<S, S>([](S a, S b) { return quotient(a, b); });
    case Opcode::kRem:
      return map_two<S, S>([](S a, S b) { return static_cast<S>(U(a) - U(b) * U(quotient(a, b))); });
    case Opcode::kMin:
      return map_two<S, S>([](S a, S b) { return a < b ? a : b; });
    case Opcode::kMax:
      return map_two<S, S>([](S a, S b) { return a < b ? b : a; });
    case Opcode::kAbs:
      return map_one<S, S>([](S a) { return a < 0 ? static_cast<S>(0 - U(a)) : a; });
    case Opcode::kShr:
      return map_two<S, S>([](S a, S b) { return static_cast<S>(a >> (U(b) < bits ? U(b) : bits - 1)); });
    default:
      return comparison<S>(opcode);
  }
}

template <typename U>
LaneFunction unsigned_function(Opcode opcode) {
  using Mask = MaskOf<U>;
  constexpr Mask set = -1, clear = 0;
  constexpr U bits = sizeof(U) * 8;
  switch (opcode) {
    case Opcode::kAdd:
      return map_two<U, U>([](U a, U b) { return a + b; });
    case Opcode::kSub:
      return map_two<U, U>([](U a, U b) { return a - b; });
    case Opcode::kMul:
      return map_two<U, U>([](U a, U b) { return a * b; });
    case Opcode::kDivU:
      return map_two<U, U>([](U a, U b) { return b == 0 ? 0 : a / b; });
    case Opcode::kRemU:
      return map_two<U, U>([](U a, U b) { return b == 0 ? a : a % b; });
    case Opcode::kNeg:
      return map_one<U, U>([](U a) { return 0 - a; });
    case Opcode::kMinU:
      return map_two<U, U>([](U a, U b) { return a < b ? a : b; });
    case Opcode::kMaxU:
      return map_two<U, U>([](U a, U b) { return a < b ? b : a; });
    case Opcode::kShl:
      return map_two<U, U>([](U a, U b) { return b < bits ? a << b : 0; });
    case Opcode::kShrU:
      return map_two<U, U>([](U a, U b) { return b < bits ? a >> b : 0; });
    case Opcode::kLessU:
      return map_two<Mask, U>([](U a, U b) { return a < b ? set : clear; });
    case Opcode::kLessEqualU:
      return map_two<Mask, U>([](U a, U b) { return a <= b ? set : clear; });
    default:
      return nullptr;
  }
}

// Integers and masks alike.
template <typename U>
LaneFunction bit_function(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAnd:
      return map_two<U, U>([](U a, U b) { return a & b; });
    case Opcode::kOr:
      return map_two<U, U>([](U a, U b) { return a | b; });
    case Opcode::kXor:
      return map_two<U, U>([](U a, U b) { return a ^ b; });
    case Opcode::kNot:
      return map_one<U, U>([](U a) { return ~a; });
    default:
      return nullptr;
  }
}

// The largest number of an integer type is no float; the first one beyond it, a power of two, is.
template <typename Integer, typename T>
Integer saturated(T value) {
  constexpr Integer half = std::numeric_limits<Integer>::max() / 2 + 1;
  constexpr T beyond = T(half) * 2;
  if (std::isnan(value)) return 0;
  if (value >= beyond) return std::numeric_limits<Integer>::max();
  if (value <= T(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
  return static_cast<Integer>(value);
}

template <typename T, typename Integer>
LaneFunction between_float_and_integer(Opcode opcode) {
  using U = std::make_unsigned_t<Integer>;
  switch (opcode) {
    case Opcode::kToFloat:
      return map_one<T, Integer>([](Integer a) { return static_cast<T>(a); });
    case Opcode::kToFloatU:
      return map_one<T, U>([](U a) { return static_cast<T>(a); });
    case Opcode::kToInt:
      return map_one<Integer, T>([](T a) { return saturated<Integer>(a); });
    case Opcode::kToIntU:
      return map_one<U, T>([](T a) { return saturated<U>(a); });
    case Opcode::kToIntExact:
      return sizeof(T) == sizeof(Integer) ? map_one<Integer, T>([](T a) { return saturated<Integer>(a); }) : nullptr;
    default:
      return nullptr;
  }
}

LaneFunction float_integer_conversion(Opcode opcode, Scalar operand, Scalar result) {
  if (is_float(operand) == is_float(result) || is_mask(operand) || is_mask(result)) return nullptr;
  const bool to_float = opcode == Opcode::kToFloat || opcode == Opcode::kToFloatU;
  if (to_float != is_float(result)) return nullptr;
  const bool single = operand == Scalar::kF32 || result == Scalar::kF32;
  const bool narrow = operand == Scalar::kI32 || result == Scalar::kI32;
  if (single)
    return narrow ? between_float_and_integer<float, int32_t>(opcode)
                  : between_float_and_integer<float, int64_t>(opcode);
  return narrow ? between_float_and_integer<double, int32_t>(opcode)
                : between_float_and_integer<double, int64_t>(opcode);
}

LaneFunction copy_bits(Scalar operand, Scalar result) {
  if (size_of(operand) != size_of(result) || is_mask(operand) || is_mask(result)) return nullptr;
  if (is_float(operand) == is_float(result)) return nullptr;
  if (size_of(operand) == 4) return map_one<uint32_t, uint32_t>([](uint32_t a) { return a; });
  return map_one<uint64_t, uint64_t>([](uint64_t a) { return a; });
}

LaneFunction conversion(Opcode opcode, Scalar operand, Scalar result) {
  const auto is = [&](Scalar from, Scalar to) { return operand == from && result == to; };
  switch (opcode) {
    case Opcode::kToFloat:
    case Opcode::kToFloatU:
    case Opcode::kToInt:
    case Opcode::kToIntU:
    case Opcode::kToIntExact:
      return float_integer_conversion(opcode, operand, result);
    case Opcode::kBitcast:
      return copy_bits(operand, result);
    case Opcode::kConvertFloat:
      if (is(Scalar::kF32, Scalar::kF64)) return map_one<double, float>([](float a) { return double{a}; });
      if (is(Scalar::kF64, Scalar::kF32)) return map_one<float, double>([](double a) { return float(a); });
      return nullptr;
    case Opcode::kExtend:
    case Opcode::kConvertMask:
      if (is(Scalar::kI32, Scalar::kI64) || is(Scalar::kMask32, Scalar::kMask64))
        return map_one<int64_t, int32_t>([](int32_t a) { return int64_t{a}; });
      if (is(Scalar::kMask64, Scalar::kMask32)) return map_one<int32_t, int64_t>([](int64_t a) { return int32_t(a); });
      return nullptr;
    case Opcode::kExtendU:
      if (!is(Scalar::kI32, Scalar::kI64)) return nullptr;
      return map_one<uint64_t, uint32_t>([](uint32_t a) { return uint64_t{a}; });
    case Opcode::kWrap:
      if (!is(Scalar::kI64, Scalar::kI32)) return nullptr;
      return map_one<uint32_t, uint64_t>([](uint64_t a) { return uint32_t(a); });
    case Opcode::kHalfToFloat:
      if (!is(Scalar::kI32, Scalar::kF32)) return nullptr;
      return map_one<float, uint32_t>([](uint32_t a) { return half_bits_to_float(a); });
    case Opcode::kFloatToHalf:
      if (!is(Scalar::kF32, Scalar::kI32)) return nullptr;
      return map_one<uint32_t, float>([](float a) { return float_to_half_bits(a); });
    default:
      return nullptr;
  }
}

template <typename U>
LaneFunction select_function() {
  return map_three<U, U>([](U mask, U a, U b) { return mask != 0 ? a : b; });
}

template <typename S>
LaneFunction integer_function(Opcode opcode) {
  if (LaneFunction found = signed_function<S>(opcode)) return found;
  if (LaneFunction found = unsigned_function<std::make_unsigned_t<S>>(opcode)) return found;
  return bit_function<std::make_unsigned_t<S>>(opcode);
}

float without_denormals(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

// As the instruction of x86 does it: the odd elements first.
void dot_bfloat16(Lanes& result, const Lanes& a, const Lanes& b, const Lanes& c, int lanes) {
  const auto low = [](uint32_t pair) { return without_denormals(bit_cast<float>(pair << 16)); };
  const auto high = [](uint32_t pair) { return without_denormals(bit_cast<float>(pair & 0xFFFF0000u)); };
  for (int i = 0; i < lanes; i++) {
    const float sum = std::fma(high(a.u32[i]), high(b.u32[i]), without_denormals(c.f32[i]));
    result.f32[i] = without_denormals(std::fma(low(a.u32[i]), low(b.u32[i]), without_denormals(sum)));
  }
}

template <typename T>
bool exact_integer(T value) {
  using Integer = MaskOf<T>;
  constexpr Integer half = std::numeric_limits<Integer>::max() / 2 + 1;
  constexpr T beyond = T(half) * 2;
  return value >= -beyond && value < beyond && std::trunc(value) == value;
}

}  // namespace

LaneFunction lane_function(Opcode opcode, Scalar operand, Scalar result) {
  if (opcode == Opcode::kDotBFloat16) return operand == Scalar::kI32 && result == Scalar::kF32 ? dot_bfloat16 : nullptr;
  if (opcode >= Opcode::kToFloat && opcode <= Opcode::kFloatToHalf) return conversion(opcode, operand, result);
  if (opcode == Opcode::kConvertMask) return conversion(opcode, operand, result);
  if (opcode == Opcode::kSelect)
    return size_of(operand) == 8 ? select_function<uint64_t>() : select_function<uint32_t>();
  switch (operand) {
    case Scalar::kI32:
      return integer_function<int32_t>(opcode);
    case Scalar::kI64:
      return integer_function<int64_t>(opcode);
    case Scalar::kF32:
      if (LaneFunction found = sign_function<uint32_t>(opcode)) return found;
      return float_function<float>(opcode);
    case Scalar::kF64:
      if (LaneFunction found = sign_function<uint64_t>(opcode)) return found;
      return float_function<double>(opcode);
    case Scalar::kMask32:
      return bit_function<uint32_t>(opcode);
    case Scalar::kMask64:
      return bit_function<uint64_t>(opcode);
  }
  return nullptr;
}

bool is_exact_integer(float value) { return exact_integer(value); }
bool is_exact_integer(double value) { return exact_integer(value); }

float half_bits_to_float(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u;
  const uint32_t fraction = bits & 0x3FFu;
  if (exponent == 31) return bit_cast<float>(sign | 0x7F800000u | (fraction << 13) | (fraction != 0 ? 0x400000u : 0u));
  if (exponent != 0) return bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return bit_cast<float>(sign | bit_cast<uint32_t>(magnitude));
}

uint32_t float_to_half_bits(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu);
  if (magnitude >= 0x47800000u) return sign | 0x7C00u;  // 65536 and beyond; 65520 .. 65535 round up to it below
  uint32_t mantissa, shift, result;
  if (magnitude >= 0x38800000u) {
    mantissa = magnitude - 0x38000000u;
    shift = 13;
  } else {
    // Below 2^-14 the result counts multiples of 2^-24; everything under half of one is zero.
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return sign;
    mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    shift = 126 - exponent;
  }
  result = mantissa >> shift;
  const uint32_t rest = mantissa & ((1u << shift) - 1u);
  const uint32_t half = 1u << (shift - 1);
  if (rest > half || (rest == half && (result & 1u) != 0)) result++;
  return sign | result;
}

}  // namespace tandem
