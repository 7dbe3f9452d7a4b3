#include "core/rewrite/scalar.h"

#include <cmath>
#include <limits>

#include "core/base/bits.h"
#include "core/base/half.h"
#include "core/graph/constant.h"

namespace tandem::rewriting {

namespace {

/// min and max of the op table: NaN wins, -0 is below +0.
template <typename T>
T extreme(bool largest, T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  if (x == y) return std::signbit(x) == largest ? y : x;
  return (x < y) == largest ? y : x;
}

/// Ties go to the even neighbour, whatever the rounding mode of the host.
template <typename T>
T round_even(T x) {
  const T whole = std::trunc(x);
  const T rest = std::fabs(x - whole);
  if (!(rest >= T{0.5}) || std::isinf(x)) return std::copysign(whole, x);
  const bool odd = std::fmod(whole, T{2}) != 0;
  return std::copysign(rest > T{0.5} || odd ? whole + std::copysign(T{1}, x) : whole, x);
}

template <typename T>
std::optional<T> float_result(Op op, T x, T y) {
  switch (op) {
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return std::fabs(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kTrunc:
      return std::trunc(x);
    case Op::kRound:
      return round_even(x);
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    case Op::kMin:
    case Op::kMax:
      return extreme(op == Op::kMax, x, y);
    default:
      return std::nullopt;
  }
}

template <typename T>
std::optional<bool> comparison(Op op, T x, T y) {
  switch (op) {
    case Op::kLess:
      return x < y;
    case Op::kLessEqual:
      return x <= y;
    case Op::kEqual:
      return x == y;
    case Op::kNotEqual:
      return x != y;
    default:
      return std::nullopt;
  }
}

/// Shifts of a value that fills its width; y >= bits and y < 0 shift everything out.
uint64_t shifted(Op op, DType dtype, uint64_t x, int64_t y) {
  const auto bits = static_cast<int64_t>(8 * size_of(dtype));
  const bool out = y < 0 || y >= bits;
  if (op == Op::kShl) return out ? 0 : x << y;
  if (is_unsigned(dtype)) return out ? 0 : x >> y;
  return static_cast<uint64_t>(static_cast<int64_t>(x) >> (out ? 63 : y));
}

/// Quotient towards zero; x / 0 == 0, smallest / -1 == smallest.
uint64_t quotient(DType dtype, uint64_t x, uint64_t y) {
  if (y == 0) return 0;
  if (is_unsigned(dtype)) return x / y;
  if (y == ~uint64_t{0}) return 0 - x;
  return static_cast<uint64_t>(static_cast<int64_t>(x) / static_cast<int64_t>(y));
}

bool below(DType dtype, uint64_t x, uint64_t y) {
  return is_unsigned(dtype) ? x < y : static_cast<int64_t>(x) < static_cast<int64_t>(y);
}

/// The operands are held sign-extended or zero-extended; the result is wrapped by make_integer_scalar.
std::optional<uint64_t> integer_result(Op op, DType dtype, uint64_t x, uint64_t y) {
  const bool is_bool = dtype == DType::kBool;
  switch (op) {
    case Op::kNeg:
      return 0 - x;
    case Op::kAbs:
      return !is_unsigned(dtype) && static_cast<int64_t>(x) < 0 ? 0 - x : x;
    case Op::kNot:
      return is_bool ? 1 - x : ~x;
    case Op::kAdd:
      return is_bool ? x | y : x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return quotient(dtype, x, y);
    case Op::kMod:
      return x - y * quotient(dtype, x, y);
    case Op::kMin:
      return below(dtype, y, x) ? y : x;
    case Op::kMax:
      return below(dtype, x, y) ? y : x;
    case Op::kAnd:
      return x & y;
    case Op::kOr:
      return x | y;
    case Op::kXor:
      return x ^ y;
    case Op::kShl:
    case Op::kShr:
      return shifted(op, dtype, x, static_cast<int64_t>(y));
    default:
      return std::nullopt;
  }
}

/// Float to integer: towards zero, saturating, NaN gives 0.
int64_t saturated(DType dtype, double x) {
  if (std::isnan(x)) return 0;
  if (dtype == DType::kBool) return x != 0 ? 1 : 0;
  const int bits = static_cast<int>(8 * size_of(dtype));
  const double end = std::ldexp(1.0, is_unsigned(dtype) ? bits : bits - 1);  // the first number that is too large
  const double whole = std::trunc(x);
  const uint64_t most = is_unsigned(dtype) ? ~uint64_t{0} >> (64 - bits) : (~uint64_t{0} >> (64 - bits)) >> 1;
  if (whole >= end) return static_cast<int64_t>(most);
  if (is_unsigned(dtype)) return whole <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(whole));
  return whole < -end ? static_cast<int64_t>(~most) : static_cast<int64_t>(whole);
}

/// Integer to float in one rounding: f16 and bf16 by way of f32, as every op on them.
double widened(DType to, DType from, int64_t x) {
  if (from == DType::kU64) {
    const auto number = static_cast<uint64_t>(x);
    return to == DType::kF64 ? static_cast<double>(number) : static_cast<double>(static_cast<float>(number));
  }
  return to == DType::kF64 ? static_cast<double>(x) : static_cast<double>(static_cast<float>(x));
}

NodeId cast_scalar(Graph& graph, DType to, const Node& x) {
  if (is_float(x.dtype) && is_float(to)) return make_scalar(graph, to, x.attributes.value);
  if (is_float(x.dtype)) {
    const bool nan_is_true = to == DType::kBool && std::isnan(x.attributes.value);
    return make_integer_scalar(graph, to, nan_is_true ? 1 : saturated(to, x.attributes.value));
  }
  if (is_float(to)) return make_scalar(graph, to, widened(to, x.dtype, x.attributes.integer));
  return make_integer_scalar(graph, to, x.attributes.integer);
}

std::optional<NodeId> float_scalar(Graph& graph, Op op, DType to, const Node& x, const Node& y) {
  const double a = x.attributes.value, b = y.attributes.value;
  if (const std::optional<bool> truth = comparison(op, a, b)) return make_integer_scalar(graph, to, *truth ? 1 : 0);
  if (to == DType::kF64) {
    const std::optional<double> result = float_result(op, a, b);
    return result ? std::optional(make_scalar(graph, to, *result)) : std::nullopt;
  }
  const std::optional<float> result = float_result(op, static_cast<float>(a), static_cast<float>(b));
  return result ? std::optional(make_scalar(graph, to, static_cast<double>(*result))) : std::nullopt;
}

std::optional<NodeId> integer_scalar(Graph& graph, Op op, DType to, const Node& x, const Node& y) {
  const auto a = static_cast<uint64_t>(x.attributes.integer), b = static_cast<uint64_t>(y.attributes.integer);
  const std::optional<bool> truth =
      is_unsigned(x.dtype) ? comparison(op, a, b) : comparison(op, static_cast<int64_t>(a), static_cast<int64_t>(b));
  if (truth) return make_integer_scalar(graph, to, *truth ? 1 : 0);
  const std::optional<uint64_t> result = integer_result(op, x.dtype, a, b);
  return result ? std::optional(make_integer_scalar(graph, to, static_cast<int64_t>(*result))) : std::nullopt;
}

}  // namespace

std::optional<NodeId> fold_scalars(Graph& graph, const Node& node) {
  const Node& x = graph.node(node.operands[0]);
  const Node& y = graph.node(node.operands.back());
  if (node.op == Op::kWhere) return node.operands[x.attributes.integer != 0 ? 1 : 2];
  if (node.op == Op::kBitcast) return std::nullopt;
  if (node.op == Op::kCast) return cast_scalar(graph, node.dtype, x);
  return is_float(x.dtype) ? float_scalar(graph, node.op, node.dtype, x, y)
                           : integer_scalar(graph, node.op, node.dtype, x, y);
}

}  // namespace tandem::rewriting
