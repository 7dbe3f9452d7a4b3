#include "core/schedule/pack.h"

#include "core/base/text.h"
#include "core/schedule/loops.h"

namespace tandem {

std::vector<Index> PackedOperand::index(const std::vector<Index>& space_index, const Index& panel,
                                        const Index& column) const {
  std::vector<Index> result;
  for (size_t i = 0; i < outer; i++) result.push_back(space_index[axes[i]]);
  result.push_back(panel);
  for (size_t i = outer; i < axes.size(); i++) result.push_back(space_index[axes[i]]);
  result.push_back(column);
  return result;
}

PackedOperand pack_operand(ProgramBuilder& program, NodeId operand, const Shape& space, size_t rank, size_t vector_axis,
                           const std::vector<bool>& depends, const Tile& tile, bool constant, bool consecutive,
                           const std::string& origin) {
  const int width = tile.width();
  const Graph& graph = *program.module.graph;
  PackedOperand packed;
  Shape shape;
  const Index panels = ceil_div(space[vector_axis], width);
  for (size_t axis = 0; axis < space.size(); axis++) {
    if (axis == rank) shape.push_back(panels);
    if (axis == vector_axis || !depends[axis]) continue;
    packed.axes.push_back(axis);
    packed.outer += axis < rank;
    shape.push_back(space[axis]);
  }
  if (rank == space.size()) shape.push_back(panels);
  shape.push_back(width);

  const Node& node = graph.node(operand);
  std::vector<size_t> order;
  for (size_t axis = 0; axis < shape.size(); axis++) order.push_back(axis);
  packed.buffer.dtype = node.dtype;
  packed.buffer.strides = ordered_strides(shape, order);
  packed.buffer.slot = program.add_slot(constant ? SlotRole::kPacked : SlotRole::kIntermediate, node.dtype,
                                        maximum_elements(shape), concat("packed operand of ", origin));

  KernelBuilder builder;
  ValueLowerer lowerer(graph, program.buffers, program.slot_elements, builder, program.options.capabilities,
                       program.options.numerics);
  std::vector<Index> at;
  for (size_t axis = 0; axis + 1 < shape.size(); axis++)
    at.push_back(axis == 0 ? builder.open_range(shape[axis]) : builder.open_loop(0, shape[axis]));
  const Index panel = at[packed.outer];
  const auto space_index = [&](const Index& column) {
    std::vector<Index> index(space.size(), 0);
    for (size_t i = 0; i < packed.axes.size(); i++) index[packed.axes[i]] = at[i < packed.outer ? i : i + 1];
    index[vector_axis] = panel * width + column;
    return index;
  };
  const ValueId zero = lowerer.scalar(node.dtype, 0, 0);
  // What is gathered lane by lane once, at prepare, takes longer to compile than to run: a plain loop serves it better.
  const int lanes = constant && !consecutive ? 1 : tile.lanes;
  const Index live = max(min(space[vector_axis] - panel * width, width), 0);
  const auto write = [&](const Index& first, int count_lanes, const std::optional<Index>& live_lanes, bool empty) {
    const Index lane = count_lanes > 1 ? Index::lane(count_lanes) : Index(0);
    if (count_lanes > 1)
      lowerer.set_lanes(lane, count_lanes, live_lanes);
    else
      lowerer.clear_lanes();
    ValueId value = empty ? zero : lowerer.lower(operand, space_index(first + lane));
    // Lanes beyond the last column were not loaded, but an expression may have made anything of them.
    if (live_lanes && count_lanes > 1) {
      if (builder.type(value).lanes == 1) value = builder.splat(value, count_lanes);
      const ValueId numbers = builder.lane_numbers(Scalar::kI32, count_lanes);
      const ValueId inside = builder.binary(Opcode::kLess, numbers, builder.index_value(Scalar::kI32, *live_lanes));
      value = node.dtype == DType::kBool ? builder.binary(Opcode::kAnd, value, inside)
                                         : builder.select(inside, value, zero);
    }
    std::vector<Index> place = at;
    place.push_back(first + lane);
    if (count_lanes > 1) lowerer.set_lanes(lane, count_lanes);
    lowerer.store(packed.buffer, place, value);
    lowerer.clear_lanes();
  };
  // Whole vectors, then the one that the end of the columns cuts, then zeros.
  const Index whole = floor_div(live, lanes) * lanes;
  Index first = builder.open_loop(0, whole, lanes);
  write(first, lanes, std::nullopt, false);
  builder.close_loop();
  if (!same(whole, live)) {
    const Index rest = live - whole;
    const bool opened = open_if_positive(builder, rest);
    write(whole, lanes, rest, false);
    if (opened) builder.close_if();
  }
  first = builder.open_loop(ceil_div(live, lanes) * lanes, width, lanes);
  write(first, lanes, std::nullopt, true);
  builder.close_loop();
  for (size_t axis = 1; axis + 1 < shape.size(); axis++) builder.close_loop();
  std::string name = "pack";
  for (const Dim& dim : shape) name += concat("_", dim.upper());
  program.add_call(constant ? Phase::kPrepare : Phase::kStep, builder.finish(std::move(name)), lowerer.slots(), origin);
  return packed;
}

}  // namespace tandem
