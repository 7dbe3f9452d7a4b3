// Contractions in register tiles, with what follows them fused behind the accumulators.

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/schedule/access.h"
#include "core/schedule/contract_axes.h"
#include "core/schedule/dot.h"
#include "core/schedule/loops.h"
#include "core/schedule/pack.h"
#include "core/schedule/widen.h"

namespace tandem {
namespace {

constexpr int64_t kCacheLineBytes = 64;
/// So many steps of a sum take longer than the second-level cache needs to answer.
constexpr int64_t kStepsAhead = 12;

class ContractLowering : public RowLowering {
 public:
  ContractLowering(ProgramBuilder& program, const Group& group, const BufferRef& target, KernelContext& kernel)
      : program_(program),
        group_(group),
        target_(target),
        graph_(*program.module.graph),
        anchor_(graph_.node(group.anchor)),
        space_(graph_.node(anchor_.operands[0]).shape),
        rank_(anchor_.shape.size()),
        axes_(choose_contract_axes(program, group, &target)),
        vector_axis_(axes_.vector_axis),
        row_axis_(axes_.row_axis),
        outer_(axes_.outer),
        tile_(axes_.tile),
        pairs_(operand_in_pairs(program, group, axes_)),
        builder_(kernel.builder),
        lowerer_(kernel.lowerer) {
    pack_operands();
    if (!pairs_) read_widened();
  }
  ~ContractLowering() override {
    for (auto& [node, buffer] : replaced_) program_.buffers[node] = buffer;
  }
  ContractLowering(const ContractLowering&) = delete;
  ContractLowering& operator=(const ContractLowering&) = delete;

  void run() {
    const Index columns = vector_axis_ ? space_[*vector_axis_] : Index(1);
    const Index panels = ceil_div(columns, tile_.width());
    Index range = panels;
    for (size_t axis : outer_) range *= space_[axis];
    const Index item = builder_.open_range(range);
    std::vector<Index> index(rank_, 0);
    Index rest = item;
    const auto next = [&](const Index& extent) {
      const Index counter = floor_mod(rest, divisor(extent));
      rest = floor_div(rest, divisor(extent));
      return counter;
    };
    // What a panel is used for again runs inside it: lanes of a batch share weights, which stay in the cache.
    for (size_t i = outer_.size(); i-- > 0;)
      if (shares_panels(outer_[i])) index[outer_[i]] = next(space_[outer_[i]]);
    const Index panel = next(panels);
    for (size_t i = outer_.size(); i-- > 0;)
      if (!shares_panels(outer_[i])) index[outer_[i]] = next(space_[outer_[i]]);
    size_t guards = 0;
    for (size_t axis : outer_)
      if (!group_.demand_of(axis).empty()) guards += open_if_positive(builder_, live(index, axis) - index[axis]);
    if (vector_axis_ && !group_.demand_of(*vector_axis_).empty()) {
      const Index seen = live(index, *vector_axis_);
      guards += open_if_positive(builder_, seen - panel * tile_.width());
      panels_of(index, panel, seen);
    } else {
      panels_of(index, panel, columns);
    }
    while (guards-- > 0) builder_.close_if();
    Kernel kernel = builder_.finish(concat(kernel_name(program_, group_), pairs_ ? "_dot_" : "_tile_", text(tile_)),
                                    2 * maximum_elements(space_));
    program_.add_call(group_.prepare ? Phase::kPrepare : Phase::kStep, std::move(kernel), lowerer_.slots(),
                      graph_.node(group_.root).origin);
  }

  void emit(const std::vector<Index>& index, const std::vector<Index>& rows) override {
    rows_of_tile_ = rows;
    const int count = static_cast<int>(rows.size());
    const Index columns = live(index, *vector_axis_);
    const Index whole = floor_div(columns, tile_.width());
    if (whole.upper() > 0) {
      const Index panel = builder_.open_loop(0, whole);
      tile_body(index, panel, panel * tile_.width(), tile_.width(), false, count);
      builder_.close_loop();
    }
    const Index tail = columns - whole * tile_.width();
    if (!tail.is(0)) {
      const bool opened = open_if_positive(builder_, tail);
      tile_body(index, whole, whole * tile_.width(), tail, true, count);
      if (opened) builder_.close_if();
    }
    rows_of_tile_.clear();
  }

 private:
  /// Is what lies along the vector axis the same for all of an outer axis?
  bool shares_panels(size_t axis) const {
    if (!vector_axis_) return false;
    for (const ContractOperand& operand : axes_.operands)
      if (operand.depends[*vector_axis_] && operand.depends[axis]) return false;
    return true;
  }

  void pack_operands() {
    if (!vector_axis_) return;
    for (int i = 0; i < 2; i++) {
      const ContractOperand& operand = axes_.operands[i];
      if (!operand.depends[*vector_axis_]) continue;
      const bool consecutive = !pairs_ && !is_repacked(operand, axes_);
      // A single panel that lies consecutively already is as good as packed.
      if (operand.constant && consecutive && space_[*vector_axis_].upper() <= tile_.width() &&
          space_[*vector_axis_].is_constant() && space_[*vector_axis_].constant() % tile_.lanes == 0)
        continue;
      if (!operand.constant && consecutive) continue;
      packed_[i] = pack_operand(program_, group_, operand, space_, rank_, *vector_axis_, tile_, pairs_.has_value());
    }
  }

  /// What isn't packed is read from its widened copy, when there is one.
  void read_widened() {
    for (size_t i = 0; i < 2; i++) {
      const std::optional<NodeId> node = bfloat16_buffer(program_, axes_.operands[i].node);
      const auto copy = node ? program_.widened.find(*node) : program_.widened.end();
      if (packed_[i] || copy == program_.widened.end()) continue;
      BufferRef& buffer = program_.buffers.at(*node);
      replaced_.emplace_back(*node, std::exchange(buffer, copy->second));
    }
  }

  /// How far an output axis is seen; the outer axes are open.
  Index live(const std::vector<Index>& index, size_t axis) {
    return lowerer_.end_of_demand(group_.demand_of(axis), index, space_[axis]);
  }

  /// One panel of so many columns.
  void panels_of(const std::vector<Index>& index, const Index& panel, const Index& columns) {
    const Index whole_panels = floor_div(columns, tile_.width());
    const Index tail = columns - whole_panels * tile_.width();
    if (whole_panels.is(0)) {
      panel_body(index, panel, tail, true);
    } else if (tail.is(0)) {
      panel_body(index, panel, tile_.width(), false);
    } else {
      const ValueId number = builder_.index_value(Scalar::kI32, panel);
      builder_.open_if(builder_.binary(Opcode::kLess, number, builder_.index_value(Scalar::kI32, whole_panels)));
      panel_body(index, panel, tile_.width(), false);
      builder_.open_else();
      panel_body(index, whole_panels, tail, true);
      builder_.close_if();
    }
  }

  /// All rows of one panel. `columns` outputs are live: a number, or an expression for the last panel.
  void panel_body(std::vector<Index> index, const Index& panel, const Index& columns, bool last) {
    const Index first_column = panel * tile_.width();
    if (!row_axis_) return tile_body(index, panel, first_column, columns, last, 1);
    const Index rows = live(index, *row_axis_);
    const Index whole = floor_div(rows, tile_.rows) * tile_.rows;
    if (whole.upper() > 0) {
      index[*row_axis_] = builder_.open_loop(0, whole, tile_.rows);
      if (!last) fetch_ahead(panel, floor_div(index[*row_axis_], tile_.rows));
      tile_body(index, panel, first_column, columns, last, tile_.rows);
      ahead_.reset();
      builder_.close_loop();
    }
    const Index rest = rows - whole;
    if (rest.is(0)) return;
    if (rest.is_constant()) {
      index[*row_axis_] = whole;
      return tile_body(index, panel, first_column, columns, last, static_cast<int>(rest.constant()));
    }
    // What is left of a number that isn't constant goes in smaller tiles that end at the last row and may repeat rows
    // before them; only fewer rows than such a tile has are done one by one.
    const int small = (tile_.rows + 1) / 2;
    const auto one_by_one = [&] {
      index[*row_axis_] = builder_.open_loop(whole, rows);
      tile_body(index, panel, first_column, columns, last, 1);
      builder_.close_loop();
    };
    if (small == 1) return one_by_one();
    if (!group_.demand_of(*row_axis_).empty()) return repeat_last_row(index, panel, first_column, columns, last, small);
    const bool enough = less_equal(small, rows) == Truth::kAlways;
    if (!enough)
      builder_.open_if(builder_.binary(Opcode::kLessEqual, builder_.integer({Scalar::kI32, 1}, small),
                                       builder_.index_value(Scalar::kI32, rows)));
    const Index next = builder_.open_loop(whole, rows, small);
    const ValueId first = builder_.index_value(Scalar::kI32, max(min(next, rows - small), 0));
    index[*row_axis_] = builder_.as_index(first, 0, rows.upper() - small);
    tile_body(index, panel, first_column, columns, last, small);
    builder_.close_loop();
    if (enough) return;
    builder_.open_else();
    one_by_one();
    builder_.close_if();
  }

  /// Steps of a sum along a reduced axis: of a dot product each takes a pair.
  Index steps_along(size_t axis) const { return pairs_ ? floor_div(space_[axis], 2) : space_[axis]; }

  /// A tile asks for what it needs a few steps later, and the first tiles of a panel ask for the panel after it, a
  /// cache line at each step of their sums: otherwise the first tile of every panel waits for memory.
  void fetch_ahead(const Index& panel, const Index& tile) {
    if (program_.options.capabilities.wasm) return;
    int64_t steps = 1;
    for (size_t axis = rank_; axis < space_.size(); axis++) {
      const Index along = steps_along(axis);
      if (!along.is_constant()) return;
      steps *= along.constant();
    }
    for (int i = 0; i < 2; i++) {
      if (!packed_[i] || !axes_.operands[i].constant || packed_[i]->outer > 0 || packed_[i]->panels > 1) continue;
      const BufferRef& buffer = packed_[i]->buffer;
      const int64_t element = static_cast<int64_t>(size_of(buffer.dtype)), line = kCacheLineBytes / element;
      const int64_t all = program_.slot_elements[buffer.slot], of_panel = steps * tile_.width();
      if (all * element < kFarBytes || steps <= kStepsAhead || !buffer.strides[0].is(of_panel)) continue;
      // Nothing follows the last panel: there the hints stay inside the buffer.
      const auto at_most = [&](const Index& place, int64_t most) {
        return builder_.as_index(builder_.index_value(Scalar::kI64, min(place, most)), 0, most);
      };
      const int64_t tiles = (tile_.width() + line - 1) / line;
      ahead_ = Ahead{lowerer_.buffer_number(buffer.slot, buffer.dtype, Access::kRead), line,
                     at_most(panel * of_panel + kStepsAhead * tile_.width(), all - of_panel),
                     at_most((panel + 1) * of_panel + min(tile, tiles) * (steps * line), all - steps * line)};
      return;
    }
  }

  /// The hints of one step of a tile's sums; the loops over the reduced axes are open.
  void ask_ahead(const std::vector<Index>& index) {
    Index step = 0;
    for (size_t axis = rank_; axis < space_.size(); axis++) step = step * steps_along(axis) + index[axis];
    for (int64_t column = 0; column < tile_.width(); column += ahead_->line)
      builder_.prefetch(ahead_->buffer, ahead_->in_panel + step * tile_.width() + column, 1);
    builder_.prefetch(ahead_->buffer, ahead_->beyond + step * ahead_->line, 2);
  }

  /// The rest of a lane's rows in small tiles, of which the last one repeats the last row: with one piece of code for
  /// any length.
  void repeat_last_row(std::vector<Index> index, const Index& panel, const Index& first_column, const Index& columns,
                       bool last, int small) {
    const Index rows = live(index, *row_axis_);
    index[*row_axis_] = builder_.open_loop(floor_div(rows, tile_.rows) * tile_.rows, rows, small);
    for (int row = 0; row < small; row++) {
      const ValueId number = builder_.index_value(Scalar::kI32, min(index[*row_axis_] + row, rows - 1));
      rows_of_tile_.push_back(builder_.as_index(number, 0, rows.upper() - 1));
    }
    tile_body(index, panel, first_column, columns, last, small);
    rows_of_tile_.clear();
    builder_.close_loop();
  }

  /// The subscript of a tile's row, where `first` is that of the tile.
  Index row_at(const Index& first, size_t row) const {
    return rows_of_tile_.empty() ? first + static_cast<int64_t>(row) : rows_of_tile_[row];
  }

  struct Vector {
    Index first;  ///< Number of its first column within the panel.
    int lanes;
    std::optional<Index> count;
  };

  std::vector<Vector> vectors_of(const Index& columns, bool last) const {
    std::vector<Vector> vectors;
    if (!vector_axis_) return {{0, 1, std::nullopt}};
    for (int i = 0; i < tile_.vectors; i++) {
      const Index first = i * tile_.lanes;
      if (!last) {
        vectors.push_back({first, tile_.lanes, std::nullopt});
        continue;
      }
      const Index live = max(min(columns - first, tile_.lanes), 0);
      if (live.is(0)) break;
      if (live.is(tile_.lanes))
        vectors.push_back({first, tile_.lanes, std::nullopt});
      else if (live.is_constant())
        vectors.push_back({first, lanes_for(live.constant()), live});
      else
        vectors.push_back({first, tile_.lanes, live});
    }
    for (Vector& vector : vectors)
      if (vector.count && vector.count->is(vector.lanes)) vector.count.reset();
    return vectors;
  }

  /// The type in which products are accumulated.
  DType held() const { return anchor_.dtype == DType::kBool ? DType::kU8 : anchor_.dtype; }
  ValueId to_held(ValueId value) {
    if (anchor_.dtype != DType::kBool) return value;
    const uint8_t lanes = builder_.type(value).lanes;
    return builder_.select(value, builder_.integer({Scalar::kI32, lanes}, 1),
                           builder_.integer({Scalar::kI32, lanes}, 0));
  }
  Type accumulator_type(int lanes) const {
    Scalar scalar = register_scalar(held());
    if (is_float(held())) scalar = held() == DType::kF64 ? Scalar::kF64 : Scalar::kF32;
    return {scalar, static_cast<uint8_t>(lanes)};
  }
  ValueId zero(int lanes) {
    const Type type = accumulator_type(lanes);
    return is_float(type.scalar) ? builder_.constant(type, 0) : builder_.integer(type, 0);
  }
  ValueId accumulate(ValueId a, ValueId b, ValueId sum) {
    const int lanes = builder_.type(sum).lanes;
    if (builder_.type(a).lanes != lanes) a = builder_.splat(a, lanes);
    if (builder_.type(b).lanes != lanes) b = builder_.splat(b, lanes);
    if (is_float(held())) {
      MathContext math = lowerer_.math();
      math.fused = axes_.fused;
      return multiply_add(math, a, b, sum);
    }
    if (anchor_.dtype == DType::kBool) return builder_.binary(Opcode::kOr, builder_.binary(Opcode::kAnd, a, b), sum);
    return builder_.binary(Opcode::kAdd, builder_.binary(Opcode::kMul, a, b), sum);
  }

  ValueId element(int operand, const std::vector<Index>& index, const Index& panel, const Index& column) {
    if (const auto& packed = packed_[operand])
      return to_held(lowerer_.cast(lowerer_.load(packed->buffer, packed->index(index, panel, column)),
                                   packed->buffer.dtype, packed->dtype));
    return to_held(lowerer_.lower(axes_.operands[operand].node, index));
  }

  /// Two neighbours along the reduced axis, for a dot product.
  ValueId pair(int operand, std::vector<Index> index, const Index& panel, const Index& column) {
    if (operand != *pairs_)
      return lowerer_.load(packed_[operand]->buffer, packed_[operand]->index(index, panel, column));
    index.back() = index.back() * 2;
    NodeId node = axes_.operands[operand].node;
    while (program_.buffers.count(node) == 0) {
      if (graph_.node(node).op != Op::kCast) index = operand_index(graph_, graph_.node(node), index);
      node = graph_.node(node).operands[0];
    }
    return lowerer_.load_pair(program_.buffers.at(node), index);
  }

  void tile_body(const std::vector<Index>& index, const Index& panel, const Index& first_column, const Index& columns,
                 bool last, int rows) {
    const std::vector<Vector> vectors = vectors_of(columns, last);
    std::vector<std::vector<ValueId>> sums(rows);
    for (int row = 0; row < rows; row++)
      for (const Vector& vector : vectors) sums[row].push_back(builder_.variable(zero(vector.lanes)));
    multiply(index, panel, first_column, vectors, sums);
    for (int row = 0; row < rows; row++)
      for (size_t i = 0; i < vectors.size(); i++)
        finish(index, first_column, vectors[i], row, builder_.get(sums[row][i]));
    lowerer_.leave_vector();
  }

  /// How far each reduced axis is read: to its end, or to the length at which both operands become zero.
  std::vector<Index> reduced_extents(const std::vector<Index>& outputs) {
    std::vector<Index> extents(space_.begin() + static_cast<std::ptrdiff_t>(rank_), space_.end());
    std::vector<Index> index = outputs;
    const auto stand_in = [&](size_t axis) {
      return Index::loop(static_cast<uint32_t>(kFirstStandIn + axis), space_[axis]);
    };
    if (vector_axis_) index[*vector_axis_] = stand_in(*vector_axis_);
    if (row_axis_) index[*row_axis_] = stand_in(*row_axis_);
    for (size_t axis = rank_; axis < space_.size(); axis++) index.push_back(stand_in(axis));
    for (size_t i = 0; i < extents.size(); i++) {
      std::optional<Index> length;
      bool both = true;
      for (const ContractOperand& operand : axes_.operands) {
        const auto end = lowerer_.early_end(operand.node, index, index[rank_ + i], extents[i]);
        both &= end && fills_with(graph_, graph_.node(end->limit), 0, 0) && (!length || same(*length, end->length));
        if (end) length = end->length;
      }
      if (both) extents[i] = *length;
      TANDEM_CHECK(both || group_.demand_of(rank_ + i).empty(), "a reduced axis that ends early is read to its end");
    }
    return extents;
  }

  void multiply(const std::vector<Index>& outputs, const Index& panel, const Index& first_column,
                const std::vector<Vector>& vectors, const std::vector<std::vector<ValueId>>& sums) {
    std::vector<Index> index = outputs;
    size_t opened = 0;
    for (const Index& extent : reduced_extents(outputs)) {
      index.push_back(builder_.open_loop(0, pairs_ ? floor_div(extent, 2) : extent));
      opened++;
    }
    if (ahead_) ask_ahead(index);
    // Each operand is loaded once and shared. The order keeps the fewer ones in registers: all vectors and one row's
    // value, or all rows' values and one vector.
    const auto add_product = [&](size_t row, size_t i) {
      std::vector<Index> at = index;
      if (row_axis_) at[*row_axis_] = row_at(at[*row_axis_], row);
      std::array<ValueId, 2> values{};
      for (int k = 0; k < 2; k++) {
        const std::optional<Index> count = packed_[k] ? std::nullopt : vectors[i].count;
        const Index column = vectors[i].first + lowerer_.enter_vector(vectors[i].lanes, count);
        if (vector_axis_) at[*vector_axis_] = first_column + column;
        values[k] = pairs_ ? pair(k, at, panel, column) : element(k, at, panel, column);
      }
      const ValueId sum = builder_.get(sums[row][i]);
      builder_.set(sums[row][i],
                   pairs_ ? builder_.dot_bfloat16(values[0], values[1], sum) : accumulate(values[0], values[1], sum));
    };
    const bool rows_outside = sums.size() >= vectors.size();
    const size_t outer = rows_outside ? sums.size() : vectors.size();
    const size_t inner = rows_outside ? vectors.size() : sums.size();
    for (size_t i = 0; i < outer; i++)
      for (size_t k = 0; k < inner; k++) rows_outside ? add_product(i, k) : add_product(k, i);
    while (opened-- > 0) builder_.close_loop();
    lowerer_.leave_vector();
  }

  void finish(const std::vector<Index>& outputs, const Index& first_column, const Vector& vector, int row,
              ValueId sum) {
    std::vector<Index> index = outputs;
    if (row_axis_) index[*row_axis_] = row_at(index[*row_axis_], static_cast<size_t>(row));
    // The last panel may end before this vector.
    const bool opened = vector.count && open_if_positive(builder_, *vector.count);
    const Index lane = lowerer_.enter_vector(vector.lanes, vector.count);
    if (vector_axis_) index[*vector_axis_] = first_column + vector.first + lane;
    ValueId value = sum;
    if (anchor_.dtype == DType::kBool)
      value = builder_.binary(Opcode::kNotEqual, sum, builder_.integer(builder_.type(sum), 0));
    else if (is_float(anchor_.dtype))
      value = lowerer_.round_to(sum, anchor_.dtype);
    else
      value = lowerer_.apply(Op::kAdd, anchor_.dtype, sum, builder_.integer(builder_.type(sum), 0));
    lowerer_.set_anchor(group_.anchor, value);
    const std::vector<Index> root_index = *root_index_of_anchor(program_.module, group_.root, group_.anchor, index);
    lowerer_.store(target_, root_index, lowerer_.lower(group_.root, root_index));
    lowerer_.set_anchor(kNoNode, kNoValue);
    if (opened) builder_.close_if();
  }

  ProgramBuilder& program_;
  const Group& group_;
  const BufferRef& target_;
  const Graph& graph_;
  const Node& anchor_;
  const Shape& space_;  ///< Output axes, then reduced axes.
  const size_t rank_;   ///< Number of output axes.
  const ContractAxes axes_;
  const std::optional<size_t>& vector_axis_;
  const std::optional<size_t>& row_axis_;
  const std::vector<size_t>& outer_;
  const Tile& tile_;
  const std::optional<int> pairs_;  ///< The operand that is read in pairs, of a bf16 dot product.
  KernelBuilder& builder_;
  ValueLowerer& lowerer_;
  std::array<std::optional<PackedOperand>, 2> packed_;
  /// What a tile of rows asks for while it computes: places in a packed buffer, in elements.
  struct Ahead {
    uint32_t buffer;
    int64_t line;    ///< Elements of a cache line.
    Index in_panel;  ///< What the first step asks for within the panel.
    Index beyond;    ///< Its share of the next panel.
  };
  std::optional<Ahead> ahead_;
  std::vector<std::pair<NodeId, BufferRef>> replaced_;  ///< Buffers that others read.
  std::vector<Index> rows_of_tile_;                     ///< Where they don't follow each other.
};

}  // namespace

void lower_contract(ProgramBuilder& program, const Group& group, const BufferRef& target) {
  KernelContext kernel(program);
  ContractLowering(program, group, target, kernel).run();
}

std::unique_ptr<RowLowering> rows_of_contract(ProgramBuilder& program, const Group& group, const BufferRef& target,
                                              KernelContext& kernel) {
  return std::make_unique<ContractLowering>(program, group, target, kernel);
}

}  // namespace tandem
