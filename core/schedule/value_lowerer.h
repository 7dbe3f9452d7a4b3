#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"
#include "core/kernel/builder.h"
#include "core/kernel/capabilities.h"
#include "core/kernel/math.h"
#include "core/schedule/access.h"
#include "core/schedule/demand.h"

namespace tandem {

/// A strip holds a few rows of a tensor, those of one tile, while a kernel works on them.
struct Strip {
  size_t row_axis = 0;  ///< Axis of the tensor.
  Shape strides;        ///< In elements of the strip; 0 along the axes of which the tile has one place.
};

/// Where a node's elements lie: a slot of the plan, with strides in elements.
struct BufferRef {
  uint32_t slot = 0;
  DType dtype = DType::kF32;
  Shape strides;
  bool partial = false;  ///< Elements that nobody sees (find_demand) are not written and must not be read.
  /// The slot is local to a kernel and holds no more than a strip; `strides` are those that the whole tensor would
  /// have, for decisions about loops.
  std::optional<Strip> strip = std::nullopt;
};
using BufferTable = std::unordered_map<NodeId, BufferRef>;

/// Turns graph expressions into kernel instructions, element by element (or vector by vector), at a subscript that the
/// caller gives.
///
/// Nodes with a buffer are loaded, all others are computed on the spot. Values are held as the kernel IR holds their
/// dtype, except that f16 and bf16 are f32 (rounded after every op) and bool is a mask. A subscript may contain one
/// lane leaf: then the result has that many lanes, or one lane when it is the same for all.
class ValueLowerer {
 public:
  ValueLowerer(const Graph& graph, const BufferTable& buffers, const std::vector<int64_t>& slot_elements,
               KernelBuilder& builder, const Capabilities& capabilities, Numerics numerics);

  KernelBuilder& builder() { return builder_; }

  /// The number of elements of the limited axis of a `limit` node that exist at a subscript, 0 .. size; the subscript's
  /// axes of lengths must not depend on the lane.
  Index length_at(NodeId limit, const std::vector<Index>& index);
  /// Does the subscript lie before the length? kUnknown too when finding out needs counters that aren't in `open`.
  Truth known_inside(NodeId limit, const std::vector<Index>& index, const std::vector<Index>& open);
  /// Where the counter `leaf` of a limited axis reaches the length: the subscript's axis is the counter plus something,
  /// and the length depends on neither the counter, nor a stand-in for another one, nor the lane. May be negative or
  /// beyond the counter's end.
  std::optional<Index> end_of(NodeId limit, const std::vector<Index>& index, const Index& leaf);
  /// The same when `node` shows a `limit` (shows_limit).
  struct EarlyEnd {
    NodeId limit;
    Index length;  ///< The counter's end, at most `extent`.
  };
  std::optional<EarlyEnd> early_end(NodeId node, const std::vector<Index>& index, const Index& leaf,
                                    const Index& extent);

  /// Where a loop over an axis of this extent ends for the lane of the subscript: between 1 and the extent, when there
  /// is a first element at all. The subscript's axes that are lanes must be open.
  Index end_of_demand(const AxisDemand& demand, const std::vector<Index>& index, const Index& extent);
  /// The subscript at which what is below a `limit` is computed in place of `index`: inside the lane's length where
  /// elements beyond it may be missing. `open` as in known_inside().
  std::vector<Index> inside_limit(NodeId limit, const std::vector<Index>& index, const std::vector<Index>& open);

  /// Lanes of a whole vector of a dtype, as it is held in registers.
  int vector_lanes(DType dtype) const { return capabilities_.lanes(size_of(register_scalar(dtype))); }
  /// From now on subscripts may contain the leaf that is returned, the number of a lane; `count` limits the lanes that
  /// touch memory. A vector of one lane has no leaf: its number is 0.
  Index enter_vector(int lanes, std::optional<Index> count = std::nullopt);
  void leave_vector();

  /// The value of a node at a subscript.
  ValueId lower(NodeId node, const std::vector<Index>& index);
  /// An element (or a vector) of a buffer, in the form in which values are held.
  ValueId load(const BufferRef& source, const std::vector<Index>& index);
  /// Two neighbours of a buffer of 16-bit elements as one i32, the first, at an even place, in its low bits; one lane.
  ValueId load_pair(const BufferRef& source, const std::vector<Index>& index);
  /// Writes a value of the node's dtype to its place in the buffer. Lanes whose places are not consecutive are stored
  /// one by one.
  void store(const BufferRef& target, const std::vector<Index>& index, ValueId value);

  /// From now on a row of a tensor that lies in a strip is found there: for each row its place in the strip.
  void set_rows(std::vector<std::pair<Index, Index>> rows) { rows_ = std::move(rows); }

  /// The node's value is what the caller computed (an accumulator), for the subscript that is lowered now.
  void set_anchor(NodeId node, ValueId value);

  /// Computes a reduction now, where the open loops stand, for every later use at this subscript.
  void pin(NodeId reduction, const std::vector<Index>& index);
  bool has_pinned() const { return !pinned_.empty(); }
  bool is_pinned(NodeId node, const std::vector<Index>& index) const { return pinned_.count(Key{node, index}) > 0; }

  /// A value that a row's reduction computes on its way and that the row's elements need again. It waits where its
  /// element of the result will be stored.
  struct KeptValue {
    NodeId node;
    std::vector<Index> index;  ///< Subscript of the node, ...
    std::vector<Index> place;  ///< ... and of the result of the same dtype, `counter` being the place in the row.
    Index counter;
    BufferRef result;
  };
  /// From now on the first pinned reduction over a whole row that computes the value leaves it there; nothing: none.
  void keep(std::optional<KeptValue> kept);
  /// Is the value there for all places of the row before `end`?
  bool keeps_until(const Index& end) const { return kept_end_ && less_equal(end, *kept_end_) == Truth::kAlways; }
  /// What is lowered next belongs to this place in the row, for which the value is there; nothing: to no such place.
  void read_kept(std::optional<Index> place) { kept_place_ = std::move(place); }

  /// Does an element of a node take at most `most` simple instructions, given all buffers, reductions and values that
  /// several elements share?
  bool is_short(NodeId node, int most) const { return spend(node, element_count(graph_.node(node).shape), most); }

  /// Kernel buffer number of a slot, seen as elements of a dtype; made on first use, which says how the kernel touches
  /// it.
  uint32_t buffer_number(uint32_t slot, DType dtype, Access access);
  /// Slots of the kernel's buffers, in order.
  const std::vector<uint32_t>& slots() const { return slots_; }

  /// f32 (or the widened form) to the register form in which the dtype is stored, and the rounding of f16 and bf16
  /// values.
  ValueId to_storage(ValueId value, DType dtype);
  ValueId from_storage(ValueId loaded, DType dtype);
  ValueId round_to(ValueId value, DType dtype);
  /// `mask` ? a : b. Of two values that were loaded or rounded as f16 or bf16, the bits are chosen.
  ValueId choose(ValueId mask, ValueId a, ValueId b);
  /// A value of dtype `from` as one of dtype `to`, by the op table.
  ValueId cast(ValueId x, DType from, DType to);
  MathContext math() const { return {builder_, fused_, capabilities_.half_conversion}; }
  bool fused() const { return fused_; }
  Numerics numerics() const { return numerics_; }
  const Graph& graph() const { return graph_; }
  /// A number of the node's dtype as a one-lane value.
  ValueId scalar(DType dtype, double value, int64_t integer);
  /// x op y for two values of a dtype, by the op table.
  ValueId apply(Op op, DType dtype, ValueId x, ValueId y);
  /// The neutral element of a reduction, such that `op` with it changes no bit.
  ValueId neutral(Op reduce, DType dtype);

  /// Emits the loops of a reduction at a subscript of its result and returns the value.
  ValueId reduce(NodeId node, const std::vector<Index>& index);

 private:
  struct Key {
    NodeId node;
    std::vector<Index> index;
    friend bool operator==(const Key& a, const Key& b) { return a.node == b.node && a.index == b.index; }
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  bool spend(NodeId node, const Index& elements, int& left) const;
  ValueId compute(NodeId id, const Node& node, const std::vector<Index>& index);
  uint32_t buffer_number(const BufferRef& buffer, Access access);
  Index offset_in(const BufferRef& buffer, const std::vector<Index>& index) const;
  bool is_kept(NodeId id, const std::vector<Index>& index) const;
  ValueId kept_or_keep(const std::vector<Index>& index);
  uint32_t pair_buffer_number(uint32_t slot);
  ValueId load_backwards(uint32_t buffer, const Index& offset);
  ValueId load_lanes_apart(uint32_t buffer, const Index& offset);
  Index lane_at(const Index& expression, int lane) const;
  bool varies(const Index& expression) const { return lane_ && expression.depends_on(*lane_); }
  ValueId index_as_value(const Index& expression, Scalar scalar);
  /// expression >= bound, as a mask with one lane or all lanes; nothing when it is provable (then `known`).
  std::optional<ValueId> at_least(const Index& expression, const Index& bound, Truth& known);
  ValueId pad(const Node& node, const std::vector<Index>& index);
  ValueId reflect(const Node& node, const std::vector<Index>& index);
  ValueId concat_parts(const Node& node, const std::vector<Index>& index);
  ValueId gather(const Node& node, const std::vector<Index>& index);
  ValueId limit(NodeId id, const std::vector<Index>& index);
  ValueId limited(NodeId id, const std::vector<Index>& index);
  /// The node of the number that a `limit` gives at a subscript that certainly lies behind its length, when `node`
  /// shows one. The subscript may lie outside the tensor: it is wanted only where it doesn't.
  std::optional<NodeId> beyond_limit(NodeId node, std::vector<Index> index);
  Index length_of(NodeId lengths, const std::vector<Index>& at, const Index& size, int64_t least);
  bool reads_partial(NodeId id);
  bool has_open_lanes(const Node& limit, const std::vector<Index>& index, const std::vector<Index>& open) const;
  /// What `work` gives when it computes as if no vector had been entered.
  template <typename Work>
  auto without_lanes(const Work& work) {
    const std::optional<Index> lane = lane_;
    const std::optional<Index> count = count_;
    const int lanes = lanes_;
    auto memo = std::move(memo_);
    leave_vector();
    auto result = work();
    lane_ = lane;
    count_ = count;
    lanes_ = lanes;
    memo_ = std::move(memo);
    return result;
  }
  ValueId lane_by_lane(DType dtype, const std::function<ValueId(int lane, const Index& number)>& element);
  ValueId elementwise(const Node& node, const std::vector<Index>& index);
  bool is_fused_product(NodeId node) const;
  ValueId add_product(NodeId product, const std::vector<Index>& index, ValueId sum);
  ValueId unary(Op op, DType dtype, ValueId x);
  ValueId bitcast(ValueId x, DType from, DType to);
  ValueId narrow_mask(ValueId mask);
  ValueId compare(Op op, DType dtype, ValueId x, ValueId y);
  ValueId wrap_integer(ValueId x, DType dtype);
  ValueId integer_like(ValueId x, int64_t number);

  ValueId reduce_along_lanes(const Node& node, const std::vector<Index>& index, DType dtype);
  ValueId reduce_per_lane(const Node& node, const std::vector<Index>& index, DType dtype);
  ValueId extremum_by_bits(const Node& node, const std::vector<Index>& index, const std::vector<Index>& extents);
  ValueId finish_reduction(const Node& node, ValueId value);
  bool is_neutral_beyond(const Node& reduction, NodeId limit) const;
  std::vector<Index> reduced_extents(const Node& node, const std::vector<Index>& index);
  std::vector<Index> open_outer_axes(const std::vector<Index>& index, const std::vector<Index>& extents);
  void close_outer_axes(const std::vector<Index>& extents);
  int partial_vectors(const Node& node, DType held, const Index& extent) const;
  ValueId add_skipped_zeros(const Node& node, const std::vector<Index>& extents, ValueId value);
  ValueId join(Op op, DType dtype, std::vector<ValueId> partial);

  const Graph& graph_;
  const BufferTable& buffers_;
  const std::vector<int64_t>& slot_elements_;
  KernelBuilder& builder_;
  Capabilities capabilities_;
  Numerics numerics_;
  bool fused_;
  std::optional<Index> lane_;
  int lanes_ = 1;
  std::optional<Index> count_;
  std::vector<std::pair<Index, Index>> rows_;  // Of strips: subscript and place.
  NodeId anchor_ = kNoNode;
  ValueId anchor_value_ = kNoValue;
  std::vector<uint32_t> slots_;
  std::vector<bool> in_pairs_;  // By number: is it the slot seen as pairs of its elements?
  std::unordered_map<NodeId, bool> reads_partial_;
  /// What a value was before it was widened: f16 or bf16 bits. Storing these again costs nothing.
  struct Bits {
    ValueId bits;
    DType dtype;
  };
  std::optional<Bits> bits_of(ValueId value, DType dtype);
  std::unordered_map<ValueId, Bits> bits_;
  std::unordered_map<Key, ValueId, KeyHash> memo_;
  std::unordered_map<Key, ValueId, KeyHash> pinned_;
  std::optional<KeptValue> kept_;
  std::optional<Index> kept_end_;    // Places of the row before it hold the kept value.
  std::optional<Index> kept_place_;  // The place in the row that is lowered now.
  bool fills_kept_ = false;          // The next reduction may leave the value.
  bool met_kept_ = false;            // The value was left since this was last cleared.
};

/// Counters from here on stand for loops that aren't open yet.
inline constexpr uint32_t kFirstStandIn = 1u << 24;

/// The elementwise op that a reduction repeats.
Op combining_op(Op reduce, DType dtype);

}  // namespace tandem
