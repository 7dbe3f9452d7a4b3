#include "core/schedule/contract_axes.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/schedule/dot.h"
#include "core/schedule/loops.h"
#include "core/schedule/storage.h"

namespace tandem {
namespace {

ContractOperand inspect(const ProgramBuilder& program, NodeId node, const Shape& space) {
  ContractOperand operand;
  operand.node = node;
  const std::vector<Index> counters = axis_counters(space);
  std::vector<BufferAccess> loads;
  const auto own = program.buffers.find(node);
  if (own != program.buffers.end())
    loads.push_back({node, flat_offset(counters, own->second.strides)});
  else
    loads = summarise(program, node, counters).loads;
  if (loads.size() == 1) {
    const SlotRole role = program.program.slots[program.buffers.at(loads[0].node).slot].role;
    operand.constant = role == SlotRole::kConstant || role == SlotRole::kPacked;
  }
  for (const Index& counter : counters) {
    bool depends = false;
    for (const BufferAccess& load : loads) depends |= load.offset.depends_on(counter);
    operand.depends.push_back(depends);
    const std::optional<Index> step = loads.size() == 1 ? loads[0].offset.coefficient(counter) : std::nullopt;
    operand.step.push_back(step && step->is_constant() ? std::optional<int64_t>(step->constant()) : std::nullopt);
  }
  return operand;
}

bool stores_consecutively(const ProgramBuilder& program, const Group& group, const BufferRef& target, size_t axis) {
  const std::vector<Index> counters = axis_counters(program.module.graph->node(group.anchor).shape);
  const auto root_index = root_index_of_anchor(program.module, group.root, group.anchor, counters);
  const std::optional<Index> step = flat_offset(*root_index, target.strides).coefficient(counters[axis]);
  return step && step->is(1);
}

/// How well an output axis serves as the vector axis; 0 when it has one element.
double vector_score(const ContractAxes& axes, int64_t extent, size_t axis) {
  if (extent < 2) return 0;
  const int dependent = axes.operands[0].depends[axis] + axes.operands[1].depends[axis];
  // Lanes are worth up to a few whole vectors; more gives nothing more.
  double score = static_cast<double>(std::min<int64_t>(extent, 64));
  for (const ContractOperand& operand : axes.operands) {
    if (!operand.depends[axis] || operand.constant) continue;  // Constants are repacked once, at prepare.
    if (operand.step[axis] != 1) score *= 0.25;                // Repacked at every step.
  }
  return dependent == 1 ? score * 2 : score;  // The other operand is one broadcast for the whole vector.
}

/// Do the products need no rounding in the dtype in which they are summed?
bool has_exact_products(const Graph& graph, const Node& contraction) {
  if (!is_float(contraction.dtype)) return false;
  return multiplies_exactly(storage_dtype(graph, contraction.operands[0]),
                            storage_dtype(graph, contraction.operands[1]),
                            contraction.dtype == DType::kF64 ? DType::kF64 : DType::kF32);
}

/// "768", "1..512", "8..512 by 8": what a kernel knows of a size.
std::string size_text(const Index& size) {
  if (size.is_constant()) return concat(size.constant());
  return concat(size.lower(), "..", size.upper(), size.multiple() > 1 ? concat(" by ", size.multiple()) : "");
}

}  // namespace

ContractAxes choose_contract_axes(const ProgramBuilder& program, const Group& group, const BufferRef* target) {
  const Graph& graph = *program.module.graph;
  const Node& anchor = graph.node(group.anchor);
  const Shape& space = graph.node(anchor.operands[0]).shape;
  const size_t rank = anchor.shape.size();
  ContractAxes axes;
  for (int i = 0; i < 2; i++) axes.operands[i] = inspect(program, anchor.operands[i], space);
  double best = 0;
  for (size_t axis = 0; axis < rank; axis++) {
    if (group.is_lane(axis)) continue;  // Its counter says where other axes end: a loop must hold it.
    double score = vector_score(axes, space[axis].upper(), axis);
    if (score > 0 && target && !stores_consecutively(program, group, *target, axis)) score *= 0.5;
    if (score >= best && score > 0) {
      best = score;
      axes.vector_axis = axis;
    }
  }
  // Rows repeat the vector operand: along them it doesn't change, so one load serves all.
  int64_t most = 1;
  for (size_t axis = 0; axis < rank; axis++) {
    if ((axes.vector_axis && axis == *axes.vector_axis) || group.is_lane(axis)) continue;
    bool reuses = false;
    for (const ContractOperand& operand : axes.operands)
      reuses |= !operand.depends[axis] && (!axes.vector_axis || operand.depends[*axes.vector_axis]);
    if (reuses && space[axis].upper() > most) {
      most = space[axis].upper();
      axes.row_axis = axis;
    }
  }
  for (size_t axis = 0; axis < rank; axis++)
    if (!(axes.vector_axis && axis == *axes.vector_axis) && !(axes.row_axis && axis == *axes.row_axis) &&
        !space[axis].is(1))
      axes.outer.push_back(axis);
  const int64_t columns = axes.vector_axis ? space[*axes.vector_axis].upper() : 1;
  const Capabilities& capabilities = program.options.capabilities;
  axes.fused = capabilities.fma && (program.options.numerics == Numerics::kFast || has_exact_products(graph, anchor));
  const int bytes = size_of(register_scalar(anchor.dtype));
  axes.tile = choose_tile(capabilities, axes.fused, most, columns, bytes, group.tile_rows);
  if (program.options.tiles && target && axes.vector_axis && group.tile_rows == 0) {
    axes.key = contraction_key(program, group, axes, *target);
    axes.candidates = candidate_tiles(capabilities, axes.fused, most, columns, bytes);
    for (Tile& tile : axes.candidates) tile.lanes = std::min(tile.lanes, lanes_for(columns));
    const auto known = program.options.tiles->find(axes.key);
    const auto fits = [&](const Tile& tile) {
      return std::count(axes.candidates.begin(), axes.candidates.end(), tile);
    };
    if (known != program.options.tiles->end() && fits(known->second)) axes.tile = known->second;
  }
  if (!axes.vector_axis) axes.tile.vectors = axes.tile.lanes = 1;
  axes.tile.lanes = std::min(axes.tile.lanes, lanes_for(columns));
  return axes;
}

std::string contraction_key(const ProgramBuilder& program, const Group& group, const ContractAxes& axes,
                            const BufferRef& target) {
  const Graph& graph = *program.module.graph;
  const Node& anchor = graph.node(group.anchor);
  const Shape& space = graph.node(anchor.operands[0]).shape;
  std::string key = concat(name_of(anchor.dtype), "[");
  for (size_t axis = 0; axis < space.size(); axis++) {
    const bool outer = std::count(axes.outer.begin(), axes.outer.end(), axis) > 0;
    key += concat(axis == 0                     ? ""
                  : axis == anchor.shape.size() ? " | "
                                                : ", ",
                  size_text(space[axis]),
                  axes.row_axis == axis      ? " rows"
                  : axes.vector_axis == axis ? " columns"
                  : outer                    ? " outer"
                                             : "",
                  group.is_lane(axis) ? " lane" : "", group.demand_of(axis).empty() ? "" : " ends early");
  }
  key += "]";
  for (size_t i = 0; i < axes.operands.size(); i++) {
    const ContractOperand& operand = axes.operands[i];
    key += concat(i == 0 ? " = " : " * ", operand.constant ? "constant " : "",
                  name_of(storage_dtype(graph, operand.node)), "(");
    for (size_t axis = 0; axis < space.size(); axis++) {
      key += axis == 0 ? "" : " ";
      key += !operand.depends[axis] ? "-" : operand.step[axis] ? concat(*operand.step[axis]) : "?";
    }
    key += ")";
  }
  key += concat(" -> ", name_of(target.dtype),
                stores_consecutively(program, group, target, *axes.vector_axis) ? "" : " apart",
                axes.fused ? ", fused" : "", has_bfloat16_dots(program.options) ? ", dots" : "");
  return key;
}

std::vector<size_t> contract_axis_order(const ProgramBuilder& program, const Group& group) {
  const ContractAxes axes = choose_contract_axes(program, group, nullptr);
  const Graph& graph = *program.module.graph;
  const std::vector<Index> counters = axis_counters(graph.node(group.anchor).shape);
  const auto root_index = root_index_of_anchor(program.module, group.root, group.anchor, counters);
  std::vector<size_t> order, last;
  for (size_t axis = 0; axis < root_index->size(); axis++) {
    const bool runs = axes.vector_axis && (*root_index)[axis].depends_on(counters[*axes.vector_axis]);
    (runs ? last : order).push_back(axis);
  }
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

}  // namespace tandem
