// Elementwise ops as kernel instructions: the op table's meanings for every dtype.

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/schedule/value_lowerer.h"

namespace tandem {
namespace {

/// Bits of an integer dtype that is narrower than its register.
int narrow_bits(DType dtype) {
  return is_integer(dtype) && size_of(dtype) < 4 ? static_cast<int>(size_of(dtype)) * 8 : 0;
}

/// Unsigned dtypes whose values need the whole register: only there do signed and unsigned instructions differ.
bool needs_unsigned(DType dtype) { return dtype == DType::kU32 || dtype == DType::kU64; }

}  // namespace

ValueId ValueLowerer::integer_like(ValueId x, int64_t number) { return builder_.integer(builder_.type(x), number); }

ValueId ValueLowerer::scalar(DType dtype, double value, int64_t integer) {
  const Scalar scalar = register_scalar(dtype);
  if (dtype == DType::kBool) return builder_.integer({Scalar::kMask32, 1}, integer != 0);
  if (dtype == DType::kF16 || dtype == DType::kBF16)
    return round_to(builder_.constant({Scalar::kF32, 1}, value), dtype);
  if (is_float(scalar)) return builder_.constant({scalar, 1}, value);
  return builder_.integer({scalar, 1}, integer);
}

ValueId ValueLowerer::from_storage(ValueId loaded, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return builder_.binary(Opcode::kNotEqual, loaded, integer_like(loaded, 0));
    case DType::kF16:
    case DType::kBF16: {
      const ValueId value = dtype == DType::kF16 ? half_to_float(math(), loaded) : bfloat16_to_float(math(), loaded);
      bits_[value] = {loaded, dtype};
      return value;
    }
    default:
      return loaded;
  }
}

std::optional<ValueLowerer::Bits> ValueLowerer::bits_of(ValueId value, DType dtype) {
  const auto found = bits_.find(value);
  if (found != bits_.end() && found->second.dtype == dtype) return found->second;
  return std::nullopt;
}

ValueId ValueLowerer::choose(ValueId mask, ValueId a, ValueId b) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const auto narrow = [&](ValueId value) -> std::optional<Bits> {
      if (const auto known = bits_of(value, dtype)) return known;
      // A number such as the 0 of a padding is folded.
      if (!builder_.is_constant(value) || builder_.type(value).scalar != Scalar::kF32) return std::nullopt;
      const ValueId bits = to_storage(value, dtype);
      if (from_storage(bits, dtype) != value) return std::nullopt;
      return Bits{bits, dtype};
    };
    if (!bits_of(a, dtype) && !bits_of(b, dtype)) continue;
    const auto left = narrow(a), right = narrow(b);
    if (left && right) return from_storage(builder_.select(mask, left->bits, right->bits), dtype);
  }
  return builder_.select(mask, a, b);
}

ValueId ValueLowerer::to_storage(ValueId value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return cast(value, DType::kBool, DType::kU8);
    case DType::kF16:
    case DType::kBF16:
      if (const auto known = bits_of(value, dtype)) return known->bits;
      return dtype == DType::kF16 ? float_to_half(math(), value) : float_to_bfloat16(math(), value);
    default:
      return value;
  }
}

ValueId ValueLowerer::round_to(ValueId value, DType dtype) {
  if (dtype != DType::kF16 && dtype != DType::kBF16) return value;
  return from_storage(to_storage(value, dtype), dtype);
}

ValueId ValueLowerer::wrap_integer(ValueId x, DType dtype) {
  const int bits = narrow_bits(dtype);
  if (bits == 0) return x;
  if (is_unsigned(dtype)) return builder_.binary(Opcode::kAnd, x, integer_like(x, (int64_t{1} << bits) - 1));
  const ValueId shift = integer_like(x, 32 - bits);
  return builder_.binary(Opcode::kShr, builder_.binary(Opcode::kShl, x, shift), shift);
}

/// Is the node a product that is computed here and may become one instruction with the addition of it?
bool ValueLowerer::is_fused_product(NodeId id) const {
  const Node& node = graph_.node(id);
  const bool wide = node.dtype == DType::kF32 || node.dtype == DType::kF64;
  return fused_ && wide && node.op == Op::kMul && id != anchor_ && buffers_.count(id) == 0 &&
         !(kept_ && kept_->node == id);
}

ValueId ValueLowerer::add_product(NodeId product, const std::vector<Index>& index, ValueId sum) {
  const Node& node = graph_.node(product);
  std::array<ValueId, 3> values = {lower(node.operands[0], index), lower(node.operands[1], index), sum};
  int lanes = 1;
  for (const ValueId value : values) lanes = std::max<int>(lanes, builder_.type(value).lanes);
  for (ValueId& value : values)
    if (builder_.type(value).lanes != lanes) value = builder_.splat(value, lanes);
  return multiply_add(math(), values[0], values[1], values[2]);
}

ValueId ValueLowerer::elementwise(const Node& node, const std::vector<Index>& index) {
  const DType dtype = node.dtype;
  if (node.op == Op::kAdd)
    for (int i = 0; i < 2; i++)
      if (is_fused_product(node.operands[i]))
        return add_product(node.operands[i], index, lower(node.operands[1 - i], index));
  const Node& first = graph_.node(node.operands[0]);
  const ValueId x = lower(node.operands[0], index);
  if (node.op == Op::kCast) return cast(x, first.dtype, dtype);
  if (node.op == Op::kBitcast) return bitcast(x, first.dtype, dtype);
  if (node.op == Op::kWhere) {
    const ValueId y = lower(node.operands[1], index);
    const ValueId z = lower(node.operands[2], index);
    if (dtype == DType::kBool)  // Masks select by logic.
      return builder_.binary(Opcode::kOr, builder_.binary(Opcode::kAnd, x, y),
                             builder_.binary(Opcode::kAnd, builder_.unary(Opcode::kNot, x), z));
    return choose(x, y, z);
  }
  if (info(node.op).op_class == OpClass::kUnary) return unary(node.op, dtype, x);
  const ValueId y = lower(node.operands[1], index);
  if (info(node.op).type_rule == TypeRule::kCompare) return compare(node.op, first.dtype, x, y);
  return apply(node.op, dtype, x, y);
}

ValueId ValueLowerer::unary(Op op, DType dtype, ValueId x) {
  const auto plain = [&](Opcode opcode) { return wrap_integer(builder_.unary(opcode, x), dtype); };
  switch (op) {
    case Op::kNeg:
      return plain(Opcode::kNeg);
    case Op::kAbs:
      return is_unsigned(dtype) ? x : plain(Opcode::kAbs);
    case Op::kNot:
      return plain(Opcode::kNot);
    case Op::kFloor:
      return builder_.unary(Opcode::kFloor, x);
    case Op::kCeil:
      return builder_.unary(Opcode::kCeil, x);
    case Op::kTrunc:
      return builder_.unary(Opcode::kTrunc, x);
    case Op::kRound:
      return builder_.unary(Opcode::kNearest, x);
    case Op::kSqrt:
      return round_to(builder_.unary(Opcode::kSqrt, x), dtype);
    case Op::kExp:
      return round_to(exponential(math(), x), dtype);
    case Op::kLog:
      return round_to(logarithm(math(), x), dtype);
    case Op::kSin:
      return round_to(sine(math(), x), dtype);
    case Op::kCos:
      return round_to(cosine(math(), x), dtype);
    case Op::kTanh:
      return round_to(hyperbolic_tangent(math(), x), dtype);
    case Op::kSigmoid:
      return round_to(tandem::sigmoid(math(), x), dtype);
    case Op::kErf:
      return round_to(error_function(math(), x), dtype);
    default:
      break;
  }
  throw InternalError(concat("no lowering for ", name_of(op)));
}

ValueId ValueLowerer::apply(Op op, DType dtype, ValueId x, ValueId y) {
  const bool whole_unsigned = needs_unsigned(dtype);
  const auto plain = [&](Opcode opcode) {
    const ValueId result = builder_.binary(opcode, x, y);
    return is_float(dtype) ? round_to(result, dtype) : wrap_integer(result, dtype);
  };
  if (dtype == DType::kBool) {
    // Arithmetic on truth values: or, and; differences and orders by their bits.
    switch (op) {
      case Op::kAdd:
      case Op::kMax:
      case Op::kOr:
        return builder_.binary(Opcode::kOr, x, y);
      case Op::kMul:
      case Op::kMin:
      case Op::kAnd:
        return builder_.binary(Opcode::kAnd, x, y);
      case Op::kSub:
      case Op::kXor:
        return builder_.binary(Opcode::kXor, x, y);
      default: {
        const ValueId a = cast(x, DType::kBool, DType::kU8), b = cast(y, DType::kBool, DType::kU8);
        return cast(apply(op, DType::kU8, a, b), DType::kU8, DType::kBool);
      }
    }
  }
  switch (op) {
    case Op::kAdd:
      return plain(Opcode::kAdd);
    case Op::kSub:
      return plain(Opcode::kSub);
    case Op::kMul:
      return plain(Opcode::kMul);
    case Op::kDiv:
      return plain(whole_unsigned ? Opcode::kDivU : Opcode::kDiv);
    case Op::kMod:
      return plain(whole_unsigned ? Opcode::kRemU : Opcode::kRem);
    case Op::kMin:
      return plain(whole_unsigned ? Opcode::kMinU : Opcode::kMin);
    case Op::kMax:
      return plain(whole_unsigned ? Opcode::kMaxU : Opcode::kMax);
    case Op::kAnd:
      return plain(Opcode::kAnd);
    case Op::kOr:
      return plain(Opcode::kOr);
    case Op::kXor:
      return plain(Opcode::kXor);
    case Op::kShl:
      return plain(Opcode::kShl);
    case Op::kShr:
      return plain(is_unsigned(dtype) ? Opcode::kShrU : Opcode::kShr);
    case Op::kPow:
      return round_to(power(math(), x, y), dtype);
    default:
      break;
  }
  throw InternalError(concat("no lowering for ", name_of(op)));
}

/// Truth values are 32 bits wide whatever was compared: logic combines them freely, and selects widen them.
ValueId ValueLowerer::narrow_mask(ValueId mask) {
  return builder_.type(mask).scalar == Scalar::kMask64 ? builder_.convert(Opcode::kConvertMask, mask, Scalar::kMask32)
                                                       : mask;
}

ValueId ValueLowerer::compare(Op op, DType dtype, ValueId x, ValueId y) {
  if (dtype == DType::kBool) {
    const ValueId a = cast(x, DType::kBool, DType::kU8), b = cast(y, DType::kBool, DType::kU8);
    return compare(op, DType::kU8, a, b);
  }
  const bool whole_unsigned = needs_unsigned(dtype);
  switch (op) {
    case Op::kLess:
      return narrow_mask(builder_.binary(whole_unsigned ? Opcode::kLessU : Opcode::kLess, x, y));
    case Op::kLessEqual:
      return narrow_mask(builder_.binary(whole_unsigned ? Opcode::kLessEqualU : Opcode::kLessEqual, x, y));
    case Op::kEqual:
      return narrow_mask(builder_.binary(Opcode::kEqual, x, y));
    case Op::kNotEqual:
      return narrow_mask(builder_.binary(Opcode::kNotEqual, x, y));
    default:
      break;
  }
  throw InternalError(concat("no lowering for ", name_of(op)));
}

ValueId ValueLowerer::cast(ValueId x, DType from, DType to) {
  if (from == to) return x;
  const Scalar source = builder_.type(x).scalar;
  const Scalar target = to == DType::kBool ? Scalar::kMask32 : register_scalar(to);
  const uint8_t lanes = builder_.type(x).lanes;
  if (to == DType::kBool) {
    const ValueId zero =
        is_float(source) ? builder_.constant({source, lanes}, 0) : builder_.integer({source, lanes}, 0);
    return narrow_mask(builder_.binary(Opcode::kNotEqual, x, zero));
  }
  if (from == DType::kBool) {
    if (is_float(to)) {
      const Scalar held = to == DType::kF64 ? Scalar::kF64 : Scalar::kF32;
      return builder_.select(x, builder_.constant({held, lanes}, 1), builder_.constant({held, lanes}, 0));
    }
    return builder_.select(x, builder_.integer({target, lanes}, 1), builder_.integer({target, lanes}, 0));
  }
  if (is_float(from) && is_float(to)) {
    const Scalar held = to == DType::kF64 ? Scalar::kF64 : Scalar::kF32;
    return round_to(held == source ? x : builder_.convert(Opcode::kConvertFloat, x, held), to);
  }
  if (is_float(from)) {
    if (needs_unsigned(to)) return builder_.convert(Opcode::kToIntU, x, target);
    const ValueId whole = builder_.convert(Opcode::kToInt, x, target);
    const int bits = narrow_bits(to);
    if (bits == 0) return whole;
    const int64_t low = is_unsigned(to) ? 0 : -(int64_t{1} << (bits - 1));
    const int64_t high = (int64_t{1} << (is_unsigned(to) ? bits : bits - 1)) - 1;
    return builder_.binary(Opcode::kMax, builder_.binary(Opcode::kMin, whole, integer_like(whole, high)),
                           integer_like(whole, low));
  }
  if (is_float(to)) {
    const Scalar held = to == DType::kF64 ? Scalar::kF64 : Scalar::kF32;
    return round_to(builder_.convert(needs_unsigned(from) ? Opcode::kToFloatU : Opcode::kToFloat, x, held), to);
  }
  if (source == Scalar::kI64 && target == Scalar::kI32)
    return wrap_integer(builder_.convert(Opcode::kWrap, x, target), to);
  if (source == Scalar::kI32 && target == Scalar::kI64)
    return builder_.convert(from == DType::kU32 ? Opcode::kExtendU : Opcode::kExtend, x, target);
  return wrap_integer(x, to);
}

ValueId ValueLowerer::bitcast(ValueId x, DType from, DType to) {
  if (from == to) return x;
  ValueId bits = to_storage(x, from);  // f16 and bf16 give their raw bits.
  const Scalar held = builder_.type(bits).scalar;
  if (held == Scalar::kF32) bits = builder_.convert(Opcode::kBitcast, bits, Scalar::kI32);
  if (held == Scalar::kF64) bits = builder_.convert(Opcode::kBitcast, bits, Scalar::kI64);
  if (to == DType::kF32) return builder_.convert(Opcode::kBitcast, bits, Scalar::kF32);
  if (to == DType::kF64) return builder_.convert(Opcode::kBitcast, bits, Scalar::kF64);
  if (to == DType::kF16 || to == DType::kBF16 || to == DType::kBool)
    return from_storage(wrap_integer(bits, size_of(to) == 2 ? DType::kU16 : DType::kU8), to);
  return wrap_integer(bits, to);
}

Op combining_op(Op reduce, DType dtype) {
  // Truth values are reduced as the numbers 0 and 1, where "or" is the larger and "and" the smaller one.
  if (dtype == DType::kBool) return reduce == Op::kReduceSum || reduce == Op::kReduceMax ? Op::kMax : Op::kMin;
  switch (reduce) {
    case Op::kReduceProd:
      return Op::kMul;
    case Op::kReduceMax:
      return Op::kMax;
    case Op::kReduceMin:
      return Op::kMin;
    default:
      return Op::kAdd;
  }
}

ValueId ValueLowerer::neutral(Op reduce, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_float(dtype)) {
    // -0 and not +0 is what a sum can take without changing any number.
    const double value = reduce == Op::kReduceSum    ? -0.0
                         : reduce == Op::kReduceProd ? 1.0
                         : reduce == Op::kReduceMax  ? -infinity
                                                     : infinity;
    return scalar(dtype, value, 0);
  }
  if (dtype == DType::kBool) return scalar(dtype, 0, reduce == Op::kReduceProd || reduce == Op::kReduceMin);
  if (reduce == Op::kReduceSum) return scalar(dtype, 0, 0);
  if (reduce == Op::kReduceProd) return scalar(dtype, 0, 1);
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const bool largest = reduce == Op::kReduceMin;
  if (is_unsigned(dtype)) return scalar(dtype, 0, !largest ? 0 : bits >= 32 ? -1 : (int64_t{1} << bits) - 1);
  const int64_t smallest = bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
  return scalar(dtype, 0, largest ? -(smallest + 1) : smallest);
}

}  // namespace tandem
