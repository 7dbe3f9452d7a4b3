// The arithmetic half of the builder: folding, identities, lane matching.
#include <cmath>
#include <limits>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/kernel/builder_state.h"
#include "core/kernel/evaluate.h"
#include "core/kernel/type_rules.h"

namespace tandem {
namespace {

Type with_lanes(Type type, int lanes) { return Type{type.scalar, static_cast<uint8_t>(lanes)}; }

void write_lane(Lanes& lanes, const Instruction& constant) {
  switch (constant.type.scalar) {
    case Scalar::kI32:
      lanes.i32[0] = static_cast<int32_t>(constant.integer);
      break;
    case Scalar::kI64:
      lanes.i64[0] = constant.integer;
      break;
    case Scalar::kF32:
      lanes.f32[0] = static_cast<float>(constant.number);
      break;
    case Scalar::kF64:
      lanes.f64[0] = constant.number;
      break;
    case Scalar::kMask32:
      lanes.i32[0] = constant.integer != 0 ? -1 : 0;
      break;
    case Scalar::kMask64:
      lanes.i64[0] = constant.integer != 0 ? -1 : 0;
      break;
  }
}

// A conversion's result when the opcode and the operand leave no choice; otherwise the operand's type.
Scalar implied_result(Opcode opcode, Scalar operand) {
  switch (opcode) {
    case Opcode::kConvertMask:
      return operand == Scalar::kMask32 ? Scalar::kMask64 : Scalar::kMask32;
    case Opcode::kConvertFloat:
      return operand == Scalar::kF32 ? Scalar::kF64 : Scalar::kF32;
    case Opcode::kToIntExact:
      return operand == Scalar::kF32 ? Scalar::kI32 : Scalar::kI64;
    case Opcode::kExtend:
    case Opcode::kExtendU:
      return Scalar::kI64;
    case Opcode::kWrap:
    case Opcode::kFloatToHalf:
      return Scalar::kI32;
    case Opcode::kHalfToFloat:
      return Scalar::kF32;
    case Opcode::kBitcast:
      if (is_float(operand)) return operand == Scalar::kF32 ? Scalar::kI32 : Scalar::kI64;
      return operand == Scalar::kI32 ? Scalar::kF32 : Scalar::kF64;
    default:
      return operand;
  }
}

}  // namespace

ValueId KernelBuilder::constant(Type type, double number) {
  if (is_float(type.scalar)) {
    Instruction instruction = new_instruction(Opcode::kConstant, type);
    instruction.number = type.scalar == Scalar::kF32 ? static_cast<double>(static_cast<float>(number)) : number;
    if (std::isnan(number)) instruction.number = std::numeric_limits<double>::quiet_NaN();
    return make(std::move(instruction));
  }
  TANDEM_CHECK(is_mask(type.scalar) || is_exact_integer(number), concat(number, " isn't an integer constant"));
  return integer(type, static_cast<int64_t>(number));
}

ValueId KernelBuilder::integer(Type type, int64_t number) {
  if (is_float(type.scalar)) return constant(type, static_cast<double>(number));
  Instruction instruction = new_instruction(Opcode::kConstant, type);
  instruction.integer = number;
  if (type.scalar == Scalar::kI32) instruction.integer = static_cast<int32_t>(number);
  if (is_mask(type.scalar)) instruction.integer = number != 0 ? 1 : 0;
  return make(std::move(instruction));
}

ValueId KernelBuilder::index_value(Scalar scalar, const Index& index) {
  if (index.is_constant()) return integer(Type{scalar, 1}, index.constant());
  if (index.kind() == IndexKind::kValue && type(index.id()).scalar == scalar) return index.id();
  Instruction instruction{Opcode::kIndex, Type{scalar, 1}};
  instruction.index = index;
  return make(std::move(instruction));
}

ValueId KernelBuilder::lane_numbers(Scalar scalar, int lanes) {
  const Type result{scalar, static_cast<uint8_t>(lanes)};
  return lanes == 1 ? integer(result, 0) : make(new_instruction(Opcode::kLanes, result));
}

Index KernelBuilder::as_index(ValueId value, int64_t min, int64_t max) {
  TANDEM_CHECK(type(value).lanes == 1 && is_integer(type(value).scalar),
               concat("an index is one integer, not ", text(type(value))));
  TANDEM_CHECK(min <= max, concat("an index between ", min, " and ", max));
  if (is_constant(value)) return instruction(value).integer;
  const Instruction& made = instruction(value);
  if (made.opcode == Opcode::kIndex && made.index.lower() >= min && made.index.upper() <= max) {
    const bool wraps = type(value).scalar == Scalar::kI32 && (min < INT32_MIN || max > INT32_MAX);
    if (!wraps) return made.index;
  }
  return Index::value(value, min, max);
}

bool KernelBuilder::is_constant(ValueId value) const { return instruction(value).opcode == Opcode::kConstant; }

bool KernelBuilder::is_number(ValueId value, double number) const {
  if (!is_constant(value)) return false;
  const Instruction& made = instruction(value);
  if (!is_float(made.type.scalar)) return static_cast<double>(made.integer) == number;
  return bit_cast<uint64_t>(made.number) == bit_cast<uint64_t>(number);
}

bool KernelBuilder::all_bits_set(ValueId value) const {
  return is_constant(value) && instruction(value).integer == (is_mask(type(value).scalar) ? 1 : -1);
}

ValueId KernelBuilder::fold(Opcode opcode, Type result, const ValueId* operands, int count) {
  Lanes lanes[3];
  for (int i = 0; i < count; i++) {
    if (!is_constant(operands[i])) return kNoValue;
    write_lane(lanes[i], instruction(operands[i]));
  }
  const Scalar operand = type(operands[opcode == Opcode::kSelect ? 1 : 0]).scalar;
  const LaneFunction function = lane_function(opcode, operand, result.scalar);
  if (function == nullptr) return kNoValue;  // make() names the mistake
  if (opcode == Opcode::kToIntExact &&
      !(operand == Scalar::kF32 ? is_exact_integer(lanes[0].f32[0]) : is_exact_integer(lanes[0].f64[0])))
    return kNoValue;
  Lanes out;
  function(out, lanes[0], lanes[1], lanes[2], 1);
  if (is_float(result.scalar)) {
    const double number = result.scalar == Scalar::kF32 ? static_cast<double>(out.f32[0]) : out.f64[0];
    // A constant NaN is the plain one: the sign and the payload of another can't be kept.
    const bool keeps_bits = opcode == Opcode::kBitcast || opcode == Opcode::kNeg;
    if (std::isnan(number) && keeps_bits) return kNoValue;
    return constant(result, number);
  }
  return integer(result, size_of(result.scalar) == 4 ? out.i32[0] : out.i64[0]);
}

ValueId KernelBuilder::splat(ValueId value, int lanes) {
  if (type(value).lanes == lanes) return value;
  const Type result = with_lanes(type(value), lanes);
  const Instruction& made = instruction(value);
  if (made.opcode == Opcode::kConstant)
    return is_float(result.scalar) ? constant(result, made.number) : integer(result, made.integer);
  return make(new_instruction(Opcode::kSplat, result, value));
}

ValueId KernelBuilder::extract(ValueId value, int lane) {
  const Type result = with_lanes(type(value), 1);
  const Instruction& made = instruction(value);
  TANDEM_CHECK(lane >= 0 && lane < made.type.lanes, concat("lane ", lane, " of ", text(made.type)));
  if (made.type.lanes == 1) return value;
  if (made.opcode == Opcode::kSplat) return made.operands[0];
  if (made.opcode == Opcode::kLanes) return integer(result, lane);
  if (made.opcode == Opcode::kInsert && made.integer == lane) return made.operands[1];
  if (made.opcode == Opcode::kInsert) return extract(made.operands[0], lane);
  if (made.opcode == Opcode::kConstant)
    return is_float(result.scalar) ? constant(result, made.number) : integer(result, made.integer);
  Instruction instruction = new_instruction(Opcode::kExtract, result, value);
  instruction.integer = lane;
  return make(std::move(instruction));
}

ValueId KernelBuilder::insert(ValueId vector, ValueId element, int lane) {
  if (type(vector).lanes == 1 && lane == 0) return element;
  Instruction instruction = new_instruction(Opcode::kInsert, type(vector), vector, element);
  instruction.integer = lane;
  return make(std::move(instruction));
}

ValueId KernelBuilder::half_of(Opcode opcode, ValueId value) {
  const Instruction& made = instruction(value);
  const Type result = with_lanes(made.type, made.type.lanes / 2);
  if (made.opcode == Opcode::kSplat) return splat(made.operands[0], result.lanes);
  if (made.opcode == Opcode::kConstant)
    return is_float(result.scalar) ? constant(result, made.number) : integer(result, made.integer);
  if (made.opcode == Opcode::kLanes && opcode == Opcode::kLow) return lane_numbers(result.scalar, result.lanes);
  return make(new_instruction(opcode, result, value));
}

ValueId KernelBuilder::low(ValueId value) { return half_of(Opcode::kLow, value); }
ValueId KernelBuilder::high(ValueId value) { return half_of(Opcode::kHigh, value); }

ValueId KernelBuilder::simplify_unary(Opcode opcode, ValueId a, Type result) const {
  const Instruction& made = instruction(a);
  const Opcode inner = made.opcode;
  const auto back = [&](bool undone) {
    return undone && type(made.operands[0]) == result ? made.operands[0] : kNoValue;
  };
  switch (opcode) {
    case Opcode::kNeg:
    case Opcode::kNot:
    case Opcode::kBitcast:
    case Opcode::kConvertMask:
      return back(inner == opcode);
    case Opcode::kWrap:
      return back(inner == Opcode::kExtend || inner == Opcode::kExtendU);
    case Opcode::kAbs:
      return inner == Opcode::kAbs && is_float(result.scalar) ? a : kNoValue;
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kTrunc:
    case Opcode::kNearest: {
      const bool whole =
          inner == Opcode::kFloor || inner == Opcode::kCeil || inner == Opcode::kTrunc || inner == Opcode::kNearest;
      return whole ? a : kNoValue;
    }
    default:
      return kNoValue;
  }
}

ValueId KernelBuilder::unary(Opcode opcode, ValueId a) {
  return convert(opcode, a, implied_result(opcode, type(a).scalar));
}

ValueId KernelBuilder::convert(Opcode opcode, ValueId a, Scalar result) {
  const Type result_type{result, type(a).lanes};
  TANDEM_CHECK(info(opcode).operands == 1 && info(opcode).pure,
               concat(name_of(opcode), " isn't an operation on a value"));
  const bool is_conversion =
      opcode == Opcode::kConvertMask || opcode == Opcode::kConvertFloat || opcode == Opcode::kBitcast;
  if (is_conversion && type(a).scalar == result) return a;
  const ValueId folded = fold(opcode, result_type, &a, 1);
  if (folded != kNoValue) return folded;
  const ValueId simple = simplify_unary(opcode, a, result_type);
  if (simple != kNoValue) return simple;
  return make(new_instruction(opcode, result_type, a));
}

void KernelBuilder::match_lanes(ValueId& a, ValueId& b) {
  if (type(a).lanes == 1) a = splat(a, type(b).lanes);
  if (type(b).lanes == 1) b = splat(b, type(a).lanes);
}

// Only what gives the same bits for every operand: x + 0 isn't x when x is -0, but x - 0 and x + -0 are.
ValueId KernelBuilder::simplify_float(Opcode opcode, ValueId a, ValueId b) const {
  switch (opcode) {
    case Opcode::kAdd:
      if (is_number(b, -0.0)) return a;
      return is_number(a, -0.0) ? b : kNoValue;
    case Opcode::kSub:
      return is_number(b, 0.0) ? a : kNoValue;
    case Opcode::kMul:
      if (is_number(b, 1.0)) return a;
      return is_number(a, 1.0) ? b : kNoValue;
    case Opcode::kDiv:
      return is_number(b, 1.0) ? a : kNoValue;
    case Opcode::kMin:
    case Opcode::kMax:
      return a == b ? a : kNoValue;
    default:
      return kNoValue;
  }
}

ValueId KernelBuilder::simplify_integer(Opcode opcode, ValueId a, ValueId b) {
  const bool zero_a = is_number(a, 0), zero_b = is_number(b, 0);
  switch (opcode) {
    case Opcode::kAdd:
      if (zero_b) return a;
      return zero_a ? b : kNoValue;
    case Opcode::kSub:
      return zero_b ? a : a == b ? integer(type(a), 0) : kNoValue;
    case Opcode::kMul:
      if (zero_a || zero_b) return zero_a ? a : b;
      if (is_number(b, 1)) return a;
      return is_number(a, 1) ? b : kNoValue;
    case Opcode::kDiv:
    case Opcode::kDivU:
      return is_number(b, 1) ? a : kNoValue;
    case Opcode::kMin:
    case Opcode::kMax:
    case Opcode::kMinU:
    case Opcode::kMaxU:
      return a == b ? a : kNoValue;
    case Opcode::kAnd:
      if (a == b || zero_a || all_bits_set(b)) return a;
      return zero_b || all_bits_set(a) ? b : kNoValue;
    case Opcode::kOr:
      if (a == b || zero_b || all_bits_set(a)) return a;
      return zero_a || all_bits_set(b) ? b : kNoValue;
    case Opcode::kXor:
      if (a == b) return integer(type(a), 0);
      if (zero_b) return a;
      return zero_a ? b : kNoValue;
    case Opcode::kShl:
    case Opcode::kShr:
    case Opcode::kShrU:
      return zero_b ? a : kNoValue;
    default:
      return kNoValue;
  }
}

ValueId KernelBuilder::simplify_binary(Opcode opcode, ValueId a, ValueId b) {
  const Type operand = type(a);
  if (is_float(operand.scalar)) return simplify_float(opcode, a, b);
  if (is_mask(operand.scalar) && opcode != Opcode::kAnd && opcode != Opcode::kOr && opcode != Opcode::kXor)
    return kNoValue;
  if (a == b && opcode >= Opcode::kEqual && opcode <= Opcode::kLessEqualU) {
    const bool always = opcode == Opcode::kEqual || opcode == Opcode::kLessEqual || opcode == Opcode::kLessEqualU;
    return integer(Type{mask_of(operand.scalar), operand.lanes}, always ? 1 : 0);
  }
  return simplify_integer(opcode, a, b);
}

ValueId KernelBuilder::binary(Opcode opcode, ValueId a, ValueId b) {
  TANDEM_CHECK(info(opcode).operands == 2 && info(opcode).pure && opcode != Opcode::kInsert,
               concat(name_of(opcode), " isn't an operation on two values"));
  match_lanes(a, b);
  const bool compares = opcode >= Opcode::kEqual && opcode <= Opcode::kLessEqualU;
  Type result = type(a);
  if (compares) result.scalar = mask_of(result.scalar);
  if (type(a) == type(b)) {
    const ValueId operands[2] = {a, b};
    const ValueId folded = fold(opcode, result, operands, 2);
    if (folded != kNoValue) return folded;
    const ValueId simple = simplify_binary(opcode, a, b);
    if (simple != kNoValue) return simple;
  }
  return make(new_instruction(opcode, result, a, b));
}

ValueId KernelBuilder::fma(ValueId a, ValueId b, ValueId c) {
  match_lanes(a, b);
  match_lanes(a, c);
  match_lanes(a, b);
  const ValueId operands[3] = {a, b, c};
  if (type(a) == type(b) && type(a) == type(c)) {
    const ValueId folded = fold(Opcode::kFma, type(a), operands, 3);
    if (folded != kNoValue) return folded;
  }
  return make(new_instruction(Opcode::kFma, type(a), a, b, c));
}

ValueId KernelBuilder::dot_bfloat16(ValueId a, ValueId b, ValueId c) {
  match_lanes(a, b);
  match_lanes(a, c);
  match_lanes(a, b);
  return make(new_instruction(Opcode::kDotBFloat16, type(c), a, b, c));
}

ValueId KernelBuilder::select(ValueId mask, ValueId a, ValueId b) {
  match_lanes(a, b);
  match_lanes(mask, a);
  match_lanes(a, b);
  if (a == b) return a;
  if (is_constant(mask)) return instruction(mask).integer != 0 ? a : b;
  mask = convert(Opcode::kConvertMask, mask, mask_of(type(a).scalar));
  return make(new_instruction(Opcode::kSelect, type(a), mask, a, b));
}

}  // namespace tandem
