// Attention in one kernel: contractions and what lies between them, a few rows at a time.

#include "core/schedule/strips.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/movement_index.h"
#include "core/schedule/contract_axes.h"
#include "core/schedule/loops.h"

namespace tandem {
namespace {

/// The strips of one tile lie on the stack, natively, and should stay in the second-level cache.
constexpr int64_t kStripBytes = 64 << 10;
/// With fewer rows the operands that all rows share are read too often.
constexpr int64_t kFewestRows = 4;
/// What all rows of a result share, per outer subscript, is read again for each tile: from a cache.
constexpr int64_t kSharedBytes = 1 << 20;
/// Rows begin at multiples of a cache line, and not at multiples of many: they would meet in the cache.
constexpr int64_t kPitch = 16;

/// The roots of other groups that a group reads, and how it comes to them.
class Readers {
 public:
  Readers(const Graph& graph, const std::vector<Group>& groups) : graph_(graph), number_(graph.size(), kNone) {
    for (size_t i = 0; i < groups.size(); i++) number_[groups[i].root] = i;
    readers_.resize(groups.size());
    for (size_t i = 0; i < groups.size(); i++) {
      for (const size_t read : reads_of(groups[i].root, kNoNode)) readers_[read].push_back(i);
      for (const AxisDemand& demand : groups[i].demand)
        for (const LaneEnd& end : demand)
          if (number_[end.lengths] != kNone) readers_[number_[end.lengths]].push_back(i);
    }
  }

  /// Groups that are read below a node, without a look below `except`.
  std::set<size_t> reads_of(NodeId node, NodeId except) const {
    std::set<size_t> found;
    std::set<NodeId> seen;
    std::vector<NodeId> pending = {node};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (id == except || !seen.insert(id).second) continue;
      if (id != node && number_[id] != kNone) {
        found.insert(number_[id]);
        continue;
      }
      for (NodeId operand : graph_.node(id).operands) pending.push_back(operand);
    }
    return found;
  }

  /// Does this group alone read the other one?
  bool only_one_reads(size_t group, size_t reader) const {
    return std::all_of(readers_[group].begin(), readers_[group].end(), [&](size_t i) { return i == reader; });
  }

  std::optional<size_t> group_of(NodeId root) const {
    return number_[root] == kNone ? std::nullopt : std::optional(number_[root]);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  const Graph& graph_;
  std::vector<size_t> number_;  ///< Per node: of the group whose root it is.
  std::vector<std::vector<size_t>> readers_;
};

/// The node that an operand shows, moved about or as f32 where it is bf16.
NodeId below_views(const Graph& graph, NodeId id) {
  while (is_rearrangement(graph.node(id).op) || shows_bfloat16(graph, id)) id = graph.node(id).operands[0];
  return id;
}

bool is_between(const Group& group, Form form) {
  return group.form == form && !group.prepare && group.reason != "output";
}

/// How the axes of a chain belong together. Axes are those of the weights, and of the scores, which have the same.
struct StripAxes {
  std::vector<std::optional<size_t>> of_result;  ///< Axis of the result's space for each; none: it has one place.
  size_t row = 0;
  size_t column = 0;          ///< The last axis; the result sums along it.
  std::vector<size_t> outer;  ///< Outermost first.
};

/// Joins one chain, or lowers what was joined.
class Strips {
 public:
  Strips(ProgramBuilder& program, const Group& scores, const Group& weights, const Group& result)
      : program_(program),
        graph_(*program.module.graph),
        scores_(scores),
        weights_(weights),
        result_(result),
        shape_(graph_.node(weights.root).shape),
        counters_(axis_counters(shape_)) {}
  ~Strips() { hide_strips(); }
  Strips(const Strips&) = delete;
  Strips& operator=(const Strips&) = delete;

  std::optional<Group> join(const std::function<BufferRef(const Group&)>& layout) {
    const size_t slots = program_.program.slots.size();
    std::optional<Group> joined;
    if (matches() && has_floats()) {
      add_strips(1);
      show(scores_, of_scores_);
      show(weights_, of_weights_);
      joined = choose_rows(layout(result_));
    }
    program_.program.slots.resize(slots);
    program_.slot_elements.resize(slots);
    return joined;
  }

  void lower(const BufferRef& target) {
    TANDEM_CHECK(matches(), "a chain that was joined has axes that match");
    add_strips(result_.tile_rows);
    show(scores_, of_scores_);
    show(weights_, of_weights_);
    const ContractAxes axes = choose_contract_axes(program_, result_, &target);
    TANDEM_CHECK(find_axes(axes), "a chain that was joined has loops that match");
    hide_strips();
    Emission emission(program_);
    ValueLowerer& lowerer = emission.kernel.lowerer;
    emission.scores = rows_of_contract(program_, scores_, of_scores_, emission.kernel);
    show(scores_, of_scores_);
    emission.weights = rows_of_map(program_, weights_, of_weights_, axes_.row, emission.kernel);
    show(weights_, of_weights_);
    emission.result = rows_of_contract(program_, result_, target, emission.kernel);
    const Index first = open_range(emission);
    const AxisDemand& demand = result_.demand_of(*axes.row_axis);
    emit_rows(emission, first, lowerer.end_of_demand(demand, in_result(emission.index), shape_[axes_.row]));
    Kernel made = emission.kernel.builder.finish(concat(kernel_name(program_, result_), "_strips_", text(axes.tile)),
                                                 2 * (products(scores_) + products(result_)));
    program_.add_call(Phase::kStep, std::move(made), lowerer.slots(), graph_.node(result_.root).origin);
  }

 private:
  /// The kernel while it is made.
  struct Emission {
    KernelContext kernel;
    std::unique_ptr<RowLowering> scores, weights, result;
    std::vector<Index> index;  ///< Subscript of the weights; those of rows and columns don't matter.

    explicit Emission(const ProgramBuilder& program) : kernel(program) {}
  };

  /// The range runs through the outer axes and, inside them, the tiles. Returns the first row of the tile.
  Index open_range(Emission& emission) const {
    const Index tiles = ceil_div(shape_[axes_.row], result_.tile_rows);
    Index range = tiles;
    for (const size_t axis : axes_.outer) range *= shape_[axis];
    const Index item = emission.kernel.builder.open_range(range);
    const Index first = floor_mod(item, divisor(tiles)) * result_.tile_rows;
    Index rest = floor_div(item, divisor(tiles));
    emission.index.assign(shape_.size(), 0);
    for (size_t i = axes_.outer.size(); i-- > 0;) {
      const Index extent = divisor(shape_[axes_.outer[i]]);
      emission.index[axes_.outer[i]] = floor_mod(rest, extent);
      rest = floor_div(rest, extent);
    }
    return first;
  }

  /// A tile from `first` on, as far as rows are seen. What is left of them is computed by the code of whole tiles: a
  /// second tile would double the kernel.
  void emit_rows(Emission& emission, const Index& first, const Index& seen) {
    const int tile_rows = result_.tile_rows;
    if (floor_mod(seen, tile_rows).is(0)) return emit_tile(emission, first, tile_rows, std::nullopt);
    KernelBuilder& builder = emission.kernel.builder;
    const bool opened = open_if_positive(builder, seen - first);
    emit_tile(emission, first, tile_rows, seen);
    if (opened) builder.close_if();
  }

  /// Everything for so many rows from `base` on; those at `end` and beyond repeat the last one before it.
  void emit_tile(Emission& emission, const Index& base, int count, const std::optional<Index>& end) {
    KernelBuilder& builder = emission.kernel.builder;
    ValueLowerer& lowerer = emission.kernel.lowerer;
    const auto row_at = [&](const Index& place) {
      if (!end) return base + place;
      const ValueId number = builder.index_value(Scalar::kI32, min(base + place, *end - 1));
      return builder.as_index(number, 0, shape_[axes_.row].upper() - 1);
    };
    std::vector<Index> rows;
    std::vector<std::pair<Index, Index>> places;
    for (int row = 0; row < count; row++) {
      rows.push_back(row_at(row));
      places.emplace_back(rows.back(), row);
    }
    std::vector<Index> index = emission.index;
    index[axes_.row] = rows[0];
    lowerer.set_rows(places);
    hide_strips();
    emission.scores->emit(index, rows);
    show(scores_, of_scores_);
    const Index place = builder.open_loop(0, count);
    const Index row = row_at(place);
    index[axes_.row] = row;
    lowerer.set_rows({{row, place}});
    emission.weights->emit(index, {row});
    builder.close_loop();
    show(weights_, of_weights_);
    index[axes_.row] = rows[0];
    lowerer.set_rows(std::move(places));
    emission.result->emit(in_result(index), rows);
  }

  int64_t products(const Group& group) const {
    return maximum_elements(graph_.node(graph_.node(group.anchor).operands[0]).shape);
  }

  /// A strip can be read when it is shown. While it is made, it isn't: its group would load what it should compute.
  void show(const Group& group, const BufferRef& strip) { program_.buffers.insert_or_assign(group.root, strip); }
  void hide_strips() {
    program_.buffers.erase(scores_.root);
    program_.buffers.erase(weights_.root);
  }

  /// Subscript of an element of the weights in the outputs of the result: along the axes that both have.
  std::vector<Index> in_result(const std::vector<Index>& index) const {
    std::vector<Index> outputs(graph_.node(result_.anchor).shape.size(), 0);
    for (size_t axis = 0; axis < index.size(); axis++)
      if (axis != axes_.column && axes_.of_result[axis]) outputs[*axes_.of_result[axis]] = index[axis];
    return outputs;
  }

  /// Do the three tensors run along the same axes, and are all elements of the scores that a row of the weights needs
  /// in the same row?
  bool matches() {
    const Node& anchor = graph_.node(result_.anchor);
    const Node& scores = graph_.node(scores_.root);
    const Shape& space = graph_.node(anchor.operands[0]).shape;
    if (shape_.size() < 2 || space.size() != anchor.shape.size() + 1 || scores.shape.size() != shape_.size())
      return false;
    axes_.column = shape_.size() - 1;
    for (size_t axis = 0; axis + 1 < shape_.size(); axis++)
      if (!same(shape_[axis], scores.shape[axis])) return false;
    // The weights as the result reads them.
    const size_t side = below_views(graph_, anchor.operands[0]) == weights_.root ? 0 : 1;
    NodeId node = anchor.operands[side];
    const std::vector<Index> space_counters = axis_counters(space);
    std::vector<Index> index = space_counters;
    while (node != weights_.root) {
      if (is_rearrangement(graph_.node(node).op)) index = operand_index(graph_, graph_.node(node), index);
      node = graph_.node(node).operands[0];
    }
    axes_.of_result.assign(shape_.size(), std::nullopt);
    for (size_t axis = 0; axis < shape_.size(); axis++) {
      const auto found = std::find(space_counters.begin(), space_counters.end(), index[axis]);
      if (found != space_counters.end())
        axes_.of_result[axis] = static_cast<size_t>(found - space_counters.begin());
      else if (!index[axis].is(0) || !shape_[axis].is(1))
        return false;
    }
    if (axes_.of_result[axes_.column] != anchor.shape.size()) return false;
    // The scores as their kernel stores them.
    const Node& product = graph_.node(scores_.anchor);
    const std::vector<Index> stored = axis_counters(product.shape);
    const auto place = root_index_of_anchor(program_.module, scores_.root, scores_.anchor, stored);
    return place && *place == stored;
  }

  /// Does everything that the weights need of the scores lie in the same row, and are they reduced along rows only? An
  /// end along the row axis would have rows computed at other rows' places.
  bool rows_are_apart(size_t row) const {
    bool apart = true;
    AccessWalk walk(graph_);
    walk.visit = [&](NodeId at, const std::vector<Index>& place) {
      for (size_t axis = 0; at == scores_.root && axis < axes_.column; axis++)
        apart = apart && (place[axis] == counters_[axis] || shape_[axis].is(1));
      if (at != weights_.root && program_.buffers.count(at) > 0) return false;
      if (info(graph_.node(at).op).op_class == OpClass::kReduce)
        apart = apart && std::any_of(place.begin(), place.end(),
                                     [&](const Index& expression) { return expression.depends_on(counters_[row]); });
      return true;
    };
    walk.end = [&](NodeId at, const std::vector<Index>& place) {
      apart = apart && !place[static_cast<size_t>(graph_.node(at).attributes.axis)].depends_on(counters_[row]);
    };
    walk.walk(weights_.root, counters_);
    return apart;
  }

  /// Strips hold floats as registers do: what is rounded to f16 or bf16 lies there as f32.
  DType strip_dtype(const Group& group) const {
    return graph_.node(group.root).dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  }
  bool has_floats() const {
    return is_float(graph_.node(scores_.root).dtype) && is_float(graph_.node(weights_.root).dtype);
  }

  /// Elements between rows of a strip: the scores may have more columns than the weights use, and are written in
  /// panels.
  int64_t pitch(const Group& group) const {
    int64_t columns = graph_.node(group.root).shape.back().upper();
    if (&group == &scores_) columns = (columns + panel_ - 1) / panel_ * panel_;
    const int64_t lines = (columns + kPitch - 1) / kPitch;
    return (lines | 1) * kPitch;
  }

  void add_strips(int64_t rows) {
    of_scores_ = describe_strip(scores_);
    of_weights_ = describe_strip(weights_);
    panel_ = choose_contract_axes(program_, scores_, &of_scores_).tile.width();
    for (const auto& [buffer, group] : {std::pair(&of_scores_, &scores_), std::pair(&of_weights_, &weights_)})
      buffer->slot = program_.add_slot(SlotRole::kIntermediate, buffer->dtype, rows * pitch(*group),
                                       concat("strip for ", graph_.node(result_.root).origin));
  }
  BufferRef describe_strip(const Group& group) const {
    const Node& node = graph_.node(group.root);
    BufferRef buffer;
    buffer.dtype = strip_dtype(group);
    buffer.strides = dense_strides(node.shape);
    buffer.partial = group.is_partial(graph_.node(group.anchor == kNoNode ? group.root : group.anchor).shape.size());
    buffer.strip = Strip{};
    return buffer;
  }

  /// Fills in rows and outer axes; false when the loops of the contractions differ.
  bool find_axes(const ContractAxes& axes) {
    if (!axes.row_axis || !axes.vector_axis) return false;
    const auto row = std::find(axes_.of_result.begin(), axes_.of_result.end(), axes.row_axis);
    if (row == axes_.of_result.end()) return false;
    axes_.row = static_cast<size_t>(row - axes_.of_result.begin());
    axes_.outer.clear();
    std::vector<size_t> outer;
    for (size_t axis = 0; axis < axes_.column; axis++) {
      if (axis == axes_.row || shape_[axis].is(1)) continue;
      if (!axes_.of_result[axis]) return false;
      axes_.outer.push_back(axis);
      outer.push_back(*axes_.of_result[axis]);
    }
    std::vector<size_t> expected = axes.outer;
    std::sort(outer.begin(), outer.end());
    std::sort(expected.begin(), expected.end());
    for (const auto& [buffer, group] : {std::pair(&of_scores_, &scores_), std::pair(&of_weights_, &weights_)}) {
      buffer->strip->row_axis = axes_.row;
      buffer->strip->strides.assign(shape_.size(), 0);
      buffer->strip->strides[axes_.row] = pitch(*group);
      buffer->strip->strides[axes_.column] = 1;
    }
    return outer == expected;
  }

  /// Bytes of an operand per outer subscript, of what all rows share.
  int64_t shared_bytes(const Group& group, const ContractAxes& axes) const {
    const Node& anchor = graph_.node(group.anchor);
    const Shape& space = graph_.node(anchor.operands[0]).shape;
    int64_t elements = space[*axes.vector_axis].upper();
    for (size_t axis = anchor.shape.size(); axis < space.size(); axis++) elements *= space[axis].upper();
    return elements * static_cast<int64_t>(size_of(anchor.dtype));
  }

  std::optional<Group> choose_rows(const BufferRef& target) {
    const ContractAxes result_axes = choose_contract_axes(program_, result_, &target);
    if (!find_axes(result_axes)) return std::nullopt;
    const ContractAxes score_axes = choose_contract_axes(program_, scores_, &of_scores_);
    if (score_axes.row_axis != axes_.row || score_axes.vector_axis != axes_.column) return std::nullopt;
    if (!rows_are_apart(axes_.row)) return std::nullopt;
    for (const auto& [axes, group] : {std::pair(&result_axes, &result_), std::pair(&score_axes, &scores_)}) {
      for (const ContractOperand& operand : axes->operands)
        if (operand.depends[*axes->vector_axis] && (operand.constant || operand.depends[*axes->row_axis]))
          return std::nullopt;
      for (const size_t axis : axes->outer)
        if (!group->demand_of(axis).empty()) return std::nullopt;
      if (shared_bytes(*group, *axes) > kSharedBytes) return std::nullopt;
    }
    for (const size_t axis : axes_.outer)
      if (!weights_.demand_of(axis).empty()) return std::nullopt;
    const int64_t row_bytes = pitch(scores_) * static_cast<int64_t>(size_of(of_scores_.dtype)) +
                              pitch(weights_) * static_cast<int64_t>(size_of(of_weights_.dtype));
    const int64_t fewest = std::min(kFewestRows, shape_[axes_.row].upper());
    const int64_t rows = std::min(std::max<int64_t>(result_axes.tile.rows, fewest), kStripBytes / row_bytes);
    if (rows < fewest) return std::nullopt;
    Group joined = result_;
    joined.layout = target;
    joined.tile_rows = static_cast<int>(rows);
    joined.strips = {scores_, weights_};
    joined.strips[0].tile_rows = joined.tile_rows;
    return joined;
  }

  ProgramBuilder& program_;
  const Graph& graph_;
  const Group& scores_;
  const Group& weights_;
  const Group& result_;
  const Shape& shape_;  ///< Of the weights.
  const std::vector<Index> counters_;
  StripAxes axes_;
  BufferRef of_scores_, of_weights_;
  int64_t panel_ = 1;  ///< Columns of a tile of the scores.
};

}  // namespace

std::vector<std::optional<StripChain>> find_strip_chains(const GraphModule& module, const std::vector<Group>& groups) {
  const Graph& graph = *module.graph;
  const Readers readers(graph, groups);
  std::vector<std::optional<StripChain>> chains(groups.size());
  for (size_t i = 0; i < groups.size(); i++) {
    const Group& result = groups[i];
    if (result.form != Form::kContract || result.prepare) continue;
    for (const NodeId operand : graph.node(result.anchor).operands) {
      const std::optional<size_t> weights = readers.group_of(below_views(graph, operand));
      if (!weights || !is_between(groups[*weights], Form::kMap) || !groups[*weights].row_statistics) continue;
      if (!readers.only_one_reads(*weights, i) || readers.reads_of(result.root, operand).count(*weights) > 0) continue;
      // What ends a chain itself has strips of its own.
      for (const size_t read : readers.reads_of(groups[*weights].root, kNoNode))
        if (is_between(groups[read], Form::kContract) && readers.only_one_reads(read, *weights) && !chains[read])
          chains[i] = StripChain{read, *weights};
      if (chains[i]) break;
    }
  }
  return chains;
}

std::optional<Group> join_strips(ProgramBuilder& program, const Group& scores, const Group& weights,
                                 const Group& result, const std::function<BufferRef(const Group&)>& layout) {
  return Strips(program, scores, weights, result).join(layout);
}

void lower_strips(ProgramBuilder& program, const Group& group, const BufferRef& target) {
  TANDEM_CHECK(group.strips.size() == 2, "a chain has two strips");
  Strips(program, group.strips[0], group.strips[1], group).lower(target);
}

}  // namespace tandem
