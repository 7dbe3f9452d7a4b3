#include "core/schedule/schedule.h"

#include <algorithm>
#include <functional>

#include "core/base/text.h"
#include "core/schedule/contract_axes.h"
#include "core/schedule/loops.h"
#include "core/schedule/program_builder.h"
#include "core/schedule/shared_lowering.h"
#include "core/schedule/storage.h"
#include "core/schedule/strips.h"
#include "core/schedule/widen.h"
#include "core/schedule/work.h"

namespace tandem {
namespace {

class Scheduler {
 public:
  Scheduler(const GraphModule& module, const ScheduleOptions& options)
      : module_(module), graph_(*module.graph), builder_(module, options), shared_(builder_) {}

  Schedule run() {
    schedule_.groups = choose_groups(module_);
    find_demand(module_, schedule_.groups);
    add_leaves();
    std::unordered_map<NodeId, BufferRef> roots;
    const auto lower = [&](const Group& group) {
      const BufferRef target = lower_group(group);
      roots[group.root] = target;
      // An input or constant that is also an output keeps its own buffer for its readers.
      builder_.buffers.emplace(group.root, target);
    };
    // What becomes a strip waits for the group that reads it.
    const std::vector<std::optional<StripChain>> chains = find_strip_chains(module_, schedule_.groups);
    std::vector<bool> waits(schedule_.groups.size(), false);
    for (const auto& chain : chains)
      if (chain) waits[chain->scores] = waits[chain->weights] = true;
    for (size_t i = 0; i < schedule_.groups.size(); i++) {
      if (waits[i]) continue;
      if (chains[i]) join(*chains[i], schedule_.groups[i], lower);
      lower(schedule_.groups[i]);
    }
    for (size_t i = 0; i < module_.outputs.size(); i++) {
      const NodeId output = module_.outputs[i];
      schedule_.outputs.push_back({module_.output_names[i], roots.at(output), graph_.node(output).shape});
    }
    builder_.drop_unread();
    schedule_.repeated_groups = shared_.repeated();
    schedule_.program = std::move(builder_.program);
    schedule_.step_work = std::move(builder_.step_work);
    return std::move(schedule_);
  }

 private:
  void add_leaves() {
    std::vector<bool> reachable(graph_.size(), false);
    for (NodeId output : module_.outputs) reachable[output] = true;
    for (NodeId id = static_cast<NodeId>(graph_.size()); id-- > 0;) {
      if (!reachable[id]) continue;
      for (NodeId operand : graph_.node(id).operands) reachable[operand] = true;
    }
    for (NodeId id = 0; id < graph_.size(); id++) {
      if (!reachable[id]) continue;
      const Node& node = graph_.node(id);
      for (const Dim& dim : node.shape) dim.for_each_leaf([&](const Index& leaf) { add_variable(leaf); });
      for (const Index& size : node.attributes.size) size.for_each_leaf([&](const Index& leaf) { add_variable(leaf); });
      for (const Index& begin : node.attributes.begin)
        begin.for_each_leaf([&](const Index& leaf) { add_variable(leaf); });
      if (node.op != Op::kInput && node.op != Op::kConstant) continue;
      const bool input = node.op == Op::kInput;
      BufferRef buffer;
      buffer.dtype = node.dtype;
      // An input may be a window of a larger buffer: its declared strides are those of its maximum.
      buffer.strides = input && !node.attributes.size.empty() ? node.attributes.size : dense_strides(node.shape);
      const std::string& name = input ? node.attributes.name : node.attributes.data->name;
      buffer.slot = builder_.add_slot(input ? SlotRole::kInput : SlotRole::kConstant, node.dtype,
                                      maximum_elements(node.shape), name);
      builder_.buffers[id] = buffer;
      if (!input) {
        schedule_.constants.push_back({buffer.slot, node.attributes.data});
        continue;
      }
      const size_t number = static_cast<size_t>(node.attributes.count);
      if (schedule_.inputs.size() <= number) schedule_.inputs.resize(number + 1);
      schedule_.inputs[number] = {name, buffer, node.shape, true};
    }
  }

  /// Makes strips of the groups that the chain's result reads, or lowers them on their own.
  void join(const StripChain& chain, Group& result, const std::function<void(const Group&)>& lower) {
    const Group& scores = schedule_.groups[chain.scores];
    const Group& weights = schedule_.groups[chain.weights];
    const auto layout = [&](const Group& group) { return layout_of(group).target; };
    if (auto joined = join_strips(builder_, scores, weights, result, layout)) {
      result = std::move(*joined);
    } else {
      lower(scores);
      lower(weights);
    }
  }

  void add_variable(const Index& leaf) {
    std::vector<Index>& variables = builder_.program.variables;
    if (std::find(variables.begin(), variables.end(), leaf) == variables.end()) variables.push_back(leaf);
  }

  BufferRef lower_group(const Group& group) {
    const Node& node = graph_.node(group.root);
    const std::string name =
        group.reason == "output" ? output_name(group.root) : concat("%", group.root, " ", name_of(node.op));
    if (group.form == Form::kContract && !group.prepare && reads_bfloat16(builder_, group))
      widen_operands(builder_, schedule_.groups, group, layout_of(group).target);
    if (!builder_.options.share_lowering) return lower_alone(group, name);
    if (auto target = shared_.repeat(group, name)) return *target;
    const BufferRef target = lower_alone(group, name);
    shared_.keep(target);
    return target;
  }

  struct Layout {
    BufferRef target;  ///< Without a slot.
    std::vector<size_t> order;
  };
  Layout layout_of(const Group& group) const {
    if (group.layout) return {*group.layout, {}};
    const Node& node = graph_.node(group.root);
    const bool output = group.reason == "output";
    BufferRef target;
    target.dtype = output || group.prepare ? node.dtype : buffer_dtype(builder_, group.root);
    std::vector<size_t> order;
    if (output) {
      // What the caller reads is dense in its live shape.
      for (size_t axis = 0; axis < node.shape.size(); axis++) order.push_back(axis);
      target.strides = dense_strides(node.shape);
    } else {
      order = group.form == Form::kContract ? contract_axis_order(builder_, group) : choose_axis_order(builder_, group);
      target.strides = ordered_strides(node.shape, order);
    }
    target.partial = group.is_partial(graph_.node(group.anchor == kNoNode ? group.root : group.anchor).shape.size());
    return {target, order};
  }

  BufferRef lower_alone(const Group& group, const std::string& name) {
    const Node& node = graph_.node(group.root);
    const bool output = group.reason == "output";
    auto [target, order] = layout_of(group);
    const SlotRole role = output ? SlotRole::kOutput : group.prepare ? SlotRole::kPacked : SlotRole::kIntermediate;
    target.slot = builder_.add_slot(role, target.dtype, maximum_elements(node.shape), name);
    // A result without elements needs no kernel.
    if (maximum_elements(node.shape) == 0) return target;
    switch (group.form) {
      case Form::kMap:
        lower_map(builder_, group, target, order);
        break;
      case Form::kReduce:
        lower_reduce(builder_, group, target, order);
        break;
      case Form::kContract:
        lower_contraction(group, target);
        break;
    }
    builder_.describe_last_call(group.prepare ? Phase::kPrepare : Phase::kStep, origin_of(builder_, group),
                                work_of(builder_, group, target.dtype));
    return target;
  }

  void lower_contraction(const Group& group, const BufferRef& target) {
    const size_t first = builder_.program.step_calls.size();
    group.strips.empty() ? lower_contract(builder_, group, target) : lower_strips(builder_, group, target);
    if (!builder_.options.tiles || group.prepare || group.tile_rows > 0) return;
    ContractAxes axes = choose_contract_axes(builder_, group, &target);
    if (axes.key.empty()) return;
    schedule_.contractions.push_back(
        {std::move(axes.key), axes.tile, std::move(axes.candidates), first, builder_.program.step_calls.size()});
  }

  std::string output_name(NodeId node) const {
    for (size_t i = 0; i < module_.outputs.size(); i++)
      if (module_.outputs[i] == node) return module_.output_names[i];
    return "output";
  }

  const GraphModule& module_;
  const Graph& graph_;
  ProgramBuilder builder_;
  SharedLowering shared_;
  Schedule schedule_;
};

std::string call_text(const Program& program, const KernelCall& call) {
  std::string line = concat("  ", program.kernels[call.kernel].name, "(");
  for (size_t i = 0; i < call.slots.size(); i++) line += concat(i ? ", " : "", "s", call.slots[i]);
  line += concat(") range ", call.range.text());
  if (!call.origin.empty()) line += concat("  # ", call.origin);
  return line + "\n";
}

std::string_view name_of(SlotRole role) {
  constexpr std::string_view names[] = {"input", "constant", "packed", "intermediate", "state", "output"};
  return names[static_cast<int>(role)];
}

}  // namespace

Schedule make_schedule(const GraphModule& module, const ScheduleOptions& options) {
  return Scheduler(module, options).run();
}

std::string Schedule::text(const GraphModule& module) const {
  std::string out = "groups\n";
  for (const Group& group : groups) {
    out += concat("  %", group.root, " ", tandem::name_of(module.graph->node(group.root).op), " ",
                  tandem::text(module.graph->node(group.root).shape), ": ", name_of(group.form));
    if (group.anchor != kNoNode && group.anchor != group.root) out += concat(" of %", group.anchor);
    if (group.prepare) out += ", at prepare";
    if (group.row_statistics) out += ", with row statistics";
    for (const Group& strip : group.strips)
      out += concat(", with a strip of ", group.tile_rows, " rows of %", strip.root);
    for (size_t axis = 0; axis < group.demand.size(); axis++)
      for (const LaneEnd& end : group.demand[axis])
        out += concat(", axis ", axis, " ends with %", end.lengths, tandem::text(end.lanes));
    out += concat("; ", group.reason, "\n");
  }
  out += "slots\n";
  for (size_t i = 0; i < program.slots.size(); i++) {
    const Slot& slot = program.slots[i];
    out += concat("  s", i, " ", name_of(slot.role), " ", tandem::name_of(slot.dtype), " ", slot.bytes, " bytes  # ",
                  slot.name, "\n");
  }
  out += "prepare\n";
  for (const KernelCall& call : program.prepare_calls) out += call_text(program, call);
  out += "step\n";
  for (const KernelCall& call : program.step_calls) out += call_text(program, call);
  return out;
}

}  // namespace tandem
