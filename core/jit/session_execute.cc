#include <algorithm>
#include <cstring>

#include "core/base/text.h"
#include "core/jit/session.h"
#include "core/jit/session_state.h"

namespace tandem {

Result<void> Session::execute() {
  if (!prepared_) return not_prepared("execute()");
  prepared_->values = prepared_->maxima;
  return run();
}

Result<void> Session::execute_with_vars(std::span<const VariableValue> values) {
  if (!prepared_) return not_prepared("execute_with_vars()");
  if (auto set = set_values(values); !set) return set;
  return run();
}

Result<void> Session::execute_bound(std::span<const int64_t> values) {
  if (!prepared_) return not_prepared("execute_bound()");
  if (values.size() != declared_->variables.size())
    return fail(ErrorCode::kVariable, concat("execute_bound() of \"", name(), "\" got ", values.size(), " values for ",
                                             declared_->variables.size(), " variables; ", declared_->variable_names()));
  for (size_t i = 0; i < values.size(); i++)
    if (auto set = set_value(i, values[i]); !set) return set;
  return run();
}

Result<std::vector<KernelProfile>> Session::execute_profiled() { return execute_with_vars_profiled({}); }

Result<std::vector<KernelProfile>> Session::execute_with_vars_profiled(std::span<const VariableValue> values) {
  if (!prepared_) return not_prepared("execute_profiled()");
  if (auto set = set_values(values); !set) return tl::unexpected<JitError>(set.error());
  std::vector<KernelProfile> profiles;
  if (!prepared_->plan->run_profiled(prepared_->values.data(), profiles))
    return fail(ErrorCode::kRuntime, prepared_->plan->failure());
  finish_step();
  return profiles;
}

Result<void> Session::reset() {
  if (!prepared_) return not_prepared("reset()");
  for (const BufferRecord& record : prepared_->states) {
    const Plan& plan = *prepared_->plan;
    std::memset(plan.slot_data(record.slot), 0, static_cast<size_t>(plan.slot_bytes(record.slot)));
  }
  return {};
}

Result<void> Session::set_values(std::span<const VariableValue> values) {
  prepared_->values = prepared_->maxima;
  std::fill(prepared_->named.begin(), prepared_->named.end(), false);
  for (const VariableValue& given : values) {
    Variable* variable = declared_->find(given.name);
    if (!variable)
      return fail(ErrorCode::kVariable, concat("variable \"", given.name, "\" = ", given.value, " of \"", name(),
                                               "\" is unknown; ", declared_->variable_names()));
    const auto number = static_cast<size_t>(variable - declared_->variables.data());
    if (prepared_->named[number])
      return fail(ErrorCode::kVariable, concat("variable \"", given.name, "\" of \"", name(),
                                               "\" is named twice in one call; give it one value"));
    prepared_->named[number] = true;
    if (auto set = set_value(number, given.value); !set) return set;
  }
  return {};
}

Result<void> Session::set_value(size_t number, int64_t value) {
  const Variable& variable = declared_->variables[number];
  if (value < variable.min || value > variable.max)
    return fail(ErrorCode::kVariable, concat("variable \"", variable.name, "\" = ", value, " of \"", name(),
                                             "\" is outside its bounds ", variable.min, " to ", variable.max));
  const size_t place = prepared_->plan_variable[number];
  if (place != Prepared::kUnused) prepared_->values[place] = value;
  return {};
}

Result<void> Session::run() {
  if (!prepared_->plan->run(prepared_->values.data())) return fail(ErrorCode::kRuntime, prepared_->plan->failure());
  finish_step();
  return {};
}

void Session::finish_step() {
  Prepared& prepared = *prepared_;
  for (const Prepared::LiveDim& dim : prepared.live_dims)
    prepared.outputs[dim.output].shape[dim.axis] = dim.extent.evaluate(prepared.values.data());
  if (!prepared.live_dims.empty())
    for (BufferRecord& output : prepared.outputs) {
      output.elements = 1;
      for (const int64_t dim : output.shape) output.elements *= dim;
    }
  for (const Prepared::StateLink& link : prepared.links)
    if (link.shared)
      std::memcpy(prepared.plan->slot_data(link.current), prepared.plan->slot_data(link.next), link.bytes);
    else
      prepared.plan->swap_slots(link.current, link.next);
}

}  // namespace tandem
