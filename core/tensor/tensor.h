#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/dtype.h"
#include "core/graph/constant.h"
#include "core/graph/graph.h"
#include "core/index/index.h"

namespace tandem {

namespace tensor_detail {
template <typename>
inline constexpr bool never = false;
struct FreeConstant;
}  // namespace tensor_detail

/// A number that meets a tensor (`x * 0.5`, `1 - x`): it takes the tensor's dtype. For an integer tensor it must be
/// whole.
class Number {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  Number(T value)  // NOLINT: numbers are scalars
      : value_(static_cast<double>(value)),
        integer_(std::is_integral_v<T> ? static_cast<int64_t>(value) : 0),
        whole_(std::is_integral_v<T>) {}

  /// The scalar as a node of the dtype.
  NodeId make(Graph& graph, DType dtype) const;

 private:
  double value_;
  int64_t integer_;
  bool whole_;
};

/// From, to (exclusive) of one axis; or elements before, after.
using DimPair = std::pair<Dim, Dim>;

/// An end that means "to the end of the axis".
inline constexpr int64_t kEnd = INT64_MAX;

/// A tensor of a graph that is being built: what model code is written with.
///
/// A cheap value: a graph and a node number. Nothing is computed: every operation adds a node, infers its shape and
/// dtype, and throws TensorError with shapes and a way out when something does not fit. Axes may be negative (-1 is the
/// last). Binary operations broadcast as NumPy does; operands must have one dtype.
///
/// Tensors made from constants alone belong to no graph yet and join the graph of the first input that they meet. An
/// empty Tensor (default constructed) stands for "none" where an argument is optional.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Graph> graph, NodeId node) : graph_(std::move(graph)), node_(node) {}

  /// The buffer of a declared input; `strides` in elements, empty for dense.
  static Tensor input(std::shared_ptr<Graph> graph, int32_t number, std::string name, DType dtype, Shape shape,
                      std::vector<Dim> strides = {});
  /// Weights. Shared, never copied; using one does not change it.
  static Tensor constant(DType dtype, Shape shape, std::shared_ptr<const ConstantData> data);
  template <typename T>
  static Tensor constant(const Shape& shape, const std::vector<T>& elements, std::string name = {}) {
    static_assert(!std::is_same_v<T, bool>, "make a u8 constant and cast it to bool");
    const auto bytes = std::as_bytes(std::span<const T>(elements));
    return constant(dtype_of<T>, shape,
                    constant_data(dtype_of<T>, shape, {bytes.begin(), bytes.end()}, std::move(name)));
  }

  bool empty() const { return graph_ == nullptr && free_ == nullptr; }
  /// False for an empty Tensor and for a constant that has met no other tensor yet.
  bool is_in_graph() const { return graph_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  int rank() const { return static_cast<int>(shape().size()); }
  /// Size of an axis.
  const Dim& dim(int axis) const;
  /// The number of an axis that may be negative; TensorError when it does not exist.
  int axis(int axis) const;

  /// The node in `graph`; constants, and what is made of them alone, are copied into it.
  NodeId node_in(const std::shared_ptr<Graph>& graph) const;
  /// The graph; a constant that is in none yet gets a new one for each call.
  std::shared_ptr<Graph> graph() const;

  // A tensor has no values while its graph is built: these say so in words.
  template <typename T>
    requires std::is_arithmetic_v<T>
  explicit operator T() const {
    static_assert(
        tensor_detail::never<T>,
        "a Tensor has no values while the graph is built: use where(), or feed the value as an input or variable");
    return T();
  }
  template <typename T = float>
  T item() const {
    static_assert(tensor_detail::never<T>,
                  "a Tensor has no values while the graph is built: read output() after execute()");
    return T();
  }

  // Movement: no element is computed or copied.

  /// Same elements, row-major. One dimension may be -1: it takes what is left.
  Tensor reshape(Shape shape) const;
  /// Axis i of the result is axis order[i].
  Tensor permute(const std::vector<int>& order) const;
  Tensor transpose(int a, int b) const;
  /// Adds an axis of size 1 before `axis` (of the result).
  Tensor unsqueeze(int axis) const;
  /// Removes an axis of size 1.
  Tensor squeeze(int axis) const;
  /// Merges the axes first .. last into one.
  Tensor flatten(int first = 0, int last = -1) const;
  /// Repeats axes of size 1; missing leading axes are added.
  Tensor expand(const Shape& shape) const;
  /// {before, after} elements of `value` around each axis.
  Tensor pad(const std::vector<DimPair>& amounts, Number value = 0) const;
  /// {before, after} mirrored elements around each axis, the edge not repeated.
  Tensor reflect_pad(const std::vector<DimPair>& amounts) const;
  /// The elements begin .. end - 1 of each axis.
  Tensor shrink(const std::vector<DimPair>& ranges) const;
  /// x[begin : end : step] along one axis; negative numbers count from the end, kEnd is the end.
  Tensor slice(int axis, Dim begin, Dim end = kEnd, int64_t step = 1) const;
  Tensor flip(const std::vector<int>& axes) const;
  /// Sliding windows: `axis` becomes the window number, a new last axis the place in the window.
  Tensor window(int axis, const Dim& size, const Dim& step = 1, const Dim& dilation = 1) const;
  /// Cuts an axis into pieces of these sizes, which must add up.
  std::vector<Tensor> split(int axis, const std::vector<Dim>& sizes) const;
  /// Cuts an axis into `parts` equal pieces.
  std::vector<Tensor> chunk(int axis, int64_t parts) const;
  /// x[.., indices[..], ..]: the axes of `indices` take the place of `axis`. An index outside gives 0.
  Tensor gather(int axis, const Tensor& indices) const;

  /// An axis that ends early: element i of it is kept where i < lengths[..], else `fill`. The axes of `lengths` (i32 or
  /// i64) are the first ones of this tensor: lengths [b] limit the time axis of [b, t, c]. What lies beyond a length is
  /// not computed.
  Tensor limit(int axis, const Tensor& lengths, Number fill = 0) const;

  /// Conversion by the op table's rules (saturating, nearest even, wrapping); bitcast keeps the bytes.
  Tensor cast(DType dtype) const;
  Tensor bitcast(DType dtype) const;

  // Reductions over axes; none means all. `keepdims` leaves axes of size 1.

  Tensor sum(const std::vector<int>& axes = {}, bool keepdims = false) const;
  Tensor prod(const std::vector<int>& axes = {}, bool keepdims = false) const;
  Tensor max(const std::vector<int>& axes = {}, bool keepdims = false) const;
  Tensor min(const std::vector<int>& axes = {}, bool keepdims = false) const;
  Tensor mean(const std::vector<int>& axes = {}, bool keepdims = false) const;
  /// Mean squared distance from the mean, divided by n - correction.
  Tensor var(const std::vector<int>& axes = {}, bool keepdims = false, int64_t correction = 0) const;
  /// bool results; other dtypes count as x != 0.
  Tensor any(const std::vector<int>& axes = {}, bool keepdims = false) const;
  Tensor all(const std::vector<int>& axes = {}, bool keepdims = false) const;
  /// Index (i64) of the largest element, the first of equal ones; NaN counts as largest.
  Tensor argmax(int axis, bool keepdims = false) const;
  /// Running sum along an axis. Made for short axes: its work grows with the square of the size.
  Tensor cumsum(int axis) const;

 private:
  std::shared_ptr<Graph> graph_;
  NodeId node_ = kNoNode;
  std::shared_ptr<const tensor_detail::FreeConstant> free_;
};

/// Names the part of a model whose operations are written while it lives: `const Scope scope(x, "encoder.0");`. Scopes
/// nest, and convolutions, normalisations and the like open one of their own: printed graphs and profiles show
/// "encoder.0 / linear". They name operations in the graph of `x` (which must be more than a constant) and change
/// nothing else: equal kernels are shared whatever they are called.
class Scope {
 public:
  Scope(const Tensor& x, std::string name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::shared_ptr<Graph> graph_;
};

/// The same number everywhere.
Tensor full(const Shape& shape, Number value, DType dtype = DType::kF32);
Tensor zeros(const Shape& shape, DType dtype = DType::kF32);
/// 0, 1, ..., n - 1.
Tensor arange(const Dim& n, DType dtype = DType::kI64);
/// The value of a dimension as a tensor of shape [].
Tensor size_tensor(const Dim& dim, DType dtype = DType::kI64);

/// Operands one after the other along an axis.
Tensor concat(const std::vector<Tensor>& tensors, int axis);
/// Operands of one shape side by side along a new axis.
Tensor stack(const std::vector<Tensor>& tensors, int axis);
/// condition ? x : y, all three broadcast.
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
Tensor where(const Tensor& condition, const Tensor& x, Number y);
Tensor where(const Tensor& condition, Number x, const Tensor& y);
/// Rows of `table` [n, ...] by index: embedding look-up.
Tensor embedding(const Tensor& indices, const Tensor& table);

/// The elementwise operations of two operands; see ops.def for their meaning.
Tensor binary(Op op, const Tensor& x, const Tensor& y);
Tensor binary(Op op, const Tensor& x, Number y);
Tensor binary(Op op, Number x, const Tensor& y);
/// The elementwise operations of one operand.
Tensor unary(Op op, const Tensor& x);

#define TANDEM_BINARY(function, op)                                                     \
  inline Tensor function(const Tensor& x, const Tensor& y) { return binary(op, x, y); } \
  inline Tensor function(const Tensor& x, Number y) { return binary(op, x, y); }        \
  inline Tensor function(Number x, const Tensor& y) { return binary(op, x, y); }
TANDEM_BINARY(operator+, Op::kAdd)
TANDEM_BINARY(operator-, Op::kSub)
TANDEM_BINARY(operator*, Op::kMul)
TANDEM_BINARY(operator/, Op::kDiv)
TANDEM_BINARY(operator%, Op::kMod)
TANDEM_BINARY(pow, Op::kPow)
TANDEM_BINARY(minimum, Op::kMin)
TANDEM_BINARY(maximum, Op::kMax)
TANDEM_BINARY(bitwise_and, Op::kAnd)
TANDEM_BINARY(bitwise_or, Op::kOr)
TANDEM_BINARY(bitwise_xor, Op::kXor)
TANDEM_BINARY(shift_left, Op::kShl)
TANDEM_BINARY(shift_right, Op::kShr)
TANDEM_BINARY(less, Op::kLess)
TANDEM_BINARY(less_equal, Op::kLessEqual)
TANDEM_BINARY(equal, Op::kEqual)
TANDEM_BINARY(not_equal, Op::kNotEqual)
#undef TANDEM_BINARY
inline Tensor greater(const Tensor& x, const Tensor& y) { return less(y, x); }
inline Tensor greater(const Tensor& x, Number y) { return less(y, x); }
inline Tensor greater_equal(const Tensor& x, const Tensor& y) { return less_equal(y, x); }
inline Tensor greater_equal(const Tensor& x, Number y) { return less_equal(y, x); }

inline Tensor operator-(const Tensor& x) { return unary(Op::kNeg, x); }
inline Tensor abs(const Tensor& x) { return unary(Op::kAbs, x); }
inline Tensor sqrt(const Tensor& x) { return unary(Op::kSqrt, x); }
inline Tensor exp(const Tensor& x) { return unary(Op::kExp, x); }
inline Tensor log(const Tensor& x) { return unary(Op::kLog, x); }
inline Tensor sin(const Tensor& x) { return unary(Op::kSin, x); }
inline Tensor cos(const Tensor& x) { return unary(Op::kCos, x); }
inline Tensor tanh(const Tensor& x) { return unary(Op::kTanh, x); }
inline Tensor sigmoid(const Tensor& x) { return unary(Op::kSigmoid, x); }
inline Tensor erf(const Tensor& x) { return unary(Op::kErf, x); }
inline Tensor floor(const Tensor& x) { return unary(Op::kFloor, x); }
inline Tensor ceil(const Tensor& x) { return unary(Op::kCeil, x); }
inline Tensor trunc(const Tensor& x) { return unary(Op::kTrunc, x); }
inline Tensor round(const Tensor& x) { return unary(Op::kRound, x); }
inline Tensor logical_not(const Tensor& x) { return unary(Op::kNot, x); }

}  // namespace tandem
