#include "core/schedule/accumulation.h"

namespace tandem {

DType Accumulation::held() const {
  if (is_float(dtype_)) return dtype_ == DType::kF64 ? DType::kF64 : DType::kF32;
  return register_scalar(dtype_) == Scalar::kI64 ? DType::kI64 : DType::kI32;
}

ValueId Accumulation::to_factor(ValueId value) {
  if (dtype_ != DType::kBool) return value;
  const uint8_t lanes = builder_.type(value).lanes;
  return builder_.select(value, builder_.integer({Scalar::kI32, lanes}, 1), builder_.integer({Scalar::kI32, lanes}, 0));
}

ValueId Accumulation::zero(int lanes) {
  const Type type{register_scalar(held()), static_cast<uint8_t>(lanes)};
  return is_float(type.scalar) ? builder_.constant(type, 0) : builder_.integer(type, 0);
}

ValueId Accumulation::add_product(ValueId a, ValueId b, ValueId sum) {
  const int lanes = builder_.type(sum).lanes;
  if (builder_.type(a).lanes != lanes) a = builder_.splat(a, lanes);
  if (builder_.type(b).lanes != lanes) b = builder_.splat(b, lanes);
  if (is_float(dtype_)) {
    MathContext math = lowerer_.math();
    math.fused = fused_;
    return multiply_add(math, a, b, sum);
  }
  if (dtype_ == DType::kBool) return builder_.binary(Opcode::kOr, builder_.binary(Opcode::kAnd, a, b), sum);
  return builder_.binary(Opcode::kAdd, builder_.binary(Opcode::kMul, a, b), sum);
}

ValueId Accumulation::result(ValueId sum) {
  const ValueId zero = is_float(dtype_) ? kNoValue : builder_.integer(builder_.type(sum), 0);
  if (dtype_ == DType::kBool) return builder_.binary(Opcode::kNotEqual, sum, zero);
  if (is_float(dtype_)) return lowerer_.round_to(sum, dtype_);
  return lowerer_.apply(Op::kAdd, dtype_, sum, zero);
}

}  // namespace tandem
