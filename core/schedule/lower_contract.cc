// Contractions in register tiles, with what follows them fused behind the accumulators.

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/schedule/access.h"
#include "core/schedule/accumulation.h"
#include "core/schedule/contract_axes.h"
#include "core/schedule/dot.h"
#include "core/schedule/loops.h"
#include "core/schedule/pack.h"
#include "core/schedule/panel_hints.h"
#include "core/schedule/widen.h"

namespace tandem {
namespace {

/// Sums of so many steps hide that their results are written and read again before what follows them.
constexpr int64_t kLongSum = 256;
/// So few accumulators are no code worth a loop.
constexpr int kFewVectors = 4;

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
        lowerer_(kernel.lowerer),
        sums_(lowerer_, anchor_.dtype, axes_.fused) {
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
    const bool rounds_up = has_room_for_panels();
    const Index whole = rounds_up ? ceil_div(columns, tile_.width()) : floor_div(columns, tile_.width());
    if (whole.upper() > 0) {
      const Index panel = builder_.open_loop(0, whole);
      tile_body(index, panel, panel * tile_.width(), tile_.width(), false, count);
      builder_.close_loop();
    }
    const Index tail = columns - whole * tile_.width();
    if (!rounds_up && !tail.is(0)) {
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

  /// Can the last panel be computed like the others? What it reads lies in whole panels, and what it writes beyond the
  /// last column goes to a strip that has room for it. That is half of the code.
  bool has_room_for_panels() const {
    const int64_t panels = (space_[*vector_axis_].upper() + tile_.width() - 1) / tile_.width();
    if (!target_.strip || less_equal(panels * tile_.width(), target_.strip->strides[*row_axis_]) != Truth::kAlways)
      return false;
    for (int i = 0; i < 2; i++)
      if (axes_.operands[i].depends[*vector_axis_] && !packed_[i]) return false;
    const std::vector<Index> counters = axis_counters(anchor_.shape);
    bool reads_column = false;
    AccessWalk walk(graph_);
    walk.visit = [&](NodeId node, const std::vector<Index>& index) {
      if (node == group_.anchor) return false;
      const bool loads = node != group_.root && program_.buffers.count(node) > 0;
      for (const Index& expression : index) reads_column |= loads && expression.depends_on(counters[*vector_axis_]);
      return !loads;
    };
    walk.walk(group_.root, *root_index_of_anchor(program_.module, group_.root, group_.anchor, counters));
    return !reads_column;
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
    if (!rows.is_constant() && !group_.demand_of(*row_axis_).empty() && finishes_apart(tile_.rows))
      return panel_of_lane(index, panel, first_column, columns, last, rows);
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
    const int small = tile_.small_rows();
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

  void fetch_ahead(const Index& panel, const Index& tile) {
    if (program_.options.capabilities.wasm) return;
    int64_t steps = 1;
    for (size_t axis = rank_; axis < space_.size(); axis++) {
      const Index along = steps_along(axis);
      if (!along.is_constant()) return;
      steps *= along.constant();
    }
    for (int i = 0; i < 2 && !ahead_; i++)
      if (packed_[i] && axes_.operands[i].constant)
        ahead_ = PanelHints::find(program_, lowerer_, *packed_[i], tile_, steps, panel, tile);
  }

  /// The hints of one step of a tile's sums; the loops over the reduced axes are open.
  void ask_ahead(const std::vector<Index>& index) {
    Index step = 0;
    for (size_t axis = rank_; axis < space_.size(); axis++) step = step * steps_along(axis) + index[axis];
    ahead_->ask(builder_, step);
  }

  /// The rest of a lane's rows in small tiles, of which the last one repeats the last row: one piece of code for all.
  void repeat_last_row(std::vector<Index> index, const Index& panel, const Index& first_column, const Index& columns,
                       bool last, int small) {
    const Index rows = live(index, *row_axis_);
    index[*row_axis_] = builder_.open_loop(floor_div(rows, tile_.rows) * tile_.rows, rows, small);
    enter_rows(index[*row_axis_], small, rows);
    tile_body(index, panel, first_column, columns, last, small);
    rows_of_tile_.clear();
    builder_.close_loop();
  }

  /// The rows of the next tile: so many from `first` on, the last one again beyond the end.
  void enter_rows(const Index& first, int count, const Index& end) {
    for (int row = 0; row < count; row++) {
      const ValueId number = builder_.index_value(Scalar::kI32, min(first + row, end - 1));
      rows_of_tile_.push_back(builder_.as_index(number, 0, end.upper() - 1));
    }
  }

  /// The rows of a lane, in whole tiles and what is left in small ones, with one piece of code for what follows them.
  void panel_of_lane(std::vector<Index> index, const Index& panel, const Index& first_column, const Index& columns,
                     bool last, const Index& rows) {
    const std::vector<TileVector> vectors = vectors_of(columns, last);
    const int small = tile_.small_rows();
    const Index first = index[*row_axis_] = builder_.open_loop(0, rows, tile_.rows);
    const Index left = rows - first;
    builder_.open_if(builder_.binary(Opcode::kLessEqual, builder_.integer({Scalar::kI32, 1}, tile_.rows),
                                     builder_.index_value(Scalar::kI32, left)));
    if (!last) fetch_ahead(panel, floor_div(first, tile_.rows));
    keep_sums(multiply(index, panel, first_column, vectors, tile_.rows), 0);
    ahead_.reset();
    builder_.open_else();
    const Index part = builder_.open_loop(0, min(left, tile_.rows), small);
    enter_rows(first + part, small, rows);
    keep_sums(multiply(index, panel, first_column, vectors, small), part);
    rows_of_tile_.clear();
    builder_.close_loop();
    builder_.close_if();
    finish_apart(index, first_column, vectors, min(left, tile_.rows));
    builder_.close_loop();
  }

  /// The subscript of a tile's row, where `first` is that of the tile.
  Index row_at(const Index& first, size_t row) const {
    return rows_of_tile_.empty() ? first + static_cast<int64_t>(row) : rows_of_tile_[row];
  }

  using Sums = std::vector<std::vector<ValueId>>;  ///< By row and vector.

  std::vector<TileVector> vectors_of(const Index& columns, bool last) const {
    if (!vector_axis_) return {{0, 1}};
    return vectors_of_tile(tile_, last ? columns : tile_.width());
  }

  ValueId element(int operand, const std::vector<Index>& index, const Index& panel, const Index& column) {
    if (const auto& packed = packed_[operand])
      return sums_.to_factor(lowerer_.cast(lowerer_.load(packed->buffer, packed->index(index, panel, column)),
                                           packed->buffer.dtype, packed->dtype));
    return sums_.to_factor(lowerer_.lower(axes_.operands[operand].node, index));
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
    const std::vector<TileVector> vectors = vectors_of(columns, last);
    const Sums sums = multiply(index, panel, first_column, vectors, rows);
    if (rows_of_tile_.empty() && finishes_apart(rows)) {
      keep_sums(sums, 0);
      return finish_apart(index, first_column, vectors, rows);
    }
    for (int row = 0; row < rows; row++) {
      std::vector<Index> at = index;
      if (row_axis_) at[*row_axis_] = row_at(at[*row_axis_], static_cast<size_t>(row));
      for (size_t i = 0; i < vectors.size(); i++)
        finish(at, first_column + vectors[i].first, vectors[i].lanes, vectors[i].count, builder_.get(sums[row][i]));
    }
    lowerer_.leave_vector();
  }

  /// Is what follows the sums of a tile computed in a loop over what the tile wrote to a buffer of its own? Otherwise
  /// it is code for each accumulator, which takes the compiler longer than the sums.
  bool finishes_apart(int rows) const {
    if (!vector_axis_ || !row_axis_ || rows * tile_.vectors <= kFewVectors || target_.strip) return false;
    int64_t steps = 1;
    for (size_t axis = rank_; axis < space_.size(); axis++) steps *= std::max<int64_t>(space_[axis].lower(), 1);
    NodeId root = group_.root;
    while (root != group_.anchor && is_rearrangement(graph_.node(root).op)) root = graph_.node(root).operands[0];
    return steps >= kLongSum && root != group_.anchor;
  }

  /// Writes the sums of a tile to the rows of a local buffer from `first` on.
  void keep_sums(const Sums& sums, const Index& first) {
    if (!kept_) {
      const int64_t elements = 2 * tile_.small_rows() * tile_.width();
      const uint32_t slot = program_.add_slot(SlotRole::kIntermediate, sums_.held(), elements,
                                              concat("tile of ", graph_.node(group_.root).origin));
      kept_ = lowerer_.buffer_number(slot, sums_.held(), Access::kLocal);
    }
    Index place = first * tile_.width();
    for (const std::vector<ValueId>& row : sums) {
      for (size_t i = 0; i < row.size(); i++)
        builder_.store(*kept_, place + static_cast<int64_t>(i) * tile_.lanes, builder_.get(row[i]));
      place += tile_.width();
    }
  }

  /// What follows the sums of so many rows, from those that were kept.
  void finish_apart(std::vector<Index> index, const Index& first_column, const std::vector<TileVector>& vectors,
                    const Index& rows) {
    const Index row = builder_.open_loop(0, rows);
    index[*row_axis_] = index[*row_axis_] + row;
    for (const TileVector& vector : vectors)
      finish(index, first_column + vector.first, vector.lanes, vector.count,
             builder_.load(*kept_, row * tile_.width() + vector.first, vector.lanes));
    lowerer_.leave_vector();
    builder_.close_loop();
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

  /// The sums of products of a tile, as variables.
  Sums multiply(const std::vector<Index>& outputs, const Index& panel, const Index& first_column,
                const std::vector<TileVector>& vectors, int rows) {
    Sums sums(rows);
    for (std::vector<ValueId>& row : sums)
      for (const TileVector& vector : vectors) row.push_back(builder_.variable(sums_.zero(vector.lanes)));
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
      builder_.set(sums[row][i], pairs_ ? builder_.dot_bfloat16(values[0], values[1], sum)
                                        : sums_.add_product(values[0], values[1], sum));
    };
    const bool rows_outside = sums.size() >= vectors.size();
    const size_t outer = rows_outside ? sums.size() : vectors.size();
    const size_t inner = rows_outside ? vectors.size() : sums.size();
    for (size_t i = 0; i < outer; i++)
      for (size_t k = 0; k < inner; k++) rows_outside ? add_product(i, k) : add_product(k, i);
    while (opened-- > 0) builder_.close_loop();
    lowerer_.leave_vector();
    return sums;
  }

  /// What follows a vector of sums: of one row, from a column on.
  void finish(std::vector<Index> index, const Index& column, int lanes, const std::optional<Index>& count,
              ValueId sum) {
    // The last panel may end before this vector.
    const bool opened = count && open_if_positive(builder_, *count);
    const Index lane = lowerer_.enter_vector(lanes, count);
    if (vector_axis_) index[*vector_axis_] = column + lane;
    lowerer_.set_anchor(group_.anchor, sums_.result(sum));
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
  Accumulation sums_;
  std::array<std::optional<PackedOperand>, 2> packed_;
  std::optional<PanelHints> ahead_;
  std::optional<uint32_t> kept_;                        ///< The local buffer of a tile's sums.
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
