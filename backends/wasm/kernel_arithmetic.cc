// Everything that works on each lane alone.

#include "backends/wasm/kernel_emitter.h"
#include "backends/wasm/operation_table.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::wasm_emitter {

namespace {

bool is_shift(Opcode opcode) { return opcode == Opcode::kShl || opcode == Opcode::kShr || opcode == Opcode::kShrU; }
bool is_division(Opcode opcode) {
  return opcode == Opcode::kDiv || opcode == Opcode::kRem || opcode == Opcode::kDivU || opcode == Opcode::kRemU;
}
bool is_comparison(Opcode opcode) { return opcode >= Opcode::kEqual && opcode <= Opcode::kLessEqualU; }

/// The constant of an i32 or i64 expression, if there is one and it is one.
bool number_of(Expression* expression, int64_t& number) {
  auto* constant = expression ? expression->dynCast<wasm::Const>() : nullptr;
  if (!constant) return false;
  number = constant->type == wasm::Type::i64 ? constant->value.geti64() : constant->value.geti32();
  return true;
}

}  // namespace

// What is compared or computed on; a select is like its values.
Scalar KernelEmitter::lane_scalar(const Instruction& instruction) const {
  return is_comparison(instruction.opcode) ? type_of(instruction.operands[0]).scalar : instruction.type.scalar;
}

bool KernelEmitter::has_vector_form(const Instruction& instruction) const {
  if (is_float(lane_scalar(instruction))) return true;
  return !is_division(instruction.opcode) && !is_shift(instruction.opcode);
}

Parts KernelEmitter::element_wise(const Instruction& instruction) {
  const int operands = info(instruction.opcode).operands;
  if (instruction.type.lanes == 1) {
    Expression* taken[3] = {nullptr, nullptr, nullptr};
    for (int i = 0; i < operands; i++) taken[i] = take(instruction.operands[i]);
    return {{scalar_operation(instruction.opcode, lane_scalar(instruction), taken[0], taken[1], taken[2])}, false};
  }
  const bool has_splat_amount = is_shift(instruction.opcode) && (at(instruction.operands[1]).opcode == Opcode::kSplat ||
                                                                 is_constant(instruction.operands[1]));
  if (has_splat_amount) return splat_shift(instruction);
  if (instruction.opcode == Opcode::kSelect && selects_lesser_or_greater(instruction))
    return pseudo_extremum(instruction);

  // An operand that an expression needs twice, and all operands of lane by lane code, lie in locals.
  const bool is_vector = has_vector_form(instruction);
  const bool twice = lane_scalar(instruction) == Scalar::kI64 &&
                     (instruction.opcode == Opcode::kMin || instruction.opcode == Opcode::kMax ||
                      instruction.opcode == Opcode::kMinU || instruction.opcode == Opcode::kMaxU);
  Parts parts;
  parts.same = true;
  for (int i = 0; i < operands; i++) {
    parts.same = parts.same && values_[instruction.operands[i]].same;
    if (!is_vector || twice) settle(instruction.operands[i]);
  }
  for (int part = 0; part < (parts.same ? 1 : part_count(instruction.type)); part++) {
    if (!is_vector) {
      parts.list.push_back(lane_wise(instruction, part));
      continue;
    }
    Expression* taken[3] = {nullptr, nullptr, nullptr};
    if (twice) {
      parts.list.push_back(wide_extremum(instruction, part));
      continue;
    }
    for (int i = 0; i < operands; i++) taken[i] = take(instruction.operands[i], part);
    parts.list.push_back(vector_operation(instruction, taken[0], taken[1], taken[2]));
  }
  return parts;
}

/// Does a select take one of the two floats that its mask compares?
bool KernelEmitter::selects_lesser_or_greater(const Instruction& select) const {
  const Instruction& mask = at(select.operands[0]);
  if (mask.opcode != Opcode::kLess || !is_float(select.type.scalar)) return false;
  const ValueId a = mask.operands[0], b = mask.operands[1];
  const ValueId taken = select.operands[1], otherwise = select.operands[2];
  return type_of(a).scalar == select.type.scalar && ((taken == a && otherwise == b) || (taken == b && otherwise == a));
}

// pmin(x, y) is y < x ? y : x and pmax(x, y) is x < y ? y : x, for NaN and zeros too: one machine instruction, where a
// comparison and a choice are four.
Parts KernelEmitter::pseudo_extremum(const Instruction& select) {
  forget_unused(select.operands[0]);
  const bool wide = select.type.scalar == Scalar::kF64;
  const bool is_lesser = select.operands[1] == at(select.operands[0]).operands[0];
  auto op = wide ? wasm::PMaxVecF64x2 : wasm::PMaxVecF32x4;
  if (is_lesser) op = wide ? wasm::PMinVecF64x2 : wasm::PMinVecF32x4;
  Parts parts;
  parts.same = values_[select.operands[1]].same && values_[select.operands[2]].same;
  for (int part = 0; part < (parts.same ? 1 : part_count(select.type)); part++) {
    Expression* otherwise = take(select.operands[2], part);
    parts.list.push_back(code_.binary(op, otherwise, take(select.operands[1], part)));
  }
  return parts;
}

Expression* KernelEmitter::lane_wise(const Instruction& instruction, int part) {
  const Scalar scalar = lane_scalar(instruction);
  Expression* result = nullptr;
  for (int lane = 0; lane < lanes_per_part(instruction.type); lane++) {
    Expression* taken[3] = {nullptr, nullptr, nullptr};
    for (int i = 0; i < info(instruction.opcode).operands; i++) {
      taken[i] = extract_lane(type_of(instruction.operands[i]).scalar, take(instruction.operands[i], part), lane);
    }
    Expression* element = scalar_operation(instruction.opcode, scalar, taken[0], taken[1], taken[2]);
    const Scalar to = instruction.type.scalar;
    result = lane == 0 ? splat_lane(to, element) : replace_lane(to, result, lane, element);
  }
  return result;
}

Expression* KernelEmitter::vector_operation(const Instruction& instruction, Expression* a, Expression* b,
                                            Expression* c) {
  const Scalar scalar = lane_scalar(instruction);
  switch (instruction.opcode) {
    case Opcode::kFma:
      TANDEM_CHECK(capabilities_.fma, concat("kernel ", kernel_.name, " has an fma, and the capabilities have none"));
      return code_.builder().makeSIMDTernary(
          scalar == Scalar::kF32 ? wasm::RelaxedMaddVecF32x4 : wasm::RelaxedMaddVecF64x2, a, b, c);
    case Opcode::kSelect:
      if (capabilities_.fma) {
        const bool wide = size_of(scalar) == 8;
        // With whole lanes of ones or zeros the relaxed form has one result, and is one machine instruction.
        return code_.builder().makeSIMDTernary(wide ? wasm::RelaxedLaneselectI64x2 : wasm::RelaxedLaneselectI32x4, b, c,
                                               a);
      }
      return code_.builder().makeSIMDTernary(wasm::Bitselect, b, c, a);
    case Opcode::kNot:
      return code_.unary(wasm::NotVec128, a);
    case Opcode::kLessU:
    case Opcode::kLessEqualU:
      if (size_of(scalar) == 8) {
        const auto op = instruction.opcode == Opcode::kLessU ? wasm::LtSVecI64x2 : wasm::LeSVecI64x2;
        return code_.binary(op, flip_sign(a), flip_sign(b));
      }
      break;
    default:
      break;
  }
  if (b) return code_.binary(vector_binary(instruction.opcode, scalar), a, b);
  return code_.unary(vector_unary(instruction.opcode, scalar), a);
}

// Unsigned 64-bit comparisons are signed ones of numbers with the top bit flipped.
Expression* KernelEmitter::flip_sign(Expression* vector) {
  uint8_t sign[16] = {};
  sign[7] = sign[15] = 0x80;
  return code_.binary(wasm::XorVec128, vector, code_.v128(sign));
}

Expression* KernelEmitter::wide_extremum(const Instruction& instruction, int part) {
  const ValueId x = instruction.operands[0];
  const ValueId y = instruction.operands[1];
  Expression* a = take(x, part);
  Expression* b = take(y, part);
  if (instruction.opcode == Opcode::kMinU || instruction.opcode == Opcode::kMaxU) {
    a = flip_sign(a);
    b = flip_sign(b);
  }
  const bool is_min = instruction.opcode == Opcode::kMin || instruction.opcode == Opcode::kMinU;
  Expression* first = code_.binary(is_min ? wasm::LtSVecI64x2 : wasm::GtSVecI64x2, a, b);
  return code_.builder().makeSIMDTernary(wasm::Bitselect, take(x, part), take(y, part), first);
}

Parts KernelEmitter::splat_shift(const Instruction& instruction) {
  const ValueId amount = instruction.operands[1];
  const bool wide = size_of(instruction.type.scalar) == 8;
  const int bits = wide ? 64 : 32;
  const bool keeps_sign = instruction.opcode == Opcode::kShr;
  auto op = wide ? wasm::ShlVecI64x2 : wasm::ShlVecI32x4;
  if (keeps_sign) op = wide ? wasm::ShrSVecI64x2 : wasm::ShrSVecI32x4;
  if (instruction.opcode == Opcode::kShrU) op = wide ? wasm::ShrUVecI64x2 : wasm::ShrUVecI32x4;

  Parts parts;
  const ValueId operand = instruction.operands[0];
  parts.same = values_[operand].same;
  const int count = parts.same ? 1 : part_count(instruction.type);
  if (is_constant(amount)) {
    const int64_t number = wide ? at(amount).integer : static_cast<int32_t>(at(amount).integer);
    const bool in_range = number >= 0 && number < bits;
    for (int part = 0; part < count; part++) {
      if (!in_range && !keeps_sign) {
        const uint8_t zero[16] = {};
        parts.list.push_back(code_.v128(zero));
        continue;
      }
      Expression* by = code_.i32(in_range ? number : bits - 1);
      parts.list.push_back(code_.builder().makeSIMDShift(op, take(operand, part), by));
    }
    return parts;
  }
  Expression* lane = extract_lane(instruction.type.scalar, take(amount), 0);
  const Local full = keep(lane);
  auto in_range = [&] {
    return wide ? code_.binary(wasm::LtUInt64, code_.get(full), code_.i64(bits))
                : code_.binary(wasm::LtUInt32, code_.get(full), code_.i32(bits));
  };
  const Local narrow = wide ? keep(code_.unary(wasm::WrapInt64, code_.get(full))) : full;
  for (int part = 0; part < count; part++) {
    Expression* vector = take(operand, part);
    if (keeps_sign) {
      Expression* by = code_.builder().makeSelect(in_range(), code_.get(narrow), code_.i32(bits - 1));
      parts.list.push_back(code_.builder().makeSIMDShift(op, vector, by));
    } else {
      const uint8_t zero[16] = {};
      Expression* shifted = code_.builder().makeSIMDShift(op, vector, code_.get(narrow));
      parts.list.push_back(code_.builder().makeSelect(in_range(), shifted, code_.v128(zero)));
    }
  }
  return parts;
}

Expression* KernelEmitter::scalar_operation(Opcode opcode, Scalar scalar, Expression* a, Expression* b, Expression* c) {
  const bool wide = scalar == Scalar::kI64;
  const bool is_number = is_float(scalar);
  switch (opcode) {
    case Opcode::kSelect:
      return code_.builder().makeSelect(a, b, c);
    case Opcode::kFma:
      // Scalar WebAssembly has no fused form; twice rounded is what relaxed SIMD may do as well.
      if (scalar == Scalar::kF32) {
        return code_.binary(wasm::AddFloat32, code_.binary(wasm::MulFloat32, a, b), c);
      }
      return code_.binary(wasm::AddFloat64, code_.binary(wasm::MulFloat64, a, b), c);
    case Opcode::kDiv:
    case Opcode::kRem:
    case Opcode::kDivU:
    case Opcode::kRemU:
      if (!is_number) return scalar_division(opcode, wide, a, b);
      break;
    case Opcode::kShl:
    case Opcode::kShr:
    case Opcode::kShrU:
      return scalar_shift(opcode, wide, a, b);
    case Opcode::kMin:
    case Opcode::kMax:
    case Opcode::kMinU:
    case Opcode::kMaxU:
      if (!is_number) return scalar_extremum(opcode, wide, a, b);
      break;
    case Opcode::kNot:
      if (is_mask(scalar)) return code_.unary(wasm::EqZInt32, a);
      return wide ? code_.binary(wasm::XorInt64, a, code_.i64(-1)) : code_.binary(wasm::XorInt32, a, code_.i32(-1));
    case Opcode::kNeg:
      if (!is_number) {
        return wide ? code_.binary(wasm::SubInt64, code_.i64(0), a) : code_.binary(wasm::SubInt32, code_.i32(0), a);
      }
      break;
    case Opcode::kAbs:
      if (!is_number) {
        const Local x = keep(a);
        auto zero = [&] { return wide ? code_.i64(0) : code_.i32(0); };
        Expression* negated = code_.binary(wide ? wasm::SubInt64 : wasm::SubInt32, zero(), code_.get(x));
        Expression* is_negative = code_.binary(wide ? wasm::LtSInt64 : wasm::LtSInt32, code_.get(x), zero());
        return code_.builder().makeSelect(is_negative, negated, code_.get(x));
      }
      break;
    default:
      break;
  }
  if (b) return code_.binary(scalar_binary(opcode, scalar), a, b);
  return code_.unary(scalar_unary(opcode, scalar), a);
}

Expression* KernelEmitter::scalar_division(Opcode opcode, bool wide, Expression* a, Expression* b) {
  const wasm::BinaryOp op = scalar_binary(opcode, wide ? Scalar::kI64 : Scalar::kI32);
  int64_t divisor = 0;
  const bool is_known = number_of(b, divisor);
  // WebAssembly traps on x / 0 and smallest / -1.
  if (is_known && divisor != 0 && divisor != -1) return code_.binary(op, a, b);
  const Local x = keep(a);
  const Local y = keep(b);
  auto number = [&](int64_t value) { return wide ? code_.i64(value) : code_.i32(value); };
  auto is_zero = [&] { return code_.unary(wide ? wasm::EqZInt64 : wasm::EqZInt32, code_.get(y)); };
  Expression* safe = code_.binary(op, code_.get(x), code_.get(y));
  const wasm::Type type = code_.type_of(x);
  if (opcode == Opcode::kDiv) {
    // For the divisors 0 and -1, and for no other, the quotient is the product.
    Expression* next = code_.binary(wide ? wasm::AddInt64 : wasm::AddInt32, code_.get(y), number(1));
    Expression* is_special = code_.binary(wide ? wasm::LeUInt64 : wasm::LeUInt32, next, number(1));
    Expression* product = code_.binary(wide ? wasm::MulInt64 : wasm::MulInt32, code_.get(x), code_.get(y));
    return code_.builder().makeIf(is_special, product, safe, type);
  }
  Expression* without = opcode == Opcode::kDivU ? number(0) : code_.get(x);
  return code_.builder().makeIf(is_zero(), without, safe, type);
}

Expression* KernelEmitter::scalar_shift(Opcode opcode, bool wide, Expression* a, Expression* b) {
  const int bits = wide ? 64 : 32;
  const wasm::BinaryOp op = scalar_binary(opcode, wide ? Scalar::kI64 : Scalar::kI32);
  auto number = [&](int64_t value) { return wide ? code_.i64(value) : code_.i32(value); };
  int64_t amount = 0;
  if (number_of(b, amount)) {
    const bool in_range = amount >= 0 && amount < bits;
    if (in_range) return code_.binary(op, a, b);
    return opcode == Opcode::kShr ? code_.binary(op, a, number(bits - 1)) : number(0);
  }
  const Local x = keep(a);
  const Local y = keep(b);
  Expression* in_range = code_.binary(wide ? wasm::LtUInt64 : wasm::LtUInt32, code_.get(y), number(bits));
  if (opcode == Opcode::kShr) {
    return code_.binary(op, code_.get(x), code_.builder().makeSelect(in_range, code_.get(y), number(bits - 1)));
  }
  return code_.builder().makeSelect(in_range, code_.binary(op, code_.get(x), code_.get(y)), number(0));
}

Expression* KernelEmitter::scalar_extremum(Opcode opcode, bool wide, Expression* a, Expression* b) {
  const Local x = keep(a);
  const Local y = keep(b);
  wasm::BinaryOp op = wasm::InvalidBinary;
  if (opcode == Opcode::kMin) op = wide ? wasm::LtSInt64 : wasm::LtSInt32;
  if (opcode == Opcode::kMax) op = wide ? wasm::GtSInt64 : wasm::GtSInt32;
  if (opcode == Opcode::kMinU) op = wide ? wasm::LtUInt64 : wasm::LtUInt32;
  if (opcode == Opcode::kMaxU) op = wide ? wasm::GtUInt64 : wasm::GtUInt32;
  return code_.builder().makeSelect(code_.binary(op, code_.get(x), code_.get(y)), code_.get(x), code_.get(y));
}

}  // namespace tandem::wasm_emitter
