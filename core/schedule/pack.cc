#include "core/schedule/pack.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/graph/movement_index.h"
#include "core/schedule/loops.h"
#include "core/schedule/storage.h"

namespace tandem {

std::vector<Index> PackedOperand::index(const std::vector<Index>& space_index, const Index& panel,
                                        const Index& column) const {
  std::vector<Index> result;
  for (size_t i = 0; i < outer; i++) result.push_back(space_index[axes[i]]);
  result.push_back(panel * panels + floor_div(column, width));
  for (size_t i = outer; i < axes.size(); i++) result.push_back(space_index[axes[i]]);
  result.push_back(floor_mod(column, width));
  return result;
}

namespace {

/// Elements that are read one after the other before the next column has its turn: a cache line of f32.
constexpr int64_t kBlock = 16;
/// The same of a constant from beyond the caches, whose columns are read a vector of them at a time: the lines of all
/// of them are on their way at once. A block of the copy stays in the first-level cache until all columns have been
/// there.
constexpr int64_t kFarBlock = 64;
/// What is read from beyond the caches comes faster in several streams.
constexpr int kStreams = 4;

/// How many panels a tile reads: each is a stream of its own. With several rows the arithmetic takes longer than that.
int panels_of(const ContractOperand& operand, const Tile& tile, int64_t bytes) {
  const bool streams = operand.constant && tile.rows == 1 && tile.vectors % kStreams == 0 && bytes >= kFarBytes;
  return streams ? kStreams : 1;
}

/// A constant of up to so many bytes stays in the second-level cache from step to step.
constexpr int64_t kCachedBytes = 1 << 18;

/// What a constant operand of so many elements is kept as: as small as it is stored, which is what its model chose. But
/// nobody stores weights for sums of f64, and to widen a vector takes as long as one or two products: what stays in the
/// cache is widened once.
DType packed_dtype(const Graph& graph, NodeId operand, int64_t elements) {
  const bool cached = elements * static_cast<int64_t>(sizeof(double)) <= kCachedBytes;
  return graph.node(operand).dtype == DType::kF64 && cached ? DType::kF64 : storage_dtype(graph, operand);
}

/// Emits the loops that fill a packed copy.
class Packer {
 public:
  Packer(ProgramBuilder& program, const Group& group, const ContractOperand& operand, const PackedOperand& packed,
         const Shape& shape, const Shape& space, size_t vector_axis, int lanes)
      : program_(program),
        group_(group),
        operand_(operand),
        packed_(packed),
        shape_(shape),
        space_(space),
        vector_axis_(vector_axis),
        lanes_(lanes),
        kernel_(program),
        at_(shape.size(), 0) {}

  void run(const std::string& origin) {
    const size_t columns = shape_.size() - 1;
    const std::optional<size_t> runs = axis_to_transpose();
    size_t opened = 0, guards = 0;
    for (size_t axis = 0; axis < columns; axis++) {
      if (runs == axis) continue;
      at_[axis] = axis == 0 ? builder_.open_range(shape_[axis]) : builder_.open_loop(0, shape_[axis]);
      opened += axis > 0;
    }
    for (const size_t axis : packed_.axes)
      if (ends_early(axis)) guards += open_if_positive(builder_, end_of(axis) - space_index(0)[axis]);
    const Index first_column = at_[packed_.outer] * packed_.width;
    live_ = max(min(end_of(vector_axis_) - first_column, packed_.width), 0);
    if (ends_early(vector_axis_)) guards += open_if_positive(builder_, live_);
    zero_ = lowerer_.scalar(packed_.buffer.dtype, 0, 0);
    if (runs)
      transpose(*runs);
    else
      copy_rows();
    while (guards-- > 0) builder_.close_if();
    while (opened-- > 0) builder_.close_loop();
    std::string name = "pack";
    for (const Dim& dim : shape_) name += concat("_", dim.upper());
    // Elements without the padding of the last panel.
    Index elements = space_[vector_axis_];
    for (const size_t axis : packed_.axes) elements *= space_[axis];
    const int64_t bytes = static_cast<int64_t>(size_of(packed_.dtype) + size_of(packed_.buffer.dtype));
    program_.add_call(operand_.constant ? Phase::kPrepare : Phase::kStep, builder_.finish(std::move(name)),
                      lowerer_.slots(), origin, {0, elements * bytes});
  }

 private:
  /// Does the axis end at lengths that this copy distinguishes? What is packed at prepare is there for all of them.
  bool ends_early(size_t axis) const {
    if (operand_.constant || group_.demand_of(axis).empty()) return false;
    for (size_t lane = 0; lane < space_.size(); lane++)
      if (is_lane(group_.demand_of(axis), lane) && !packed_.has(lane) && !space_[lane].is(1)) return false;
    return true;
  }
  /// How far the contraction reads an axis; the axes that are lanes are open.
  Index end_of(size_t axis) {
    return ends_early(axis) ? lowerer_.end_of_demand(group_.demand_of(axis), space_index(0), space_[axis])
                            : space_[axis];
  }

  /// The axis of the copy along which a constant lies consecutively, when columns don't. What is gathered lane by lane
  /// once, at prepare, takes longer to compile than to run: plain loops serve it better.
  std::optional<size_t> axis_to_transpose() const {
    if (!operand_.constant || operand_.step[vector_axis_] == 1) return std::nullopt;
    for (size_t i = packed_.outer; i < packed_.axes.size(); i++)
      if (operand_.step[packed_.axes[i]] == 1) return i + 1;
    return std::nullopt;
  }

  /// Reads pieces along the axis, column after column, so that each cache line of the operand is read once.
  void transpose(size_t axis) {
    const Index& extent = shape_[axis];
    const bool far = maximum_elements(shape_) * static_cast<int64_t>(size_of(packed_.buffer.dtype)) >= kFarBytes;
    const int64_t length = far ? kFarBlock : kBlock;
    const bool whole = extent.is_constant() && extent.constant() % length == 0;
    const Index block = builder_.open_loop(0, extent, length);
    const auto piece = [&](const Index& begin, const Index& end, int lanes, bool empty) {
      if (same(begin, end)) return;
      const Index column = builder_.open_loop(begin, end, lanes);
      const Index element = builder_.open_loop(0, whole ? Index(length) : min(extent - block, length));
      at_[axis] = block + element;
      write(column, lanes, std::nullopt, empty);
      builder_.close_loop();
      builder_.close_loop();
    };
    const Index vectors_end = far ? floor_div(live_, lanes_) * lanes_ : Index(0);
    piece(0, vectors_end, lanes_, false);
    piece(vectors_end, live_, 1, false);
    piece(live_, packed_.width, 1, true);
    builder_.close_loop();
  }

  /// Whole vectors, then the one that the end of the columns cuts, then zeros. Where columns don't lie side by side,
  /// each lane of a vector has a subscript of its own: what is left of them takes column after column over the zeros,
  /// in a tenth of the code.
  void copy_rows() {
    const bool gathers = operand_.step[vector_axis_] != 1;
    const int lanes = operand_.constant && gathers ? 1 : lanes_;
    const Index whole = floor_div(live_, lanes) * lanes;
    copy_columns(0, whole, lanes, false);
    if (gathers) {
      copy_columns(whole, packed_.width, lanes, true);
      copy_columns(whole, live_, 1, false);
      return;
    }
    if (!same(whole, live_)) {
      const Index rest = live_ - whole;
      const bool opened = open_if_positive(builder_, rest);
      write(whole, lanes, rest, false);
      if (opened) builder_.close_if();
    }
    copy_columns(ceil_div(live_, lanes) * lanes, packed_.width, lanes, true);
  }

  void copy_columns(const Index& begin, const Index& end, int lanes, bool empty) {
    if (same(begin, end)) return;
    const Index first = builder_.open_loop(begin, end, lanes);
    write(first, lanes, std::nullopt, empty);
    builder_.close_loop();
  }

  /// `member`: which one of a pair.
  std::vector<Index> space_index(const Index& column, int member = 0) const {
    std::vector<Index> index(space_.size(), 0);
    for (size_t i = 0; i < packed_.axes.size(); i++) index[packed_.axes[i]] = at_[i < packed_.outer ? i : i + 1];
    if (packed_.pairs) index.back() = index.back() * 2 + member;
    index[vector_axis_] = at_[packed_.outer] * packed_.width + column;
    return index;
  }

  /// The bits of two bf16, the first in the low half.
  ValueId pair(const Index& column) {
    const auto bits = [&](int member) {
      return lowerer_.to_storage(lowerer_.lower(operand_.node, space_index(column, member)), DType::kBF16);
    };
    const ValueId low = bits(0), high = bits(1);
    const ValueId sixteen = builder_.integer(builder_.type(high), 16);
    return builder_.binary(Opcode::kOr, low, builder_.binary(Opcode::kShl, high, sixteen));
  }

  void write(const Index& first, int lanes, const std::optional<Index>& live_lanes, bool empty) {
    const DType dtype = packed_.buffer.dtype;
    const Index lane = lowerer_.enter_vector(lanes, live_lanes);
    ValueId value = zero_;
    if (!empty)
      value = packed_.pairs
                  ? pair(first + lane)
                  : lowerer_.cast(lowerer_.lower(operand_.node, space_index(first + lane)), packed_.dtype, dtype);
    // Lanes beyond the last column were not loaded, but an expression may have made anything of them.
    if (live_lanes && lanes > 1) {
      if (builder_.type(value).lanes == 1) value = builder_.splat(value, lanes);
      const ValueId numbers = builder_.lane_numbers(Scalar::kI32, lanes);
      const ValueId inside = builder_.binary(Opcode::kLess, numbers, builder_.index_value(Scalar::kI32, *live_lanes));
      value =
          dtype == DType::kBool ? builder_.binary(Opcode::kAnd, value, inside) : builder_.select(inside, value, zero_);
    }
    std::vector<Index> place = at_;
    place.back() = first + lane;
    lowerer_.enter_vector(lanes);
    lowerer_.store(packed_.buffer, place, value);
    lowerer_.leave_vector();
  }

  ProgramBuilder& program_;
  const Group& group_;
  const ContractOperand& operand_;
  const PackedOperand& packed_;
  const Shape& shape_;  ///< Of the copy.
  const Shape& space_;
  const size_t vector_axis_;
  const int lanes_;
  KernelContext kernel_;
  KernelBuilder& builder_ = kernel_.builder;
  ValueLowerer& lowerer_ = kernel_.lowerer;
  ValueId zero_ = kNoValue;
  std::vector<Index> at_;  ///< Subscript in the copy; its last axis, the column, comes when it is written.
  Index live_ = 0;         ///< Columns of the panel that exist.
};

/// Can an element be computed from loads and elementwise ops alone?
bool is_computed_in_place(const ProgramBuilder& program, NodeId id) {
  const Node& node = program.module.graph->node(id);
  if (program.buffers.count(id) > 0 || node.op == Op::kScalar) return true;
  if (!is_elementwise(info(node.op).op_class) && !is_rearrangement(node.op)) return false;
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](NodeId operand) { return is_computed_in_place(program, operand); });
}

/// While it lives, a constant expression under the operand that has a buffer of its own is as if it had none: packing
/// reads every element once, so that it may as well be computed there. The buffer is dropped when nobody else reads it.
class WithoutBuffer {
 public:
  WithoutBuffer(ProgramBuilder& program, const ContractOperand& operand) : program_(program) {
    const Graph& graph = *program.module.graph;
    NodeId id = operand.node;
    while (program.buffers.count(id) == 0 && (is_rearrangement(graph.node(id).op) || is_widening_cast(graph, id)))
      id = graph.node(id).operands[0];
    const auto found = program.buffers.find(id);
    if (!operand.constant || found == program.buffers.end() || !is_elementwise(info(graph.node(id).op).op_class))
      return;
    hidden_.emplace(*found);
    program.buffers.erase(found);
    const std::vector<NodeId>& operands = graph.node(id).operands;
    if (!std::all_of(operands.begin(), operands.end(),
                     [&](NodeId below) { return is_computed_in_place(program, below); }))
      restore();
  }
  ~WithoutBuffer() { restore(); }
  WithoutBuffer(const WithoutBuffer&) = delete;
  WithoutBuffer& operator=(const WithoutBuffer&) = delete;

 private:
  void restore() {
    if (hidden_) program_.buffers.insert(*hidden_);
    hidden_.reset();
  }

  ProgramBuilder& program_;
  std::optional<std::pair<const NodeId, BufferRef>> hidden_;
};

}  // namespace

std::string packed_operand_name(const Node& root) { return concat("packed operand of ", root.origin); }

PackedOperand pack_operand(ProgramBuilder& program, const Group& group, const ContractOperand& operand,
                           const Shape& space, size_t rank, size_t vector_axis, const Tile& tile, bool pairs) {
  const Graph& graph = *program.module.graph;
  const std::string& origin = graph.node(group.root).origin;
  PackedOperand packed;
  Shape shape;
  packed.dtype = graph.node(operand.node).dtype;
  int64_t elements = 1;
  for (size_t axis = 0; axis < space.size(); axis++)
    if (operand.depends[axis]) elements *= space[axis].upper();
  packed.buffer.dtype = operand.constant ? packed_dtype(graph, operand.node, elements) : packed.dtype;
  const int64_t bytes = elements * static_cast<int64_t>(size_of(packed.buffer.dtype));
  packed.pairs = pairs;
  if (pairs) packed.buffer.dtype = DType::kI32;
  packed.panels = panels_of(operand, tile, bytes);
  packed.width = tile.width() / packed.panels;
  const Index panels = ceil_div(space[vector_axis], tile.width()) * packed.panels;
  for (size_t axis = 0; axis < space.size(); axis++) {
    if (axis == rank) shape.push_back(panels);
    if (axis == vector_axis || !operand.depends[axis]) continue;
    packed.axes.push_back(axis);
    packed.outer += axis < rank;
    shape.push_back(pairs && axis >= rank ? floor_div(space[axis], 2) : space[axis]);
  }
  if (rank == space.size()) shape.push_back(panels);
  shape.emplace_back(packed.width);

  std::vector<size_t> order;
  for (size_t axis = 0; axis < shape.size(); axis++) order.push_back(axis);
  packed.buffer.strides = ordered_strides(shape, order);
  packed.buffer.slot =
      program.add_slot(operand.constant ? SlotRole::kPacked : SlotRole::kIntermediate, packed.buffer.dtype,
                       maximum_elements(shape), packed_operand_name(graph.node(group.root)));
  const WithoutBuffer computed_here(program, operand);
  Packer(program, group, operand, packed, shape, space, vector_axis, tile.lanes).run(origin);
  // Steps of a recurrence that stand in one plan multiply by the same weights.
  if (operand.constant) packed.buffer.slot = program.share_last_result(packed.buffer.slot);
  return packed;
}

}  // namespace tandem
