#include "core/jit/session.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/text.h"
#include "core/jit/session_state.h"

namespace tandem {
namespace {

/// Largest size that a variable may stand for: what is left of 64 bits leaves room for products.
constexpr int64_t kLargestBound = int64_t{1} << 40;

template <typename Named>
std::optional<size_t> number_of(const std::vector<Named>& all, std::string_view name) {
  for (size_t i = 0; i < all.size(); i++)
    if (all[i].name == name) return i;
  return std::nullopt;
}

}  // namespace

Session::Variable* Session::Declarations::find(std::string_view variable) {
  const auto number = number_of(variables, variable);
  return number ? &variables[*number] : nullptr;
}

std::string Session::Declarations::variable_names() const {
  if (variables.empty()) return "no variable is declared";
  std::string out = "declared: ";
  for (size_t i = 0; i < variables.size(); i++) out += concat(i ? ", " : "", variables[i].name);
  return out;
}

Session::Session(std::string name) : declared_(std::make_unique<Declarations>()) { declared_->name = std::move(name); }
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::string& Session::name() const { return declared_->name; }

size_t Session::declare_input(std::string name) {
  declared_->inputs.push_back({std::move(name), std::nullopt});
  return declared_->inputs.size() - 1;
}

size_t Session::declare_input(std::string name, DType dtype, Shape shape) {
  declared_->inputs.push_back({std::move(name), std::pair(dtype, std::move(shape))});
  return declared_->inputs.size() - 1;
}

size_t Session::declare_state(std::string name, DType dtype, Shape shape) {
  declared_->states.push_back({std::move(name), dtype, std::move(shape)});
  return declared_->states.size() - 1;
}

size_t Session::declare_output(std::string name, std::optional<DType> dtype) {
  declared_->outputs.push_back({std::move(name), dtype});
  return declared_->outputs.size() - 1;
}

Dim Session::declare_variable(std::string name, int64_t min, int64_t max) {
  declared_->variables.push_back({name, min, max});
  // Only the name counts: prepare() puts the variable with its final bounds in its place.
  return Index::variable(std::move(name), 0, kLargestBound);
}

namespace {

[[noreturn]] void misuse(std::string_view variable, const std::string& problem) {
  throw std::invalid_argument(concat("variable \"", variable, "\": ", problem));
}

}  // namespace

void Session::set_bound(std::string_view variable, int64_t max) {
  Variable& found = changeable(variable);
  if (max < found.min)
    misuse(variable, concat("the upper bound ", max, " is below the lower bound ", found.min,
                            "; give a larger one, or lower the lower bound first"));
  if (max > kLargestBound) misuse(variable, concat("the upper bound ", max, " is above the limit ", kLargestBound));
  found.max = max;
}

void Session::set_min_bound(std::string_view variable, int64_t min) {
  Variable& found = changeable(variable);
  if (min > found.max)
    misuse(variable, concat("the lower bound ", min, " is above the upper bound ", found.max,
                            "; give a smaller one, or raise the upper bound first"));
  if (min < 0) misuse(variable, concat("the lower bound ", min, " is negative; a size is at least 0"));
  found.min = min;
}

void Session::set_fixed(std::string_view variable, int64_t value) {
  Variable& found = changeable(variable);
  if (value <= 0 || value > kLargestBound)
    misuse(variable, concat("it was fixed at ", value, "; the value must be 1 to ", kLargestBound));
  found.min = found.max = value;
}

Session::Variable& Session::changeable(std::string_view variable) {
  Variable* found = declared_->find(variable);
  if (!found) misuse(variable, concat("it is unknown; ", declared_->variable_names()));
  if (prepared_)
    throw std::logic_error(concat("variable \"", variable, "\": a bound was set after prepare(); \"", name(),
                                  "\" is compiled for ", found->min, " to ", found->max,
                                  "; make a new wrapper for another range"));
  return *found;
}

tl::unexpected<JitError> Session::not_prepared(const char* method) const {
  return fail(ErrorCode::kNotPrepared,
              concat(method, " of \"", name(), "\" was called before a successful prepare(); prepare it first"));
}

Result<Buffer> Session::input(size_t number) {
  if (!prepared_) return not_prepared("the access to an input");
  if (number >= prepared_->inputs.size())
    return fail(ErrorCode::kInputBufferNotFound, concat("\"", name(), "\" has ", prepared_->inputs.size(),
                                                        " inputs; number ", number, " was asked for"));
  const BufferRecord& record = prepared_->inputs[number];
  return Buffer(record, prepared_->plan->slot_data(record.slot));
}

Result<Buffer> Session::state(size_t number) {
  if (!prepared_) return not_prepared("the access to a state");
  if (number >= prepared_->states.size())
    return fail(ErrorCode::kInputBufferNotFound, concat("\"", name(), "\" has ", prepared_->states.size(),
                                                        " states; number ", number, " was asked for"));
  const BufferRecord& record = prepared_->states[number];
  return Buffer(record, prepared_->plan->slot_data(record.slot));
}

Result<BufferView> Session::output(size_t number) const {
  if (!prepared_) return not_prepared("the access to an output");
  if (number >= prepared_->outputs.size())
    return fail(ErrorCode::kRuntime, concat("\"", name(), "\" has ", prepared_->outputs.size(), " outputs; number ",
                                            number, " was asked for"));
  const BufferRecord& record = prepared_->outputs[number];
  return BufferView(record, prepared_->plan->slot_data(record.slot));
}

Result<void> Session::copy_output(size_t number, Result<Buffer> target, size_t to, size_t from, size_t count) {
  if (!target) return tl::unexpected<JitError>(std::move(target).error());
  TANDEM_TRY(source, output(number));
  return target->copy_elements(to, source, from, count);
}

std::optional<size_t> Session::input_number(std::string_view input) const {
  return number_of(declared_->inputs, input);
}
std::optional<size_t> Session::state_number(std::string_view state) const {
  return number_of(declared_->states, state);
}
std::optional<size_t> Session::output_number(std::string_view output) const {
  return prepared_ ? number_of(prepared_->outputs, output) : number_of(declared_->outputs, output);
}

Result<Session> Session::replicate() const {
  if (!prepared_) return not_prepared("replicate()");
  auto plan = prepared_->plan->replicate();
  if (!plan) return tl::unexpected<JitError>(plan.error());
  Session copy(declared_->name);
  *copy.declared_ = *declared_;
  copy.prepared_ = std::make_unique<Prepared>(*prepared_);
  copy.prepared_->plan = std::move(*plan);
  return copy;
}

const Plan* Session::plan() const { return prepared_ ? prepared_->plan.get() : nullptr; }

Result<std::vector<BufferInfo>> Session::buffers() const {
  if (!prepared_) return not_prepared("buffers()");
  std::vector<BufferInfo> all;
  for (const Slot& slot : prepared_->plan->program().slots)
    all.push_back({static_cast<uint32_t>(all.size()), slot.role, slot.dtype, slot.bytes, slot.name});
  return all;
}

Result<std::vector<BufferView>> Session::output_buffers() const {
  if (!prepared_) return not_prepared("output_buffers()");
  std::vector<BufferView> all;
  for (const BufferRecord& record : prepared_->outputs)
    all.emplace_back(record, prepared_->plan->slot_data(record.slot));
  // The newest value of a state is what the next step reads.
  for (const BufferRecord& record : prepared_->states)
    all.emplace_back(record, prepared_->plan->slot_data(record.slot));
  return all;
}

Result<std::vector<uint32_t>> Session::input_buffer_ids() const {
  if (!prepared_) return not_prepared("input_buffer_ids()");
  std::vector<uint32_t> ids;
  for (const BufferRecord& record : prepared_->inputs) ids.push_back(record.slot);
  for (const BufferRecord& record : prepared_->states) ids.push_back(record.slot);
  return ids;
}

Result<std::vector<PreparedKernel>> Session::prepared_kernels() const {
  if (!prepared_) return not_prepared("prepared_kernels()");
  const Program& program = prepared_->plan->program();
  std::vector<PreparedKernel> all;
  for (const Kernel& kernel : program.kernels) all.push_back({kernel.name, 0, kernel.flops, text(kernel)});
  for (const KernelCall& call : program.step_calls) all[call.kernel].calls++;
  return all;
}

}  // namespace tandem
