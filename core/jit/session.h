#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/jit/buffer.h"
#include "core/jit/input_spec.h"
#include "core/jit/prepare_config.h"
#include "core/plan/plan.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// A result of a build function; an empty name is the one result of a wrapper that names none.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// One or several results of a build function: what `as_name(...)` of an output, a state or an array of them makes.
class NamedTensors {
 public:
  NamedTensors(NamedTensor one) : all_{std::move(one)} {}  // NOLINT: an entry of a list of results
  NamedTensors(std::string name, Tensor tensor) : all_{{std::move(name), std::move(tensor)}} {}
  /// The elements of the array `name`, in order.
  NamedTensors(const std::string& name, const std::vector<Tensor>& elements);
  const std::vector<NamedTensor>& all() const { return all_; }

 private:
  std::vector<NamedTensor> all_;
};

/// What a build function returns: one tensor, or several by name.
class Outputs {
 public:
  Outputs(Tensor tensor) { all_.push_back({"", std::move(tensor)}); }  // NOLINT: `return tensor;`
  Outputs(std::initializer_list<NamedTensors> all) {
    for (const NamedTensors& some : all) all_.insert(all_.end(), some.all().begin(), some.all().end());
  }
  Outputs(std::vector<NamedTensor> all) : all_(std::move(all)) {}  // NOLINT: `return list;`
  const std::vector<NamedTensor>& all() const { return all_; }

 private:
  std::vector<NamedTensor> all_;
};

/// The elements of an array of inputs or states, as a build function sees them.
class TensorArray {
 public:
  TensorArray(std::string name, std::vector<Tensor> elements)
      : name_(std::move(name)), elements_(std::move(elements)) {}

  /// Throws TensorError, naming array, index and count, for an index out of range.
  const Tensor& operator[](size_t index) const;
  size_t size() const { return elements_.size(); }
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }
  operator const std::vector<Tensor>&() const { return elements_; }  // NOLINT: for concat() and stack()

 private:
  std::string name_;
  std::vector<Tensor> elements_;
};

/// What a build function sees: the tensors of inputs and states, and the variables as dimensions, by name.
class Trace {
 public:
  /// Throws TensorError for a name that isn't declared. Elements of an array are called "name[0]" and so on.
  const Tensor& tensor(std::string_view name) const;
  /// The elements of an array of inputs or states. Throws TensorError for a name that isn't declared.
  TensorArray tensors(std::string_view name) const;
  const Dim& variable(std::string_view name) const;
  const std::shared_ptr<Graph>& graph() const { return graph_; }

 private:
  friend class Session;
  std::shared_ptr<Graph> graph_;
  std::vector<NamedTensor> tensors_;
  std::vector<std::pair<std::string, Dim>> variables_;
  std::vector<std::pair<std::string, size_t>> arrays_;  ///< Of inputs and states, with their number of elements.
};
using BuildFunction = std::function<Outputs(const Trace&)>;

/// A value for a variable in one call.
struct VariableValue {
  std::string_view name;
  int64_t value;
};

/// One buffer of a plan, for tools.
struct BufferInfo {
  uint32_t id = 0;
  SlotRole role = SlotRole::kIntermediate;
  DType dtype = DType::kF32;
  int64_t bytes = 0;
  std::string name;
};

/// One distinct kernel of a plan, for tools.
struct PreparedKernel {
  std::string name;
  int calls = 0;      ///< How often a step calls it.
  int64_t flops = 0;  ///< Of one call, an estimate at the variables' upper bounds.
  std::string text;   ///< Kernel IR.
};

/// The untyped heart of every wrapper: declare, bound, prepare, execute. The macros of wrapper.h, the JavaScript
/// interface and the tools all stand on it.
///
/// Declarations give numbers that count per kind, from 0. Setters throw; everything after them returns a Result. One
/// session may be used by one thread at a time, different sessions by different threads at once.
class Session {
 public:
  /// The name stands in messages, dumps and profiles.
  explicit Session(std::string name = "wrapper");
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const std::string& name() const;

  // Declarations.

  /// An input whose shape and element type come with prepare().
  size_t declare_input(std::string name);
  /// An input that states them itself; dense in its live shape when variables occur in it.
  size_t declare_input(std::string name, DType dtype, Shape shape);
  /// A tensor that stays in the plan: the output of the same name becomes its value for the next execute.
  size_t declare_state(std::string name, DType dtype, Shape shape);
  /// An output by name; with an element type, prepare() checks it.
  size_t declare_output(std::string name, std::optional<DType> dtype = {});
  /// Arrays: `count` inputs, states or outputs (0 to kMostElements) that share a name; each element has a buffer of its
  /// own and is called "name[0]" and so on. A count out of range is an error of prepare().
  size_t declare_input_array(std::string name, int64_t count);
  size_t declare_input_array(std::string name, int64_t count, DType dtype, const Shape& shape);
  size_t declare_state_array(std::string name, int64_t count, DType dtype, const Shape& shape);
  size_t declare_output_array(std::string name, int64_t count, std::optional<DType> dtype = {});
  static constexpr int64_t kMostElements = 4096;
  /// A symbolic size. The result stands for it in declared shapes; the bounds may still change.
  Dim declare_variable(std::string name, int64_t min, int64_t max);

  // Bounds: std::invalid_argument for misuse, std::logic_error after a successful prepare().

  void set_bound(std::string_view variable, int64_t max);
  void set_min_bound(std::string_view variable, int64_t min);
  void set_fixed(std::string_view variable, int64_t value);

  // Preparing.

  /// Traces the build function, rewrites, schedules, compiles and allocates. One spec per input that was declared
  /// without shape, in the order of declaration. After a failure another prepare() may be tried.
  Result<void> prepare(std::span<const InputSpec> specs, const BuildFunction& build, const PrepareConfig& config);
  /// The specs of all inputs without shape, one by one, from one entry per input or array of them. kTensor for a number
  /// that does not fit.
  Result<std::vector<InputSpec>> flattened(std::span<const InputSpecs> specs) const;
  bool is_prepared() const { return prepared_ != nullptr; }
  /// Another session with the same plan, code and weights, and buffers of its own that start as copies of this one's.
  Result<Session> replicate() const;

  // Steps.

  /// Replays the plan, every variable at its upper bound. Allocates nothing, looks up no strings.
  Result<void> execute();
  /// The same with these values; variables not named have their upper bound. kVariable for unknown names and values out
  /// of bounds; nothing runs then.
  Result<void> execute_with_vars(std::span<const VariableValue> values);
  Result<void> execute_with_vars(std::initializer_list<VariableValue> values) {
    return execute_with_vars(std::span<const VariableValue>(values.begin(), values.size()));
  }
  /// One value per declared variable, in the order of declaration.
  Result<void> execute_bound(std::span<const int64_t> values);
  Result<std::vector<KernelProfile>> execute_profiled();
  Result<std::vector<KernelProfile>> execute_with_vars_profiled(std::span<const VariableValue> values);
  /// Zeroes every state.
  Result<void> reset();

  // Buffers, by number.

  Result<Buffer> input(size_t number);
  Result<Buffer> state(size_t number);
  Result<BufferView> output(size_t number = 0) const;
  /// Elements of an array, by the array's number. kInputBufferNotFound for an index out of range.
  Result<Buffer> input_element(size_t array, size_t index);
  Result<Buffer> state_element(size_t array, size_t index);
  Result<BufferView> output_element(size_t array, size_t index) const;
  /// How many elements an array has.
  size_t element_count(size_t array) const;
  /// Copies `count` elements of an output, from `from` on, into the buffer of an input, from `to` on. kDtypeMismatch,
  /// kViewOutOfBounds.
  Result<void> copy_output(size_t output, Result<Buffer> target, size_t to, size_t from, size_t count);
  /// Numbers by name, for callers that have names only.
  std::optional<size_t> input_number(std::string_view name) const;
  std::optional<size_t> state_number(std::string_view name) const;
  std::optional<size_t> output_number(std::string_view name) const;

  // Details of the plan.

  Result<std::vector<BufferInfo>> buffers() const;
  Result<std::vector<BufferView>> output_buffers() const;
  Result<std::vector<uint32_t>> input_buffer_ids() const;
  Result<std::vector<PreparedKernel>> prepared_kernels() const;
  /// nullptr before prepare().
  const Plan* plan() const;

 private:
  struct Variable;
  struct Declarations;
  struct Prepared;

  struct Preparation;
  Variable& changeable(std::string_view variable);
  size_t declare_array(const char* kind, std::string name, int64_t count, size_t first, bool own);
  Result<size_t> element_number(size_t array, size_t index) const;
  Result<void> set_values(std::span<const VariableValue> values);
  Result<void> set_value(size_t variable, int64_t value);
  Result<void> run();
  void finish_step();
  tl::unexpected<JitError> not_prepared(const char* method) const;

  std::unique_ptr<Declarations> declared_;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace tandem
