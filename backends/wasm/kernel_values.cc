// Constants, lanes and conversions.

#include <cmath>
#include <cstring>

#include "backends/wasm/kernel_emitter.h"
#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::wasm_emitter {

namespace {

/// The bits of a lane of a constant. Every NaN is the same one, so that the bytes of a module never depend on the host.
uint64_t constant_bits(const Instruction& instruction) {
  switch (instruction.type.scalar) {
    case Scalar::kF32:
      if (std::isnan(instruction.number)) return 0x7FC00000u;
      return bit_cast<uint32_t>(static_cast<float>(instruction.number));
    case Scalar::kF64:
      if (std::isnan(instruction.number)) return 0x7FF8000000000000u;
      return bit_cast<uint64_t>(instruction.number);
    case Scalar::kMask32:
    case Scalar::kMask64:
      return instruction.integer != 0 ? (instruction.type.lanes > 1 ? ~uint64_t{0} : 1) : 0;
    default:
      return static_cast<uint64_t>(instruction.integer);
  }
}

constexpr uint8_t kUpperHalf[16] = {8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7};
constexpr uint8_t kLowerHalves[16] = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
constexpr uint8_t kEvenWords[16] = {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27};

}  // namespace

Parts KernelEmitter::constant(const Instruction& instruction) {
  const uint64_t bits = constant_bits(instruction);
  if (instruction.type.lanes == 1) {
    switch (instruction.type.scalar) {
      case Scalar::kF32:
        return {{code_.f32_bits(static_cast<uint32_t>(bits))}, false};
      case Scalar::kF64:
        return {{code_.f64_bits(bits)}, false};
      case Scalar::kI64:
        return {{code_.i64(instruction.integer)}, false};
      default:
        return {{code_.i32(static_cast<int64_t>(bits))}, false};
    }
  }
  const size_t lane_bytes = size_of(instruction.type.scalar);
  uint8_t bytes[16];
  for (size_t i = 0; i < 16; i++) bytes[i] = static_cast<uint8_t>(bits >> (8 * (i % lane_bytes)));
  return {{code_.v128(bytes)}, true};
}

Parts KernelEmitter::lane_numbers(const Instruction& instruction) {
  Parts parts;
  const int per_part = lanes_per_part(instruction.type);
  const int lane_bytes = size_of(instruction.type.scalar);
  if (instruction.type.lanes == 1) {
    return {{instruction.type.scalar == Scalar::kI64 ? code_.i64(0) : code_.i32(0)}, false};
  }
  for (int part = 0; part < part_count(instruction.type); part++) {
    uint8_t bytes[16] = {};
    for (int lane = 0; lane < per_part; lane++) bytes[lane * lane_bytes] = static_cast<uint8_t>(part * per_part + lane);
    parts.list.push_back(code_.v128(bytes));
  }
  return parts;
}

Expression* KernelEmitter::splat_lane(Scalar scalar, Expression* value) {
  switch (scalar) {
    case Scalar::kI64:
      return code_.unary(wasm::SplatVecI64x2, value);
    case Scalar::kF32:
      return code_.unary(wasm::SplatVecF32x4, value);
    case Scalar::kF64:
      return code_.unary(wasm::SplatVecF64x2, value);
    case Scalar::kI32:
      return code_.unary(wasm::SplatVecI32x4, value);
    default:
      return code_.unary(wasm::SplatVecI32x4, code_.binary(wasm::SubInt32, code_.i32(0), value));
  }
}

Expression* KernelEmitter::extract_lane(Scalar scalar, Expression* vector, int lane) {
  auto& builder = code_.builder();
  switch (scalar) {
    case Scalar::kI64:
      return builder.makeSIMDExtract(wasm::ExtractLaneVecI64x2, vector, lane);
    case Scalar::kF32:
      return builder.makeSIMDExtract(wasm::ExtractLaneVecF32x4, vector, lane);
    case Scalar::kF64:
      return builder.makeSIMDExtract(wasm::ExtractLaneVecF64x2, vector, lane);
    case Scalar::kI32:
      return builder.makeSIMDExtract(wasm::ExtractLaneVecI32x4, vector, lane);
    default: {
      const int word = scalar == Scalar::kMask64 ? 2 * lane : lane;
      Expression* bits = builder.makeSIMDExtract(wasm::ExtractLaneVecI32x4, vector, word);
      return code_.binary(wasm::AndInt32, bits, code_.i32(1));
    }
  }
}

Expression* KernelEmitter::replace_lane(Scalar scalar, Expression* vector, int lane, Expression* value) {
  auto& builder = code_.builder();
  switch (scalar) {
    case Scalar::kI64:
      return builder.makeSIMDReplace(wasm::ReplaceLaneVecI64x2, vector, lane, value);
    case Scalar::kF32:
      return builder.makeSIMDReplace(wasm::ReplaceLaneVecF32x4, vector, lane, value);
    case Scalar::kF64:
      return builder.makeSIMDReplace(wasm::ReplaceLaneVecF64x2, vector, lane, value);
    case Scalar::kI32:
      return builder.makeSIMDReplace(wasm::ReplaceLaneVecI32x4, vector, lane, value);
    default: {
      Expression* bits = code_.binary(wasm::SubInt32, code_.i32(0), value);
      if (scalar == Scalar::kMask32) return builder.makeSIMDReplace(wasm::ReplaceLaneVecI32x4, vector, lane, bits);
      return builder.makeSIMDReplace(wasm::ReplaceLaneVecI64x2, vector, lane, code_.unary(wasm::ExtendSInt32, bits));
    }
  }
}

Parts KernelEmitter::splat(const Instruction& instruction) {
  Expression* value = take(instruction.operands[0]);
  if (instruction.type.lanes == 1) return {{value}, false};
  if (auto* load = value->dynCast<wasm::Load>()) {
    const bool wide = load->bytes == 8;
    if (wide || load->bytes == 4) {
      const auto op = wide ? wasm::Load64SplatVec128 : wasm::Load32SplatVec128;
      return {{code_.builder().makeSIMDLoad(op, load->offset, load->align, load->ptr, kMemory)}, true};
    }
  }
  return {{splat_lane(instruction.type.scalar, value)}, true};
}

Parts KernelEmitter::extract(const Instruction& instruction) {
  const ValueId vector = instruction.operands[0];
  if (type_of(vector).lanes == 1) return {{take(vector)}, false};
  settle(vector);
  const int lane = static_cast<int>(instruction.integer);
  const int per_part = lanes_per_part(type_of(vector));
  return {{extract_lane(instruction.type.scalar, take(vector, lane / per_part), lane % per_part)}, false};
}

Parts KernelEmitter::insert(const Instruction& instruction) {
  if (instruction.type.lanes == 1) return {{take(instruction.operands[1])}, false};
  settle(instruction.operands[0]);
  const int lane = static_cast<int>(instruction.integer);
  const int per_part = lanes_per_part(instruction.type);
  Parts parts;
  for (int part = 0; part < part_count(instruction.type); part++) {
    Expression* expression = take(instruction.operands[0], part);
    if (part == lane / per_part) {
      expression = replace_lane(instruction.type.scalar, expression, lane % per_part, take(instruction.operands[1]));
    }
    parts.list.push_back(expression);
  }
  return parts;
}

Expression* KernelEmitter::upper_half(ValueId id, int part) {
  return code_.shuffle(take(id, part), take(id, part), kUpperHalf);
}

Parts KernelEmitter::half(const Instruction& instruction) {
  const ValueId operand = instruction.operands[0];
  const bool high = instruction.opcode == Opcode::kHigh;
  settle(operand);
  const int parts = part_count(type_of(operand));
  if (instruction.type.lanes == 1) return {{extract_lane(instruction.type.scalar, take(operand), high ? 1 : 0)}, false};
  if (parts == 1) return {{high ? upper_half(operand, 0) : take(operand)}, false};
  Parts result;
  for (int part = 0; part < parts / 2; part++) result.list.push_back(take(operand, part + (high ? parts / 2 : 0)));
  return result;
}

Parts KernelEmitter::convert(const Instruction& instruction) {
  const ValueId operand = instruction.operands[0];
  const Scalar from = type_of(operand).scalar;
  const Scalar to = instruction.type.scalar;
  if (instruction.type.lanes == 1) {
    return {{convert_scalar(instruction.opcode, from, to, take(operand))}, false};
  }
  const bool is_same = values_[operand].same;
  if (size_of(from) == 4 && size_of(to) == 4) {
    auto op = wasm::InvalidUnary;
    if (instruction.opcode == Opcode::kToFloat) op = wasm::ConvertSVecI32x4ToVecF32x4;
    if (instruction.opcode == Opcode::kToFloatU) op = wasm::ConvertUVecI32x4ToVecF32x4;
    if (instruction.opcode == Opcode::kToInt) op = wasm::TruncSatSVecF32x4ToVecI32x4;
    if (instruction.opcode == Opcode::kToIntU) op = wasm::TruncSatUVecF32x4ToVecI32x4;
    if (instruction.opcode == Opcode::kToIntExact) {
      // In range the relaxed form is one machine instruction with one result everywhere.
      op = capabilities_.fma ? wasm::RelaxedTruncSVecF32x4ToVecI32x4 : wasm::TruncSatSVecF32x4ToVecI32x4;
    }
    Parts parts;
    parts.same = is_same;
    for (int part = 0; part < (is_same ? 1 : part_count(instruction.type)); part++) {
      Expression* expression = take(operand, part);
      parts.list.push_back(op == wasm::InvalidUnary ? expression : code_.unary(op, expression));
    }
    return parts;
  }
  if (from == to || instruction.opcode == Opcode::kBitcast) {
    Parts parts;
    for (int part = 0; part < part_count(instruction.type); part++) parts.list.push_back(take(operand, part));
    return parts;
  }
  settle(operand);
  return convert_lanes(instruction);
}

// Lanes change their width, or WebAssembly has no vector form.
Parts KernelEmitter::convert_lanes(const Instruction& instruction) {
  const ValueId operand = instruction.operands[0];
  const Scalar from = type_of(operand).scalar;
  const Scalar to = instruction.type.scalar;
  const int sources = part_count(type_of(operand));
  Parts parts;
  for (int part = 0; part < part_count(instruction.type); part++) {
    const bool odd = part % 2 == 1;
    auto source_half = [&] { return odd ? upper_half(operand, part / 2) : take(operand, part / 2); };
    auto second = [&] { return take(operand, std::min(2 * part + 1, sources - 1)); };
    auto join_narrow = [&](wasm::UnaryOp op) {
      Expression* low = code_.unary(op, take(operand, 2 * part));
      return sources == 1 ? low : code_.shuffle(low, code_.unary(op, second()), kLowerHalves);
    };
    const bool widens = size_of(from) == 4 && size_of(to) == 8;
    const bool narrows = size_of(from) == 8 && size_of(to) == 4;
    const Opcode opcode = instruction.opcode;
    Expression* expression = nullptr;
    if (opcode == Opcode::kExtend || (opcode == Opcode::kConvertMask && widens)) {
      expression = code_.unary(odd ? wasm::ExtendHighSVecI32x4ToVecI64x2 : wasm::ExtendLowSVecI32x4ToVecI64x2,
                               take(operand, part / 2));
    } else if (opcode == Opcode::kExtendU) {
      expression = code_.unary(odd ? wasm::ExtendHighUVecI32x4ToVecI64x2 : wasm::ExtendLowUVecI32x4ToVecI64x2,
                               take(operand, part / 2));
    } else if (opcode == Opcode::kWrap || opcode == Opcode::kConvertMask) {
      expression = code_.shuffle(take(operand, 2 * part), second(), kEvenWords);
    } else if (opcode == Opcode::kConvertFloat) {
      expression = widens ? code_.unary(wasm::PromoteLowVecF32x4ToVecF64x2, source_half())
                          : join_narrow(wasm::DemoteZeroVecF64x2ToVecF32x4);
    } else if (opcode == Opcode::kToFloat && widens) {
      expression = code_.unary(wasm::ConvertLowSVecI32x4ToVecF64x2, source_half());
    } else if (opcode == Opcode::kToFloatU && widens) {
      expression = code_.unary(wasm::ConvertLowUVecI32x4ToVecF64x2, source_half());
    } else if (opcode == Opcode::kToInt && narrows) {
      expression = join_narrow(wasm::TruncSatZeroSVecF64x2ToVecI32x4);
    } else if (opcode == Opcode::kToIntU && narrows) {
      expression = join_narrow(wasm::TruncSatZeroUVecF64x2ToVecI32x4);
    } else {
      const int per_source = lanes_per_part(type_of(operand));
      const int per_part = lanes_per_part(instruction.type);
      for (int lane = 0; lane < per_part; lane++) {
        const int number = part * per_part + lane;
        Expression* element = extract_lane(from, take(operand, number / per_source), number % per_source);
        element = convert_scalar(opcode, from, to, element);
        expression = lane == 0 ? splat_lane(to, element) : replace_lane(to, expression, lane, element);
      }
    }
    parts.list.push_back(expression);
  }
  return parts;
}

Expression* KernelEmitter::convert_scalar(Opcode opcode, Scalar from, Scalar to, Expression* value) {
  const bool wide_from = size_of(from) == 8;
  const bool wide_to = size_of(to) == 8;
  auto choose = [&](wasm::UnaryOp narrow_narrow, wasm::UnaryOp narrow_wide, wasm::UnaryOp wide_narrow,
                    wasm::UnaryOp wide_wide) {
    return code_.unary(wide_from ? (wide_to ? wide_wide : wide_narrow) : (wide_to ? narrow_wide : narrow_narrow),
                       value);
  };
  switch (opcode) {
    case Opcode::kToFloat:
      return choose(wasm::ConvertSInt32ToFloat32, wasm::ConvertSInt32ToFloat64, wasm::ConvertSInt64ToFloat32,
                    wasm::ConvertSInt64ToFloat64);
    case Opcode::kToFloatU:
      return choose(wasm::ConvertUInt32ToFloat32, wasm::ConvertUInt32ToFloat64, wasm::ConvertUInt64ToFloat32,
                    wasm::ConvertUInt64ToFloat64);
    case Opcode::kToInt:
    case Opcode::kToIntExact:
      return choose(wasm::TruncSatSFloat32ToInt32, wasm::TruncSatSFloat32ToInt64, wasm::TruncSatSFloat64ToInt32,
                    wasm::TruncSatSFloat64ToInt64);
    case Opcode::kToIntU:
      return choose(wasm::TruncSatUFloat32ToInt32, wasm::TruncSatUFloat32ToInt64, wasm::TruncSatUFloat64ToInt32,
                    wasm::TruncSatUFloat64ToInt64);
    case Opcode::kConvertFloat:
      if (wide_from == wide_to) return value;
      return code_.unary(wide_to ? wasm::PromoteFloat32 : wasm::DemoteFloat64, value);
    case Opcode::kExtend:
      return code_.unary(wasm::ExtendSInt32, value);
    case Opcode::kExtendU:
      return code_.unary(wasm::ExtendUInt32, value);
    case Opcode::kWrap:
      return code_.unary(wasm::WrapInt64, value);
    case Opcode::kBitcast:
      if (from == to) return value;
      if (is_float(from)) return code_.unary(wide_from ? wasm::ReinterpretFloat64 : wasm::ReinterpretFloat32, value);
      return code_.unary(wide_from ? wasm::ReinterpretInt64 : wasm::ReinterpretInt32, value);
    default:  // A mask of one lane is an i32 at either width.
      return value;
  }
}

}  // namespace tandem::wasm_emitter
