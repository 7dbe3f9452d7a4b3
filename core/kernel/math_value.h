#pragma once

#include "core/kernel/math.h"

namespace tandem {

/// A kernel value with the operators of arithmetic, so that the functions of math.h read as formulas. Numbers beside a
/// value take its type. Comparisons give masks; `&`, `|`, `^`, `~` work on integers and masks, shifts on integers
/// (`>>` fills with the sign).
class MathValue {
 public:
  MathValue(const MathContext& context, ValueId id) : context_(&context), id_(id) {}

  ValueId id() const { return id_; }
  const MathContext& context() const { return *context_; }
  KernelBuilder& builder() const { return context_->builder; }
  Type type() const { return builder().type(id_); }
  /// `number` in this value's type: rounded to nearest for f32, an integer for integer types.
  MathValue number(double number) const {
    return is_float(type().scalar) ? MathValue(*context_, builder().constant(type(), number))
                                   : integer(static_cast<int64_t>(number));
  }
  MathValue integer(int64_t number) const { return {*context_, builder().integer(type(), number)}; }

  MathValue unary(Opcode opcode) const { return {*context_, builder().unary(opcode, id_)}; }
  MathValue binary(Opcode opcode, MathValue other) const {
    return {*context_, builder().binary(opcode, id_, other.id_)};
  }
  MathValue convert(Opcode opcode, Scalar scalar) const { return {*context_, builder().convert(opcode, id_, scalar)}; }
  /// The same bits as the integer or float type of the same width.
  MathValue bits() const {
    return convert(Opcode::kBitcast, size_of(type().scalar) == 4 ? Scalar::kI32 : Scalar::kI64);
  }
  MathValue as_float() const {
    return convert(Opcode::kBitcast, size_of(type().scalar) == 4 ? Scalar::kF32 : Scalar::kF64);
  }
  MathValue operator-() const { return unary(Opcode::kNeg); }
  MathValue operator~() const { return unary(Opcode::kNot); }

 private:
  const MathContext* context_;
  ValueId id_;
};

inline MathValue operator+(MathValue a, MathValue b) { return a.binary(Opcode::kAdd, b); }
inline MathValue operator-(MathValue a, MathValue b) { return a.binary(Opcode::kSub, b); }
inline MathValue operator*(MathValue a, MathValue b) { return a.binary(Opcode::kMul, b); }
inline MathValue operator/(MathValue a, MathValue b) { return a.binary(Opcode::kDiv, b); }
inline MathValue operator&(MathValue a, MathValue b) { return a.binary(Opcode::kAnd, b); }
inline MathValue operator|(MathValue a, MathValue b) { return a.binary(Opcode::kOr, b); }
inline MathValue operator^(MathValue a, MathValue b) { return a.binary(Opcode::kXor, b); }
inline MathValue operator<(MathValue a, MathValue b) { return a.binary(Opcode::kLess, b); }
inline MathValue operator<=(MathValue a, MathValue b) { return a.binary(Opcode::kLessEqual, b); }
inline MathValue operator==(MathValue a, MathValue b) { return a.binary(Opcode::kEqual, b); }
inline MathValue operator!=(MathValue a, MathValue b) { return a.binary(Opcode::kNotEqual, b); }

inline MathValue operator+(MathValue a, double b) { return a + a.number(b); }
inline MathValue operator-(MathValue a, double b) { return a - a.number(b); }
inline MathValue operator*(MathValue a, double b) { return a * a.number(b); }
inline MathValue operator<(MathValue a, double b) { return a < a.number(b); }
inline MathValue operator<=(MathValue a, double b) { return a <= a.number(b); }
inline MathValue operator==(MathValue a, double b) { return a == a.number(b); }
inline MathValue operator!=(MathValue a, double b) { return a != a.number(b); }
inline MathValue operator&(MathValue a, int64_t b) { return a & a.integer(b); }
inline MathValue operator<<(MathValue a, int bits) { return a.binary(Opcode::kShl, a.integer(bits)); }
inline MathValue operator>>(MathValue a, int bits) { return a.binary(Opcode::kShr, a.integer(bits)); }

inline MathValue absolute(MathValue a) { return a.unary(Opcode::kAbs); }
inline MathValue nearest(MathValue a) { return a.unary(Opcode::kNearest); }

inline MathValue select(MathValue mask, MathValue a, MathValue b) {
  return {a.context(), a.builder().select(mask.id(), a.id(), b.id())};
}
inline MathValue select(MathValue mask, MathValue a, double b) { return select(mask, a, a.number(b)); }
inline MathValue select(MathValue mask, double a, MathValue b) { return select(mask, b.number(a), b); }

/// a * b + c by the context's rule.
inline MathValue multiply_add(MathValue a, MathValue b, MathValue c) {
  return {a.context(), multiply_add(a.context(), a.id(), b.id(), c.id())};
}
inline MathValue multiply_add(MathValue a, double b, MathValue c) { return multiply_add(a, a.number(b), c); }
inline MathValue multiply_add(MathValue a, MathValue b, double c) { return multiply_add(a, b, a.number(c)); }
inline MathValue multiply_add(MathValue a, double b, double c) { return multiply_add(a, a.number(b), a.number(c)); }

/// x limited to [low, high], NaN kept. The comparisons are written so that they are one instruction of x86 each.
inline MathValue clamp(MathValue x, double low, double high) {
  MathValue above = select(x.number(high) < x, high, x);
  return select(above < low, low, above);
}

/// coefficients[0] + coefficients[1] * x + ..., by Horner's rule.
template <int count>
MathValue polynomial(MathValue x, const double (&coefficients)[count]) {
  MathValue sum = x.number(coefficients[count - 1]);
  for (int i = count - 2; i >= 0; --i) sum = multiply_add(sum, x, coefficients[i]);
  return sum;
}

/// The sign bit of x alone, as an integer.
inline MathValue sign_bit(MathValue x) {
  return x.bits() & (size_of(x.type().scalar) == 4 ? int64_t{INT32_MIN} : INT64_MIN);
}
/// x, negated where `bits` has the sign bit; the other bits of `bits` are 0.
inline MathValue flip_sign(MathValue x, MathValue bits) { return (x.bits() ^ bits).as_float(); }
/// `magnitude` >= 0 with the sign of x.
inline MathValue copy_sign(MathValue magnitude, MathValue x) { return (magnitude.bits() | sign_bit(x)).as_float(); }

/// For functions that dispatch on the type of their argument.
inline bool is_double(MathValue x) { return x.type().scalar == Scalar::kF64; }

}  // namespace tandem
