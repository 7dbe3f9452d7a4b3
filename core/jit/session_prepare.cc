#include <algorithm>
#include <new>

#include "core/base/text.h"
#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/jit/session.h"
#include "core/jit/session_state.h"
#include "core/plan/tune.h"
#include "core/rewrite/bfloat16.h"
#include "core/rewrite/rewrite.h"

namespace tandem {
namespace {

const char* const kEmptyHint = "prepare() takes one InputSpec for each input that is declared without a shape";

/// The steps as comments, so that the text of the stage is still a graph that can be read back.
std::string comments(const RewriteTrace& trace) {
  std::string out;
  for (const RewriteTrace::Step& step : trace.steps)
    out += concat("# ", step.rule, ": ", step.before, " -> ", step.after, "\n");
  return out;
}

JitError build_error(const std::string& wrapper, JitError inner) {
  JitError error;
  error.code = ErrorCode::kBuild;
  error.message = concat("the build function of \"", wrapper, "\" failed: ", inner.message);
  error.inner = std::make_shared<const JitError>(std::move(inner));
  return error;
}

std::string kernels_text(const Program& program) {
  std::string out;
  for (const Kernel& kernel : program.kernels) out += text(kernel) + "\n";
  return out;
}

std::string summary_text(const Plan& plan) {
  const PlanStatistics& statistics = plan.statistics();
  const Program& program = plan.program();
  return concat(plan.backend().name(), ", ", program.kernels.size(), " kernels, ", program.step_calls.size(),
                " calls per step, ", program.prepare_calls.size(), " at prepare; ", statistics.arena_bytes, " bytes, ",
                statistics.temporary_bytes, " while preparing; schedule ", statistics.schedule_ms, " ms, compile ",
                statistics.compile_ms, " ms (", statistics.compile.compiled_units, " compiled, ",
                statistics.compile.cached_units, " cached), allocate and pack ", statistics.prepare_ms, " ms");
}

/// Is it a leaf of a declared shape or of the graph with this name?
bool names(const Index& leaf, const std::string& name) {
  return leaf.kind() == IndexKind::kVariable && leaf.name() == name;
}

}  // namespace

const Tensor& Trace::tensor(std::string_view name) const {
  for (const NamedTensor& all : tensors_)
    if (all.name == name) return all.tensor;
  throw TensorError(concat("\"", name, "\" is no declared input or state"));
}

const Dim& Trace::variable(std::string_view name) const {
  for (const auto& [variable, dim] : variables_)
    if (variable == name) return dim;
  throw TensorError(concat("\"", name, "\" is no declared variable"));
}

/// One run of prepare(): each step is a stage, and leaves what the next one needs.
struct Session::Preparation {
  const Declarations& declared;
  const PrepareConfig& config;
  ResolvedConfig resolved = {};
  Trace trace = {};
  GraphModule module = {};
  std::unique_ptr<Prepared> prepared = {};

  void show(Stage stage, const std::string& stage_text) const {
    show_stage(config.debug, declared.name, stage, stage_text);
  }

  Result<void> check_names() const;
  Result<void> make_variables();
  Shape with_bounds(const Shape& shape) const;
  Result<void> make_inputs(std::span<const InputSpec> specs);
  Result<void> add_input(const char* kind, const std::string& name, DType dtype, const Shape& shape);
  Result<void> run_build(const BuildFunction& build);
  Result<void> name_outputs(const Outputs& outputs);
  Result<void> check_output(const Declarations::Output& output, const Tensor& tensor) const;
  Result<void> check_inputs_used() const;
  Result<void> compile();
  Result<void> bind_inputs();
  void bind_variables();
  void bind_outputs();
  void bind_states();
};

Result<void> Session::Preparation::check_names() const {
  std::vector<std::string> seen;
  const auto add = [&](const std::string& name) -> Result<void> {
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return fail(ErrorCode::kDuplicateInputBuffer, concat("\"", declared.name, "\" declares the input \"", name,
                                                           "\" twice; both would be one buffer, rename one"));
    seen.push_back(name);
    return {};
  };
  for (const auto& input : declared.inputs)
    if (auto added = add(input.name); !added) return added;
  for (const auto& state : declared.states)
    if (auto added = add(state.name); !added) return added;
  for (const auto& array : declared.arrays)
    if (!array.valid())
      return fail(ErrorCode::kTensor, concat("the array \"", array.name, "\" of \"", declared.name, "\" has ",
                                             array.count, " elements; it may have 0 to ", kMostElements));
  return {};
}

Result<void> Session::Preparation::make_variables() {
  for (const Variable& variable : declared.variables) {
    if (variable.min < 0 || variable.max < variable.min)
      return fail(ErrorCode::kVariable,
                  concat("variable \"", variable.name, "\" of \"", declared.name, "\" has the bounds ", variable.min,
                         " to ", variable.max, "; they must be 0 <= min <= max"));
    for (const auto& [name, dim] : trace.variables_)
      if (name == variable.name)
        return fail(ErrorCode::kVariable,
                    concat("variable \"", name, "\" of \"", declared.name, "\" is declared twice; rename one"));
    // A single possible value is a number: kernels are made for it.
    trace.variables_.emplace_back(variable.name, variable.min == variable.max
                                                     ? Dim(variable.max)
                                                     : Index::variable(variable.name, variable.min, variable.max));
  }
  return {};
}

Shape Session::Preparation::with_bounds(const Shape& shape) const {
  Shape out;
  for (const Dim& dim : shape)
    out.push_back(dim.substitute([&](const Index& leaf) -> std::optional<Index> {
      for (const auto& [name, bounded] : trace.variables_)
        if (names(leaf, name)) return bounded;
      throw TensorError(concat("\"", leaf.text(), "\" is no declared variable"));
    }));
  return out;
}

Result<void> Session::Preparation::make_inputs(std::span<const InputSpec> specs) {
  trace.graph_ = std::make_shared<Graph>();
  size_t next = 0;
  for (const auto& input : declared.inputs) {
    Result<void> added;
    if (input.own) {
      added = add_input("input", input.name, input.own->first, input.own->second);
    } else {
      if (next == specs.size())
        return fail(ErrorCode::kTensor,
                    concat("input \"", input.name, "\" of \"", declared.name, "\" has no InputSpec; ", kEmptyHint));
      const InputSpec& spec = specs[next++];
      if (auto checked = check_input_spec(input.name, spec); !checked) return checked;
      added = add_input("input", input.name, spec.dtype, Shape(spec.shape.begin(), spec.shape.end()));
    }
    if (!added) return added;
  }
  if (next < specs.size())
    return fail(ErrorCode::kTensor, concat("\"", declared.name, "\" got ", specs.size(), " InputSpecs, number ",
                                           next + 1, " belongs to no input; ", kEmptyHint));
  for (const auto& state : declared.states)
    if (auto added = add_input("state", state.name, state.dtype, state.shape); !added) return added;
  for (const auto& array : declared.arrays)
    if (array.kind != std::string_view("output")) trace.arrays_.emplace_back(array.name, array.size());
  return {};
}

Result<void> Session::Preparation::add_input(const char* kind, const std::string& name, DType dtype,
                                             const Shape& shape) {
  BufferRecord record;
  record.kind = kind;
  record.name = name;
  record.dtype = dtype;
  try {
    record.dims = with_bounds(shape);
    const auto number = static_cast<int32_t>(trace.tensors_.size());
    trace.tensors_.push_back({name, Tensor::input(trace.graph_, number, name, dtype, record.dims)});
  } catch (const TensorError& error) {
    return fail(ErrorCode::kTensor, concat(kind, " \"", name, "\" of \"", declared.name, "\": ", error.what()));
  }
  record.shape = maximum(record.dims);
  record.elements = 1;
  for (const int64_t dim : record.shape) {
    if (dim != 0 && record.elements > (int64_t{1} << 60) / dim)
      return fail(ErrorCode::kTensor,
                  concat(kind, " \"", name, "\" of \"", declared.name, "\" has the largest shape [", join(record.shape),
                         "], more elements than can be addressed; lower the "
                         "upper bounds of its variables"));
    record.elements *= dim;
  }
  (kind == std::string_view("state") ? prepared->states : prepared->inputs).push_back(std::move(record));
  return {};
}

Result<void> Session::Preparation::run_build(const BuildFunction& build) {
  try {
    const Outputs outputs = build(trace);
    if (auto named = name_outputs(outputs); !named) return named;
    verify(module, "trace");
    return {};
  } catch (const TensorError& error) {
    return tl::unexpected<JitError>(build_error(declared.name, error.to_error()));
  } catch (const std::bad_alloc&) {
    return tl::unexpected<JitError>(build_error(declared.name, {ErrorCode::kDevice, "out of memory"}));
  } catch (const std::exception& error) {
    return tl::unexpected<JitError>(build_error(declared.name, {ErrorCode::kRuntime, error.what()}));
  } catch (...) {
    return tl::unexpected<JitError>(
        build_error(declared.name, {ErrorCode::kRuntime, "it threw something that is no std::exception"}));
  }
}

Result<void> Session::Preparation::name_outputs(const Outputs& outputs) {
  const auto refuse = [&](const std::string& problem) -> Result<void> {
    return tl::unexpected<JitError>(build_error(declared.name, {ErrorCode::kTensor, problem}));
  };
  std::vector<Declarations::Output> expected = declared.outputs;
  for (const auto& state : declared.states) expected.push_back({state.name, state.dtype});
  // Without declarations the build function's names stand.
  const bool free_names = declared.outputs.empty();
  const std::string single = expected.size() == 1 ? expected[0].name : "output";
  std::vector<const NamedTensor*> results(expected.size(), nullptr);
  for (const NamedTensor& result : outputs.all()) {
    const std::string& name = result.name.empty() ? single : result.name;
    if (result.name.empty() && (outputs.all().size() != 1 || expected.size() > 1))
      return refuse(
          "it returns one tensor without a name, but several outputs or states are declared; return each "
          "of them by its name");
    size_t place = 0;
    while (place < expected.size() && expected[place].name != name) place++;
    if (place == expected.size()) {
      if (!free_names) return refuse(concat("it returns \"", name, "\", which is no declared output or state"));
      // Before the states, in the order of the build function.
      const auto end = static_cast<ptrdiff_t>(expected.size() - declared.states.size());
      expected.insert(expected.begin() + end, {name, std::nullopt});
      results.insert(results.begin() + end, nullptr);
      place = static_cast<size_t>(end);
    }
    if (results[place]) return refuse(concat("it returns \"", name, "\" twice"));
    results[place] = &result;
  }
  if (expected.size() == declared.states.size() && declared.states.empty()) return refuse("it returns nothing");
  module.graph = trace.graph_;
  for (size_t i = 0; i < expected.size(); i++) {
    if (!results[i]) return refuse(concat("it does not return \"", expected[i].name, "\""));
    const Tensor& tensor = results[i]->tensor;
    if (tensor.empty()) return refuse(concat("it returns an empty Tensor as \"", expected[i].name, "\""));
    if (auto checked = check_output(expected[i], tensor); !checked) return checked;
    module.outputs.push_back(tensor.node_in(trace.graph_));
    module.output_names.push_back(expected[i].name);
  }
  return {};
}

Result<void> Session::Preparation::check_output(const Declarations::Output& output, const Tensor& tensor) const {
  for (const BufferRecord& state : prepared->states)
    if (state.name == output.name && (state.dtype != tensor.dtype() || !same(state.dims, tensor.shape())))
      return tl::unexpected<JitError>(build_error(
          declared.name, {ErrorCode::kTensor,
                          concat("the new value of state \"", state.name, "\" is ", name_of(tensor.dtype()),
                                 text(tensor.shape()), ", declared is ", name_of(state.dtype), text(state.dims))}));
  if (output.dtype && *output.dtype != tensor.dtype())
    return fail(ErrorCode::kDtypeMismatch,
                concat("output \"", output.name, "\" of \"", declared.name, "\" is declared ", name_of(*output.dtype),
                       ", the build function returns ", name_of(tensor.dtype()), "; cast it"));
  return {};
}

Result<void> Session::Preparation::check_inputs_used() const {
  std::vector<bool> used(trace.tensors_.size(), false);
  for (const NodeId id : reachable_nodes(*module.graph, module.outputs)) {
    const Node& node = module.graph->node(id);
    if (node.op == Op::kInput && static_cast<size_t>(node.attributes.count) < used.size())
      used[static_cast<size_t>(node.attributes.count)] = true;
  }
  for (size_t i = 0; i < used.size(); i++)
    if (!used[i])
      return fail(ErrorCode::kInputBufferNotFound,
                  concat("no output of \"", declared.name, "\" depends on \"", trace.tensors_[i].name,
                         "\"; use it in the build function or take its declaration away"));
  return {};
}

Result<void> Session::Preparation::compile() {
  if (config.debug.wants(Stage::kGraph)) show(Stage::kGraph, print_graph(module));
  RewriteTrace trace_of_rules;
  RewriteOptions rewriting;
  rewriting.reorder_sums = config.numerics == Numerics::kFast;
  if (config.debug.wants(Stage::kRewritten)) rewriting.trace = &trace_of_rules;
  module = rewrite(module, rewriting);
  if (resolved.bfloat16_dot) module = round_operands_to_bfloat16(module);
  if (config.debug.wants(Stage::kRewritten)) show(Stage::kRewritten, comments(trace_of_rules) + print_graph(module));
  PlanOptions options;
  options.schedule.capabilities = resolved.capabilities;
  options.schedule.numerics = config.numerics;
  options.schedule.bfloat16_dot = resolved.bfloat16_dot;
  options.memory_limit = resolved.memory_limit;
  if (config.tune) {
    const Tuning tuning =
        tune_tiles(module, *resolved.backend, options.schedule, options.memory_limit, config.on_measuring);
    options.schedule.tiles = tuning.tiles;
    options.tune = tuning.statistics;
    show(Stage::kTuning, tuning.text);
  }
  if (config.debug.wants(Stage::kSchedule)) {
    // Made once more for the reader, so that it can be read when compiling fails.
    const Schedule schedule = make_schedule(module, options.schedule);
    show(Stage::kSchedule, schedule.text(module));
    if (config.debug.wants(Stage::kKernels)) show(Stage::kKernels, kernels_text(schedule.program));
  }
  auto plan = Plan::make(module, resolved.backend, options);
  if (!plan && options.schedule.tiles) {
    // A larger tile pads its operands more: nobody loses a plan to that.
    options.schedule.tiles = nullptr;
    plan = Plan::make(module, resolved.backend, options);
  }
  if (!plan) {
    JitError error = plan.error();
    error.message = concat("\"", declared.name, "\": ", error.message);
    return tl::unexpected<JitError>(std::move(error));
  }
  prepared->plan = std::move(*plan);
  if (config.debug.wants(Stage::kSource)) show(Stage::kSource, prepared->plan->executable().source());
  if (config.debug.wants(Stage::kSummary)) show(Stage::kSummary, summary_text(*prepared->plan));
  return {};
}

Result<void> Session::Preparation::bind_inputs() {
  const std::vector<ScheduledInput>& scheduled = prepared->plan->inputs();
  std::vector<std::pair<uint32_t, std::string>> taken;
  size_t number = 0;
  for (auto* records : {&prepared->inputs, &prepared->states})
    for (BufferRecord& record : *records) {
      if (number >= scheduled.size() || !scheduled[number].used)
        return fail(ErrorCode::kInputBufferNotFound, concat("\"", record.name, "\" of \"", declared.name,
                                                            "\" has no influence on any output; use it in the build "
                                                            "function or take its declaration away"));
      record.slot = scheduled[number].buffer.slot;
      for (const auto& [slot, name] : taken)
        if (slot == record.slot)
          return fail(ErrorCode::kDuplicateInputBuffer, concat("\"", record.name, "\" and \"", name, "\" of \"",
                                                               declared.name, "\" are both buffer ", slot));
      taken.emplace_back(record.slot, record.name);
      number++;
    }
  return {};
}

void Session::Preparation::bind_variables() {
  const std::vector<Index>& variables = prepared->plan->variables();
  for (const Index& variable : variables) prepared->maxima.push_back(variable.upper());
  prepared->values = prepared->maxima;
  for (const Variable& variable : declared.variables) {
    size_t place = 0;
    while (place < variables.size() && !names(variables[place], variable.name)) place++;
    prepared->plan_variable.push_back(place < variables.size() ? place : Prepared::kUnused);
  }
  prepared->named.assign(declared.variables.size(), false);
}

void Session::Preparation::bind_outputs() {
  const Plan& plan = *prepared->plan;
  for (size_t i = 0; i + declared.states.size() < plan.outputs().size(); i++) {
    const ScheduledOutput& output = plan.outputs()[i];
    BufferRecord record;
    record.kind = "output";
    record.name = output.name;
    record.dtype = output.buffer.dtype;
    record.dims = output.shape;
    record.slot = output.buffer.slot;
    record.elements = 1;
    for (size_t axis = 0; axis < output.shape.size(); axis++) {
      record.shape.push_back(plan.evaluate(output.shape[axis], prepared->maxima));
      record.elements *= record.shape.back();
      if (!output.shape[axis].is_constant())
        prepared->live_dims.push_back({i, axis, IndexProgram(output.shape[axis], plan.variables())});
    }
    prepared->outputs.push_back(std::move(record));
  }
}

void Session::Preparation::bind_states() {
  const std::vector<ScheduledOutput>& outputs = prepared->plan->outputs();
  const size_t first = outputs.size() - declared.states.size();
  for (size_t i = 0; i < declared.states.size(); i++) {
    Prepared::StateLink link{prepared->states[i].slot, outputs[first + i].buffer.slot, false, 0};
    for (size_t other = 0; other < outputs.size(); other++)
      if (other != first + i && outputs[other].buffer.slot == link.next) link.shared = true;
    const int64_t current = prepared->plan->slot_bytes(link.current);
    const int64_t next = prepared->plan->slot_bytes(link.next);
    // Buffers of different sizes can't trade places, whatever made them so.
    if (current != next) link.shared = true;
    link.bytes = static_cast<size_t>(std::min(current, next));
    prepared->links.push_back(link);
  }
}

Result<void> Session::prepare(std::span<const InputSpec> specs, const BuildFunction& build,
                              const PrepareConfig& config) {
  if (prepared_)
    return fail(ErrorCode::kRuntime,
                concat("\"", name(), "\" is prepared already; make a new wrapper for other shapes or another backend"));
  Preparation work{*declared_, config};
  work.prepared = std::make_unique<Prepared>();
  try {
    if (auto checked = work.check_names(); !checked) return checked;
    if (auto made = work.make_variables(); !made) return made;
    if (auto made = work.make_inputs(specs); !made) return made;
    auto resolved = resolve(config);
    if (!resolved) return tl::unexpected<JitError>(resolved.error());
    work.resolved = std::move(*resolved);
    if (auto built = work.run_build(build); !built) return built;
    if (auto checked = work.check_inputs_used(); !checked) return checked;
    if (auto compiled = work.compile(); !compiled) return compiled;
    if (auto bound = work.bind_inputs(); !bound) return bound;
    work.bind_variables();
    work.bind_outputs();
    work.bind_states();
  } catch (const TensorError& error) {
    return tl::unexpected<JitError>(error.to_error());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kDevice, concat("out of memory while \"", name(), "\" was prepared"));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kDevice, error.what());
  }
  prepared_ = std::move(work.prepared);
  return {};
}

}  // namespace tandem
