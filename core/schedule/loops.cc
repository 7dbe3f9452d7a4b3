#include "core/schedule/loops.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/text.h"

namespace tandem {

AccessSummary summarise(const ProgramBuilder& program, NodeId node, const std::vector<Index>& index) {
  AccessSummary summary;
  const Graph& graph = *program.module.graph;
  AccessWalk walk(graph);
  walk.choose = [&](const Breakpoint& breakpoint) { summary.breakpoints.push_back(breakpoint); };
  walk.end = [&](NodeId at, const std::vector<Index>& place) {
    const Node& here = graph.node(at);
    summary.limits.emplace_back(at, place);
    summary.others.push_back(place[static_cast<size_t>(here.attributes.axis)]);
    for (size_t axis = 0; axis < graph.node(here.operands[1]).shape.size(); axis++)
      summary.others.push_back(place[axis]);
  };
  walk.visit = [&](NodeId at, const std::vector<Index>& place) {
    const auto buffer = program.buffers.find(at);
    if (at != node && buffer != program.buffers.end()) {
      summary.loads.push_back({at, flat_offset(place, buffer->second.strides)});
      return false;
    }
    const Node& here = graph.node(at);
    if (here.op == Op::kIota) summary.others.push_back(place[here.attributes.axis]);
    if (here.op == Op::kGather)
      for (const Index& expression : place) summary.others.push_back(expression);
    const OpClass op_class = info(here.op).op_class;
    summary.has_reduction |= op_class == OpClass::kReduce || op_class == OpClass::kContract;
    return true;
  };
  walk.walk(node, index);
  return summary;
}

int64_t maximum_elements(const Shape& shape) {
  int64_t count = 1;
  for (const Dim& dim : shape) count *= dim.upper();
  return count;
}

Shape ordered_strides(const Shape& shape, const std::vector<size_t>& order) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]].upper();
  }
  return strides;
}

std::vector<size_t> choose_axis_order(const ProgramBuilder& program, const Group& group) {
  const Shape& shape = program.module.graph->node(group.root).shape;
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (group.row_statistics) return order;
  const std::vector<Index> counters = axis_counters(shape);
  const AccessSummary summary = summarise(program, group.root, counters);
  // The order of the load that runs over most elements: its producer wrote it the way that suits it.
  std::vector<int64_t> steps;
  int64_t most = 0;
  for (const BufferAccess& load : summary.loads) {
    std::vector<int64_t> step;
    int64_t covered = 1;
    for (size_t axis = 0; axis < shape.size(); axis++) {
      const std::optional<Index> coefficient = load.offset.coefficient(counters[axis]);
      const int64_t size = coefficient ? std::abs(coefficient->upper()) : 0;
      step.push_back(size);
      if (size != 0) covered *= shape[axis].upper();
    }
    if (covered > most) {
      most = covered;
      steps = step;
    }
  }
  if (most <= 1) return order;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    // Axes that the load doesn't run over stay where they are relative to the others: outside.
    const int64_t left = steps[a] == 0 ? INT64_MAX : steps[a];
    const int64_t right = steps[b] == 0 ? INT64_MAX : steps[b];
    return left != right ? left > right : a < b;
  });
  return order;
}

void pin_row_statistics(const ProgramBuilder& program, ValueLowerer& lowerer, NodeId node,
                        const std::vector<Index>& index, const std::vector<Index>& open) {
  std::map<NodeId, std::vector<std::vector<Index>>> found;
  const Graph& graph = *program.module.graph;
  // What comes before all loops costs the range: lengths are loaded there only for a reduction that is computed there.
  bool loads_lengths = !open.empty();
  const auto visit = [&](NodeId at, const std::vector<Index>& place) {
    if (program.buffers.count(at)) return false;
    if (graph.node(at).op == Op::kLimit && loads_lengths && lowerer.known_inside(at, place, open) == Truth::kNever)
      return false;
    if (info(graph.node(at).op).op_class != OpClass::kReduce) return true;
    bool ready = !lowerer.is_pinned(at, place);
    for (const Index& expression : place)
      expression.for_each_leaf([&](const Index& leaf) {
        const bool length = leaf.kind() == IndexKind::kValue && leaf.id() < kFirstWalked;
        ready &= leaf.kind() == IndexKind::kVariable || length || std::count(open.begin(), open.end(), leaf) > 0;
      });
    if (ready) found[at].push_back(place);
    return true;
  };
  const auto search = [&] {
    AccessWalk walk(graph);
    walk.visit = visit;
    if (loads_lengths)
      walk.inside = [&](NodeId at, const std::vector<Index>& place) { return lowerer.inside_limit(at, place, open); };
    found.clear();
    walk.walk(node, index);
  };
  search();
  if (!loads_lengths && !found.empty()) {
    loads_lengths = true;
    search();
  }
  // Operands first: a sum of exponentials needs the maximum below it.
  for (const auto& [reduction, places] : found)
    for (const std::vector<Index>& place : places)
      if (!lowerer.is_pinned(reduction, place)) lowerer.pin(reduction, place);
}

int lanes_for(int64_t count) {
  int lanes = 1;
  while (lanes < count && lanes < 16) lanes *= 2;
  return lanes;
}

bool open_if_positive(KernelBuilder& builder, const Index& count) {
  if (less(0, count) == Truth::kAlways) return false;
  builder.open_if(
      builder.binary(Opcode::kLess, builder.integer({Scalar::kI32, 1}, 0), builder.index_value(Scalar::kI32, count)));
  return true;
}

void emit_vector_loop(KernelBuilder& builder, const Index& begin, const Index& end, int lanes,
                      const std::function<void(const Index& first, int lanes, std::optional<Index> count)>& body) {
  const Index size = end - begin;
  if (size.upper() <= 0) return;
  lanes = std::min(lanes, lanes_for(size.upper()));
  const Index whole = floor_div(size, lanes) * lanes;
  if (whole.upper() > 0) {
    const Index first = builder.open_loop(begin, begin + whole, lanes);
    body(first, lanes, std::nullopt);
    builder.close_loop();
  }
  const Index rest = floor_mod(size, lanes);
  if (rest.is(0)) return;
  if (!rest.is_constant()) {
    // Without a rest nothing may be touched, not even by lanes that stand in for those beyond the end.
    const bool opened = open_if_positive(builder, rest);
    body(begin + whole, lanes, rest);
    if (opened) builder.close_if();
    return;
  }
  const int rest_lanes = lanes_for(rest.constant());
  std::optional<Index> count;
  if (!rest.is(rest_lanes)) count = rest;
  body(begin + whole, rest_lanes, count);
}

std::string kernel_name(const ProgramBuilder& program, const Group& group) {
  const Graph& graph = *program.module.graph;
  std::string name(name_of(group.form));
  const Node& root = graph.node(group.root);
  if (is_elementwise(info(root.op).op_class) || (group.anchor == kNoNode && info(root.op).op_class != OpClass::kLeaf))
    name += concat("_", name_of(root.op));
  const Node& shaped = graph.node(group.anchor == kNoNode ? group.root : group.anchor);
  const Shape& shape = group.anchor == kNoNode ? shaped.shape : graph.node(shaped.operands[0]).shape;
  for (const Dim& dim : shape)
    if (!dim.is(1)) name += concat("_", dim.upper());
  return name;
}

}  // namespace tandem
