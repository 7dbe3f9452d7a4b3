// Wrappers that are declared in JavaScript: sessions whose build function stands on the other side.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/jit/recurrent.h"
#include "core/jit/session.h"
#include "web/arguments.h"
#include "web/boundary.h"
#include "web/build_scope.h"
#include "web/engine.h"
#include "web/profile.h"

// clang-format off
/// Calls the build function of a wrapper: 1 when it has returned, 0 when it threw. See build.js.
EM_JS(int, tandem_call_build, (uint32_t handle), { return Module["tandemBuild"](handle); });
// clang-format on

namespace tandem::web {

namespace {

/// What a function about a buffer is about.
enum class Port : int { kInput, kState, kOutput };
/// Which bound is set.
enum class Bound : int { kMax, kMin, kFixed };

struct Wrapper {
  explicit Wrapper(Session made) : session(std::move(made)) {}

  Session session;
  NamedDims variables;               ///< As declared.
  std::vector<VariableValue> given;  ///< For the next execute.
  std::vector<uint8_t> module;

  // While the build function runs.
  const Trace* trace = nullptr;
  std::string refusal;  ///< What it threw.
};

Handles<Wrapper>& wrappers() {
  static Handles<Wrapper> all;
  return all;
}

/// The variables as dimensions: with their bounds, or as numbers, while the build function runs.
NamedDims present_variables(const Wrapper& wrapper) {
  NamedDims variables = wrapper.variables;
  if (wrapper.trace)
    for (auto& [name, dim] : variables) dim = wrapper.trace->variable(name);
  return variables;
}

/// Runs the JavaScript function and collects the results that it leaves.
Outputs build(Wrapper& wrapper, uint32_t handle, const Trace& trace) {
  struct Running {
    explicit Running(Wrapper& one) : wrapper(one) {}
    ~Running() { wrapper.trace = nullptr; }
    Wrapper& wrapper;
  };
  const Running running(wrapper);
  wrapper.trace = &trace;
  BuildScope scope(present_variables(wrapper));
  if (tandem_call_build(handle) != 1) throw TensorError(wrapper.refusal, ErrorCode::kRuntime);
  return Outputs(scope.results);
}

std::vector<int64_t> sizes(std::string_view text) {
  std::vector<int64_t> all;
  for (const Dim& dim : parse_shape(text, {})) all.push_back(dim.constant());
  return all;
}

/// Takes what stands before the separator off a text.
std::string_view cut(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

/// "f32 1;64"
InputSpec input_spec(std::string_view text) {
  const std::string_view dtype = cut(text, ' ');
  return {sizes(text), dtype_or_throw(dtype)};
}

/// A line per input or array of them without a shape: "f32 1;64", or "[f32 1;64|f32 1;32" with a spec per element.
std::vector<InputSpecs> input_specs(std::string_view text) {
  std::vector<InputSpecs> specs;
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    if (line.substr(0, 1) != "[") {
      specs.emplace_back(input_spec(line));
      continue;
    }
    line.remove_prefix(1);
    std::vector<InputSpec> each;
    while (!line.empty()) each.push_back(input_spec(cut(line, '|')));
    specs.emplace_back(std::move(each));
  }
  return specs;
}

Result<Buffer> buffer_of(Wrapper& wrapper, Port port, uint32_t number) {
  return port == Port::kInput ? wrapper.session.input(number) : wrapper.session.state(number);
}

/// Throws TensorError when there is none.
BufferView view_of(uint32_t handle, Port port, uint32_t number) {
  Wrapper& wrapper = wrappers().get(handle);
  if (port == Port::kOutput) {
    if (auto view = wrapper.session.output(number)) return *view;
  } else if (auto buffer = buffer_of(wrapper, port, number)) {
    return *buffer;
  }
  throw TensorError(concat("\"", wrapper.session.name(), "\" is not prepared"), ErrorCode::kNotPrepared);
}

/// 1, or -1 when the engine is broken from now on, or the error.
Result<int> finished(const Wrapper& wrapper, const Result<void>& done) {
  if (done) return 1;
  if (done.error().code != ErrorCode::kRuntime) return tl::unexpected<JitError>(done.error());
  report("Broken", wrapper.session.plan()->failure());
  return -1;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

TANDEM_EXPORT uint32_t tandem_jit_make(const char* name) {
  return guarded(uint32_t{0},
                 [&]() -> Result<uint32_t> { return wrappers().add(std::make_unique<Wrapper>(Session(name))); });
}

// Declarations: 1, or 0 when they fail. Texts of dimensions may hold the variables that were declared before.

TANDEM_EXPORT int tandem_jit_variable(uint32_t handle, const char* name, double min, double max) {
  return guarded(0, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    wrapper.variables.emplace_back(
        name, wrapper.session.declare_variable(name, static_cast<int64_t>(min), static_cast<int64_t>(max)));
    return 1;
  });
}

/// `dtype` "": it comes with prepare(), and the shape too.
TANDEM_EXPORT int tandem_jit_input(uint32_t handle, const char* name, const char* dtype, const char* shape) {
  return guarded(0, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    if (*dtype == 0)
      wrapper.session.declare_input(name);
    else
      wrapper.session.declare_input(name, dtype_or_throw(dtype), parse_shape(shape, wrapper.variables));
    return 1;
  });
}

TANDEM_EXPORT int tandem_jit_state(uint32_t handle, const char* name, const char* dtype, const char* shape) {
  return guarded(0, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    wrapper.session.declare_state(name, dtype_or_throw(dtype), parse_shape(shape, wrapper.variables));
    return 1;
  });
}

/// `dtype` "": any.
TANDEM_EXPORT int tandem_jit_output(uint32_t handle, const char* name, const char* dtype) {
  return guarded(0, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    if (*dtype == 0)
      wrapper.session.declare_output(name);
    else
      wrapper.session.declare_output(name, dtype_or_throw(dtype));
    return 1;
  });
}

/// An array of `count` inputs, states or outputs: how many elements it has, 0 for a number that prepare() will refuse;
/// -1: failed. `dtype` "": as for one of them.
TANDEM_EXPORT int tandem_jit_array(uint32_t handle, Port kind, const char* name, const char* dtype, const char* shape,
                                   double count) {
  return guarded(-1, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    Session& session = wrapper.session;
    const auto whole = static_cast<int64_t>(count);
    const std::optional<DType> type = *dtype == 0 ? std::nullopt : std::optional(dtype_or_throw(dtype));
    const Shape dims = parse_shape(shape, wrapper.variables);
    size_t array = 0;
    if (kind == Port::kOutput)
      array = session.declare_output_array(name, whole, type);
    else if (kind == Port::kState)
      array = session.declare_state_array(name, whole, type.value(), dims);
    else
      array = type ? session.declare_input_array(name, whole, *type, dims) : session.declare_input_array(name, whole);
    return static_cast<int>(session.element_count(array));
  });
}

TANDEM_EXPORT int tandem_jit_bound(uint32_t handle, Bound bound, const char* name, double value) {
  return guarded(0, [&]() -> Result<int> {
    Session& session = wrappers().get(handle).session;
    const auto whole = static_cast<int64_t>(value);
    if (bound == Bound::kMax) session.set_bound(name, whole);
    if (bound == Bound::kMin) session.set_min_bound(name, whole);
    if (bound == Bound::kFixed) session.set_fixed(name, whole);
    return 1;
  });
}

// Preparing.

/// `specs`: a line for each input or array without shape. `memory_limit` 0: what the engine has left.
TANDEM_EXPORT int tandem_jit_prepare(uint32_t handle, const char* specs, const char* isa, int mode,
                                     double memory_limit) {
  return guarded(0, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    PrepareConfig config = prepare_config(isa, mode);
    if (memory_limit > 0 && memory_limit < static_cast<double>(config.memory_limit))
      config.memory_limit = static_cast<int64_t>(memory_limit);
    TANDEM_TRY(all_specs, wrapper.session.flattened(input_specs(specs)));
    const auto done =
        wrapper.session.prepare(all_specs, [&](const Trace& trace) { return build(wrapper, handle, trace); }, config);
    if (!done) return tl::unexpected<JitError>(done.error());
    wrapper.module = wrapper.session.plan()->executable().binary();
    return 1;
  });
}

/// In a build function: the description of an input or state; null: failed.
TANDEM_EXPORT const char* tandem_jit_argument(uint32_t handle, const char* name) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> Result<const char*> {
    return answer(BuildScope::current().add(wrappers().get(handle).trace->tensor(name)));
  });
}

/// In a build function: one of its results; "" for the only one.
TANDEM_EXPORT int tandem_jit_result(const char* name, uint32_t tensor) {
  return guarded(0, [&]() -> Result<int> {
    BuildScope::current().results.push_back({name, held_tensor(tensor)});
    return 1;
  });
}

/// Why the build function threw.
TANDEM_EXPORT void tandem_jit_refuse(uint32_t handle, const char* message) {
  if (Wrapper* wrapper = wrappers().find(handle)) wrapper->refusal = message;
}

TANDEM_EXPORT uint32_t tandem_jit_replicate(uint32_t handle) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    const Wrapper& wrapper = wrappers().get(handle);
    TANDEM_TRY(session, wrapper.session.replicate());
    auto copy = std::make_unique<Wrapper>(std::move(session));
    copy->variables = wrapper.variables;
    copy->module = wrapper.module;
    return wrappers().add(std::move(copy));
  });
}

// Steps: 1 done, 0 failed, -1 the engine is broken from now on.

/// A value of variable `number` for the next execute.
TANDEM_EXPORT int tandem_jit_give(uint32_t handle, uint32_t number, double value) {
  return guarded(0, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    wrapper.given.push_back({wrapper.variables.at(number).first, static_cast<int64_t>(value)});
    return 1;
  });
}

TANDEM_EXPORT int tandem_jit_execute(uint32_t handle) {
  return guarded(0, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    const auto done = wrapper.session.execute_with_vars(wrapper.given);
    wrapper.given.clear();
    return finished(wrapper, done);
  });
}

/// Measures the kernels of one execute, with the values given for it: how many there are (their rows:
/// profile_entry.cc), -1: failed. Each repetition begins with the same states.
TANDEM_EXPORT int tandem_jit_profile(uint32_t handle, int repetitions) {
  return guarded(-1, [&]() -> Result<int> {
    Wrapper& wrapper = wrappers().get(handle);
    Session& session = wrapper.session;
    const std::vector<VariableValue> given = std::exchange(wrapper.given, {});
    std::vector<std::vector<std::byte>> states;
    while (session.is_prepared()) {
      const auto state = session.state(states.size());
      if (!state) break;
      states.emplace_back(state->data(), state->data() + state->size_bytes());
    }
    const auto run = [&]() -> Result<std::vector<KernelProfile>> {
      for (size_t i = 0; i < states.size(); i++) {
        TANDEM_TRY(state, session.state(i));
        std::copy(states[i].begin(), states[i].end(), state.data());
      }
      return session.execute_with_vars_profiled(given);
    };
    if (!session.is_prepared()) return tl::unexpected<JitError>(run().error());
    return profile(*session.plan(), repetitions, run);
  });
}

TANDEM_EXPORT int tandem_jit_reset(uint32_t handle) {
  return guarded(0, [&]() -> Result<int> {
    const auto done = wrappers().get(handle).session.reset();
    if (!done) return tl::unexpected<JitError>(done.error());
    return 1;
  });
}

// Buffers, by kind and number. Addresses stand until the next execute.

TANDEM_EXPORT uint32_t tandem_jit_output_count(uint32_t handle) {
  const Plan* plan = wrappers().get(handle).session.plan();
  if (!plan) return 0;
  uint32_t count = 0;
  while (wrappers().get(handle).session.output(count)) count++;
  return count;
}

/// "name f32 1;300": name, dtype and present shape; null: failed.
TANDEM_EXPORT const char* tandem_jit_port(uint32_t handle, Port port, uint32_t number) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> Result<const char*> {
    const BufferView view = view_of(handle, port, number);
    return answer(concat(view.name(), "\t", name_of(view.dtype()), "\t", join(view.shape(), ";")));
  });
}

TANDEM_EXPORT const void* tandem_jit_data(uint32_t handle, Port port, uint32_t number) {
  return guarded(static_cast<const void*>(nullptr),
                 [&]() -> Result<const void*> { return view_of(handle, port, number).data(); });
}

/// Elements of a tensor of the live shape to where the kernels look for them.
TANDEM_EXPORT int tandem_jit_copy(uint32_t handle, Port port, uint32_t number, const char* dtype, const void* elements,
                                  uint32_t count, const char* shape) {
  return guarded(0, [&]() -> Result<int> {
    TANDEM_TRY(buffer, buffer_of(wrappers().get(handle), port, number));
    const auto done = buffer.write(dtype_or_throw(dtype), elements, count, sizes(shape));
    if (!done) return tl::unexpected<JitError>(done.error());
    return 1;
  });
}

/// Is the first output [head | h | c]?
TANDEM_EXPORT int tandem_jit_check_recurrent(uint32_t handle, uint32_t head, uint32_t h, uint32_t c) {
  return guarded(0, [&]() -> Result<int> {
    const LstmState state{std::vector<float>(h), std::vector<float>(c)};
    const auto checked = check_recurrent_layout(view_of(handle, Port::kOutput, 0), head, state);
    if (!checked) return tl::unexpected<JitError>(checked.error());
    return 1;
  });
}

// Dimensions.

/// `a` and `b` joined by one of + - * / % (the last two round down), "min" or "max": "text\tlower\tupper"; null:
/// failed.
TANDEM_EXPORT const char* tandem_jit_dim(uint32_t handle, const char* operation, const char* a, const char* b) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> Result<const char*> {
    const std::string_view name = operation;
    const std::string expression =
        name.size() > 1 ? concat(name, "(", a, ", ", b, ")") : concat("(", a, ") ", name, " (", b, ")");
    const Dim dim = parse_dim(expression, present_variables(wrappers().get(handle)));
    return answer(concat(dim.text(), "\t", dim.lower(), "\t", dim.upper()));
  });
}

/// The WebAssembly module that was emitted.
TANDEM_EXPORT const uint8_t* tandem_jit_module(uint32_t handle) { return wrappers().get(handle).module.data(); }
TANDEM_EXPORT uint32_t tandem_jit_module_size(uint32_t handle) {
  return static_cast<uint32_t>(wrappers().get(handle).module.size());
}

TANDEM_EXPORT void tandem_jit_destroy(uint32_t handle) { wrappers().remove(handle); }
