// Reductions as kernel instructions. The order is the op table's: 16 partial results by index mod 16 of the innermost
// reduced axis, joined by halves. Either the 16 partial results are the lanes of one vector, or each is a vector over
// an output axis.

#include <array>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/schedule/access.h"
#include "core/schedule/loops.h"
#include "core/schedule/value_lowerer.h"

namespace tandem {
namespace {

constexpr int kPartialResults = 16;
/// What takes longer than this to compute hides how long one operation waits for the one before it.
constexpr int kShort = 8;

/// The dtype in which partial results are kept: truth values as numbers (masks aren't held in registers), halves
/// unrounded.
DType partial_dtype(DType dtype) {
  if (dtype == DType::kBool) return DType::kU8;
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

}  // namespace

ValueId ValueLowerer::reduce(NodeId id, const std::vector<Index>& index) {
  const Node& node = graph_.node(id);
  for (const Index& expression : index)
    if (varies(expression)) return reduce_per_lane(node, index, node.dtype);
  // The result is the same in every lane: the lanes are free for the reduced axis.
  const std::optional<Index> kept_place = std::exchange(kept_place_, std::nullopt);
  const ValueId result = without_lanes([&] { return reduce_along_lanes(node, index, node.dtype); });
  kept_place_ = kept_place;
  return result;
}

/// How far each reduced axis is read: to its end, or to the length where all that follows is neutral.
std::vector<Index> ValueLowerer::reduced_extents(const Node& node, const std::vector<Index>& index) {
  const NodeId operand = node.operands[0];
  const Shape& inner = graph_.node(operand).shape;
  std::vector<Index> extents(inner.begin() + static_cast<std::ptrdiff_t>(index.size()), inner.end());
  std::vector<Index> below = index;
  for (size_t axis = index.size(); axis < inner.size(); axis++)
    below.push_back(Index::loop(static_cast<uint32_t>(kFirstStandIn + axis), inner[axis]));
  for (size_t i = 0; i < extents.size(); i++) {
    const auto end = early_end(operand, below, below[index.size() + i], extents[i]);
    if (end && is_neutral_beyond(node, end->limit)) extents[i] = end->length;
  }
  return extents;
}

bool ValueLowerer::is_neutral_beyond(const Node& reduction, NodeId limit) const {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (reduction.op) {
    case Op::kReduceSum:
      return fills_with(graph_, graph_.node(limit), 0, 0);
    case Op::kReduceProd:
      return fills_with(graph_, graph_.node(limit), 1, 1);
    case Op::kReduceMax:
      return is_float(reduction.dtype) && fills_with(graph_, graph_.node(limit), -infinity, 0);
    default:
      return is_float(reduction.dtype) && fills_with(graph_, graph_.node(limit), infinity, 0);
  }
}

/// A sum began with -0, which changes nothing; where it left zeros out, these would have made it +0.
ValueId ValueLowerer::add_skipped_zeros(const Node& node, const std::vector<Index>& extents, ValueId value) {
  if (node.op != Op::kReduceSum || !is_float(node.dtype)) return value;
  const Shape& inner = graph_.node(node.operands[0]).shape;
  for (size_t i = 0; i < extents.size(); i++) {
    const Index& whole = inner[inner.size() - extents.size() + i];
    if (same(whole, extents[i])) continue;
    const Type type = builder_.type(value);
    const ValueId cut = builder_.binary(Opcode::kLess, builder_.index_value(Scalar::kI32, extents[i]),
                                        builder_.index_value(Scalar::kI32, whole));
    value = builder_.select(type.lanes > 1 ? builder_.splat(cut, type.lanes) : cut,
                            builder_.binary(Opcode::kAdd, value, builder_.constant(type, 0)), value);
  }
  return value;
}

/// From the form of partial results to a value of the node.
ValueId ValueLowerer::finish_reduction(const Node& node, ValueId value) {
  if (node.op == Op::kReduceSum && is_float(node.dtype)) {
    // -0 began the sum because it changes nothing; a sum of nothing is +0 all the same.
    const Shape& inner = graph_.node(node.operands[0]).shape;
    Index count = 1;
    for (size_t axis = node.shape.size(); axis < inner.size(); axis++) count *= inner[axis];
    if (count.lower() <= 0) {
      const Type type = builder_.type(value);
      const ValueId number = builder_.index_value(Scalar::kI32, min(count, 1));
      const ValueId empty = builder_.binary(Opcode::kEqual, number, builder_.integer({Scalar::kI32, 1}, 0));
      value = builder_.select(type.lanes > 1 ? builder_.splat(empty, type.lanes) : empty, builder_.constant(type, 0),
                              value);
    }
  }
  if (node.dtype == DType::kBool) return cast(value, DType::kU8, DType::kBool);
  return round_to(value, node.dtype);
}

/// Opens loops over all reduced axes but the innermost; gives the operand's subscript, whose last axis is yet to be
/// set.
std::vector<Index> ValueLowerer::open_outer_axes(const std::vector<Index>& index, const std::vector<Index>& extents) {
  std::vector<Index> below = index;
  for (size_t i = 0; i + 1 < extents.size(); i++) below.push_back(builder_.open_loop(0, extents[i]));
  below.emplace_back();
  return below;
}

void ValueLowerer::close_outer_axes(const std::vector<Index>& extents) {
  for (size_t i = 0; i + 1 < extents.size(); i++) builder_.close_loop();
}

/// How many vectors of partial results take turns, so that an operation need not wait for the one before it: one where
/// the order of the elements is fixed.
int ValueLowerer::partial_vectors(const Node& node, DType held, const Index& extent) const {
  constexpr int kIndependent = 8;  // Operations that a machine has under way at once.
  const bool any_order =
      numerics_ == Numerics::kFast || !is_float(held) || node.op == Op::kReduceMax || node.op == Op::kReduceMin;
  if (!any_order || !is_short(node.operands[0], kShort)) return 1;
  const int vectors = std::max(1, kIndependent * vector_lanes(held) / kPartialResults);
  return extent.upper() >= 2 * vectors * kPartialResults ? vectors : 1;
}

ValueId ValueLowerer::reduce_along_lanes(const Node& node, const std::vector<Index>& index, DType dtype) {
  const Op op = combining_op(node.op, dtype);
  const std::vector<Index> extents = reduced_extents(node, index);
  const Index& extent = extents.back();
  const bool keeps = std::exchange(fills_kept_, false) && extents.size() == 1;
  const DType held = partial_dtype(dtype);
  const bool is_extremum = node.op == Op::kReduceMax || node.op == Op::kReduceMin;
  const bool is_long = extent.upper() >= 2 * kPartialResults;
  if (capabilities_.wasm && is_extremum && held == DType::kF32 && is_long && is_short(node.operands[0], kShort))
    return extremum_by_bits(node, index, extents);
  bool kept = keeps;
  const auto to_held = [&](ValueId value) { return dtype == DType::kBool ? cast(value, DType::kBool, held) : value; };
  const ValueId start = builder_.splat(to_held(neutral(node.op, dtype)), kPartialResults);
  std::vector<ValueId> partial;
  for (int i = 0; i < partial_vectors(node, held, extent); i++) partial.push_back(builder_.variable(start));

  std::vector<Index> below = open_outer_axes(index, extents);
  const auto take = [&](const Index& first, std::optional<Index> count, ValueId sum) {
    below.back() = first + enter_vector(kPartialResults, count);
    if (keeps) kept_place_ = below.back();
    met_kept_ = false;
    if (!count && op == Op::kAdd && is_fused_product(node.operands[0])) {
      builder_.set(sum, add_product(node.operands[0], below, builder_.get(sum)));
    } else {
      ValueId value = to_held(lower(node.operands[0], below));
      if (builder_.type(value).lanes == 1) value = builder_.splat(value, kPartialResults);
      if (count) {
        const ValueId numbers = builder_.lane_numbers(Scalar::kI32, kPartialResults);
        const ValueId live = builder_.binary(Opcode::kLess, numbers, builder_.index_value(Scalar::kI32, *count));
        value = builder_.select(live, value, start);
      }
      builder_.set(sum, apply(op, held, builder_.get(sum), value));
    }
    kept = kept && met_kept_;
    kept_place_.reset();
    leave_vector();
  };
  const auto take_whole = [&](const Index& begin, size_t vectors) {
    const int64_t elements = static_cast<int64_t>(vectors) * kPartialResults;
    Index end = floor_div(extent, elements) * elements;
    if (less(begin, end) == Truth::kNever) return begin;
    const Index first = builder_.open_loop(begin, end, elements);
    for (size_t i = 0; i < vectors; i++)
      take(first + static_cast<int64_t>(i) * kPartialResults, std::nullopt, partial[i]);
    builder_.close_loop();
    return end;
  };
  Index whole = partial.size() > 1 ? take_whole(0, partial.size()) : Index(0);
  whole = take_whole(whole, 1);
  const Index rest = floor_mod(extent, kPartialResults);
  if (!rest.is(0)) {
    const bool rest_opened = open_if_positive(builder_, rest);
    take(whole, rest, partial[0]);
    if (rest_opened) builder_.close_if();
  }
  close_outer_axes(extents);
  if (kept) kept_end_ = extent;

  ValueId vector = builder_.get(partial[0]);
  for (size_t i = 1; i < partial.size(); i++) vector = apply(op, held, vector, builder_.get(partial[i]));
  while (builder_.type(vector).lanes > 1) vector = apply(op, held, builder_.low(vector), builder_.high(vector));
  return finish_reduction(node, add_skipped_zeros(node, extents, vector));
}

// WebAssembly's f32x4.max is eight machine instructions on x86, because NaN and the sign of zero count. Three
// comparisons of the bits as integers tell the same: floats with a clear sign are in the order of their bits, those
// with a set sign in the reverse one, and NaN lies beyond infinity on both sides. In any order of the elements.
ValueId ValueLowerer::extremum_by_bits(const Node& node, const std::vector<Index>& index,
                                       const std::vector<Index>& extents) {
  constexpr int64_t kInfinity = 0x7F800000, kMinusInfinity = -0x00800000, kNaN = 0x7FC00000;
  constexpr int kTurns = 4;
  constexpr std::array<Opcode, 3> kKept = {Opcode::kMax, Opcode::kMinU, Opcode::kMaxU};
  const bool greatest = node.op == Op::kReduceMax;
  const int lanes = vector_lanes(DType::kF32);
  const Index& extent = extents.back();
  const ValueId start =
      builder_.splat(builder_.integer({Scalar::kI32, 1}, greatest ? kMinusInfinity : kInfinity), lanes);
  std::array<std::array<ValueId, kKept.size()>, kTurns> turns{};
  for (auto& turn : turns)
    for (ValueId& kept : turn) kept = builder_.variable(start);

  std::vector<Index> below = open_outer_axes(index, extents);
  const auto take = [&](const Index& first, const std::optional<Index>& count, const auto& turn) {
    below.back() = first + enter_vector(lanes, count);
    ValueId value = lower(node.operands[0], below);
    if (builder_.type(value).lanes == 1) value = builder_.splat(value, lanes);
    value = builder_.convert(Opcode::kBitcast, value, Scalar::kI32);
    if (count) {
      const ValueId numbers = builder_.lane_numbers(Scalar::kI32, lanes);
      const ValueId live = builder_.binary(Opcode::kLess, numbers, builder_.index_value(Scalar::kI32, *count));
      value = builder_.select(live, value, start);
    }
    for (size_t i = 0; i < kKept.size(); i++)
      builder_.set(turn[i], builder_.binary(kKept[i], builder_.get(turn[i]), value));
    leave_vector();
  };
  const Index in_turns = floor_div(extent, kTurns * lanes) * (kTurns * lanes);
  Index first = builder_.open_loop(0, in_turns, kTurns * lanes);
  for (int turn = 0; turn < kTurns; turn++) take(first + turn * lanes, std::nullopt, turns[turn]);
  builder_.close_loop();
  const Index whole = floor_div(extent, lanes) * lanes;
  first = builder_.open_loop(in_turns, whole, lanes);
  take(first, std::nullopt, turns[0]);
  builder_.close_loop();
  const Index rest = extent - whole;
  if (!rest.is(0)) {
    const bool opened = open_if_positive(builder_, rest);
    take(whole, rest, turns[0]);
    if (opened) builder_.close_if();
  }
  close_outer_axes(extents);

  std::array<ValueId, kKept.size()> joined{};
  for (size_t i = 0; i < kKept.size(); i++) {
    joined[i] = builder_.get(turns[0][i]);
    for (int turn = 1; turn < kTurns; turn++)
      joined[i] = builder_.binary(kKept[i], joined[i], builder_.get(turns[turn][i]));
    while (builder_.type(joined[i]).lanes > 1)
      joined[i] = builder_.binary(kKept[i], builder_.low(joined[i]), builder_.high(joined[i]));
  }
  const auto [signed_greatest, unsigned_least, unsigned_greatest] = joined;
  const auto number = [&](int64_t value) { return builder_.integer({Scalar::kI32, 1}, value); };
  const ValueId value = greatest ? builder_.select(builder_.binary(Opcode::kLess, signed_greatest, number(0)),
                                                   unsigned_least, signed_greatest)
                                 : builder_.select(builder_.binary(Opcode::kLess, unsigned_greatest, number(0)),
                                                   unsigned_greatest, unsigned_least);
  const ValueId is_nan =
      builder_.binary(Opcode::kOr, builder_.binary(Opcode::kLess, number(kInfinity), signed_greatest),
                      builder_.binary(Opcode::kLessU, number(kMinusInfinity), unsigned_greatest));
  const ValueId result = builder_.select(is_nan, number(kNaN), value);
  return finish_reduction(node, builder_.convert(Opcode::kBitcast, result, Scalar::kF32));
}

ValueId ValueLowerer::join(Op op, DType dtype, std::vector<ValueId> partial) {
  for (size_t width = kPartialResults / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width && i + width < partial.size(); i++)
      partial[i] = apply(op, dtype, partial[i], partial[i + width]);
  return partial[0];
}

ValueId ValueLowerer::reduce_per_lane(const Node& node, const std::vector<Index>& index, DType dtype) {
  const Op op = combining_op(node.op, dtype);
  const std::vector<Index> extents = reduced_extents(node, index);
  const Index& extent = extents.back();
  const DType held = partial_dtype(dtype);
  const auto to_held = [&](ValueId value) { return dtype == DType::kBool ? cast(value, DType::kBool, held) : value; };
  const int partials = static_cast<int>(std::min<int64_t>(kPartialResults, std::max<int64_t>(extent.upper(), 1)));
  const ValueId start = builder_.splat(to_held(neutral(node.op, dtype)), lanes_);
  std::vector<ValueId> registers;
  for (int i = 0; i < partials; i++) registers.push_back(builder_.variable(start));

  std::vector<Index> below = open_outer_axes(index, extents);
  const auto take = [&](const Index& place, int i) {
    memo_.clear();
    below.back() = place;
    ValueId value = to_held(lower(node.operands[0], below));
    if (builder_.type(value).lanes == 1) value = builder_.splat(value, lanes_);
    builder_.set(registers[i], apply(op, held, builder_.get(registers[i]), value));
    memo_.clear();
  };
  const Index whole = floor_div(extent, kPartialResults) * kPartialResults;
  if (less(0, whole) != Truth::kNever) {
    const Index first = builder_.open_loop(0, whole, kPartialResults);
    for (int i = 0; i < partials; i++) take(first + i, i);
    builder_.close_loop();
  }
  for (int i = 0; i < partials && i < kPartialResults - 1; i++) {
    const Truth present = less(whole + i, extent);
    if (present == Truth::kNever) break;
    if (present == Truth::kUnknown) {
      const ValueId place = builder_.index_value(Scalar::kI32, whole + i);
      builder_.open_if(builder_.binary(Opcode::kLess, place, builder_.index_value(Scalar::kI32, extent)));
    }
    take(whole + i, i);
    if (present == Truth::kUnknown) builder_.close_if();
  }
  close_outer_axes(extents);
  memo_.clear();

  std::vector<ValueId> partial;
  for (ValueId register_id : registers) partial.push_back(builder_.get(register_id));
  ValueId result = join(op, held, std::move(partial));
  return finish_reduction(node, add_skipped_zeros(node, extents, result));
}

}  // namespace tandem
