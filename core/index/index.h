#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

struct IndexNode;

/// What an index expression is made of.
enum class IndexKind : uint8_t {
  kConstant,
  kVariable,  ///< A symbolic size of the model, by name, with bounds; its value is given at each execution.
  kLoop,      ///< A loop counter of a kernel, by number.
  kLane,      ///< The lane number inside a vector, 0 .. lanes - 1; only while a kernel is being lowered.
  kValue,     ///< An integer that the kernel loaded or computed, by its value number (a length, a gathered index).
  kSum,       ///< constant + sum of coefficient * term
  kProduct,   ///< Product of two or more non-constant factors.
  kFloorDiv,  ///< Division rounding down; the divisor is positive.
  kMod,       ///< Remainder of kFloorDiv: 0 .. divisor - 1.
  kMin,
  kMax,
};

/// Three-valued answer of a proof.
enum class Truth : uint8_t { kNever, kUnknown, kAlways };

/// An integer expression over symbolic sizes and loop counters: the one form for dimensions, subscripts and loop
/// bounds.
///
/// A value type: a shared pointer to an immutable node. Every operation simplifies as it builds (sums are kept in a
/// canonical linear form), and every node knows an interval [lower, upper] and a number that always divides it. All
/// arithmetic is exact in int64; the bounds saturate.
class Index {
 public:
  Index() : Index(0) {}
  Index(int64_t value);                                     // NOLINT: a number is an index expression
  Index(int value) : Index(static_cast<int64_t>(value)) {}  // NOLINT

  /// A symbolic size with inclusive bounds; its value is always a multiple of `multiple`.
  static Index variable(std::string name, int64_t min, int64_t max, int64_t multiple = 1);
  /// A loop counter running over [0, extent) in steps of `step`. Remembers the extent, so that `i < extent` is provable
  /// even for a symbolic extent.
  static Index loop(uint32_t id, const Index& extent, int64_t step = 1);
  /// A loop counter running over [begin, end), in steps of `step`.
  static Index loop_between(uint32_t id, const Index& begin, const Index& end, int64_t step = 1);
  /// The lane number of a vector of `lanes` elements.
  static Index lane(int64_t lanes);
  /// An integer held in a kernel value, known to lie in [min, max].
  static Index value(uint32_t id, int64_t min, int64_t max);

  IndexKind kind() const;
  bool is_constant() const { return kind() == IndexKind::kConstant; }
  /// The number of a constant; an internal error otherwise.
  int64_t constant() const;
  bool is(int64_t value) const { return is_constant() && constant() == value; }

  /// Smallest and largest value, inclusive.
  int64_t lower() const;
  int64_t upper() const;
  /// A positive number that divides every value of the expression (0 for the constant 0).
  int64_t multiple() const;
  /// A hash of the structure; equal expressions have equal hashes.
  uint64_t hash() const;

  /// Name of a kVariable; id of a kLoop or kValue.
  const std::string& name() const;
  uint32_t id() const;
  /// kSum: the constant part. kSum: the terms with their coefficients, in canonical order.
  int64_t offset() const;
  struct Term;
  const std::vector<Term>& terms() const;
  /// kLoop: the counter runs over [begin, end) in steps of `step`; an internal error otherwise.
  const Index& loop_begin() const;
  const Index& loop_end() const;
  int64_t loop_step() const;
  /// kLane: the number of lanes; an internal error otherwise.
  int64_t lanes() const;
  /// kProduct, kFloorDiv, kMod, kMin, kMax: the operands.
  const std::vector<Index>& operands() const;

  /// "4*i0 + t + 1": stable text for printing, keys and tests; `parse_index` (index_text.h) reads it back.
  std::string text() const;

  /// True when the leaf (a kVariable, kLoop, kLane or kValue) occurs.
  bool depends_on(const Index& leaf) const;
  /// The same expression with each leaf replaced by what `replacement` returns (nothing: keep the leaf).
  Index substitute(const std::function<std::optional<Index>(const Index& leaf)>& replacement) const;
  Index substitute(const Index& leaf, const Index& with) const;
  /// c when the expression is `c * leaf + rest` and neither c nor rest depends on the leaf; nothing if it isn't linear
  /// in it.
  std::optional<Index> coefficient(const Index& leaf) const;
  /// Calls `visit` on every distinct leaf.
  void for_each_leaf(const std::function<void(const Index& leaf)>& visit) const;
  /// The number for given leaf values. Division by a leaf value below 1 is an internal error.
  int64_t evaluate(const std::function<int64_t(const Index& leaf)>& value_of) const;

  /// Structural equality; after simplification this finds most equal expressions.
  friend bool operator==(const Index& a, const Index& b);
  friend bool operator!=(const Index& a, const Index& b) { return !(a == b); }

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b);
  friend Index operator*(const Index& a, const Index& b);
  Index& operator+=(const Index& other) { return *this = *this + other; }
  Index& operator*=(const Index& other) { return *this = *this * other; }

  const IndexNode& node() const { return *node_; }

 private:
  friend struct IndexBuilder;
  explicit Index(std::shared_ptr<const IndexNode> node) : node_(std::move(node)) {}
  std::shared_ptr<const IndexNode> node_;
};

struct Index::Term {
  Index factor;         ///< Never a constant and never a kSum.
  int64_t coefficient;  ///< Never 0.
};

/// A dimension of a tensor: a number, or an expression of symbolic variables.
using Dim = Index;
/// The dimensions of a tensor, outermost first.
using Shape = std::vector<Dim>;

/// Division rounding down; `b` must be provably positive.
Index floor_div(const Index& a, const Index& b);
/// a - b * floor_div(a, b).
Index floor_mod(const Index& a, const Index& b);
/// (a + b - 1) / b, rounding down.
Index ceil_div(const Index& a, const Index& b);
Index min(const Index& a, const Index& b);
Index max(const Index& a, const Index& b);

/// Is a < b for every value of the leaves? Uses the bounds of the difference, and the symbolic ends of loop counters.
Truth less(const Index& a, const Index& b);
/// Is a <= b for every value of the leaves?
Truth less_equal(const Index& a, const Index& b);
/// True when a - b is provably 0.
bool same(const Index& a, const Index& b);

/// "[1, 64, t]".
std::string text(const Shape& shape);
/// Product of all dimensions.
Index element_count(const Shape& shape);
/// Row-major strides in elements.
Shape dense_strides(const Shape& shape);
/// True when every dimension is a number.
bool is_constant(const Shape& shape);
/// The shape with every variable at its largest value.
std::vector<int64_t> maximum(const Shape& shape);
/// Equal rank, and every pair of dimensions provably equal.
bool same(const Shape& a, const Shape& b);

}  // namespace tandem
