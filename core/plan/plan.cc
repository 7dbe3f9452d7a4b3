#include "core/plan/plan.h"

#include <chrono>
#include <cstring>
#include <new>

#include "core/base/text.h"
#include "core/plan/prepare_run.h"

namespace tandem {
namespace {

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Written while preparing only: replicas share it.
bool is_weight(SlotRole role) { return role == SlotRole::kConstant || role == SlotRole::kPacked; }

/// Constants whose bytes lie as kernels may read them. Weight files give no more than the alignment of an element, and
/// not even that is certain.
std::vector<bool> readable_in_place(const Schedule& schedule) {
  std::vector<bool> readable(schedule.program.slots.size(), false);
  for (const ScheduledConstant& constant : schedule.constants) {
    const size_t element = size_of(schedule.program.slots[constant.slot].dtype);
    readable[constant.slot] =
        constant.data->size > 0 && reinterpret_cast<uintptr_t>(constant.data->bytes) % element == 0;
  }
  return readable;
}

}  // namespace

Result<std::unique_ptr<Plan>> Plan::make(const GraphModule& module, std::shared_ptr<Backend> backend,
                                         const PlanOptions& options) {
  try {
    std::unique_ptr<Plan> plan(new Plan);
    plan->backend_ = std::move(backend);
    const Stopwatch scheduling;
    plan->schedule_ = make_schedule(module, options.schedule);
    plan->statistics_.schedule_ms = scheduling.milliseconds();
    // Before anything is compiled or allocated: a plan that can't be had costs nothing.
    plan->layout_ = plan_memory(plan->schedule_.program, readable_in_place(plan->schedule_));
    plan->statistics_.arena_bytes = plan->layout_.arena_bytes;
    plan->statistics_.temporary_bytes = plan->layout_.scratch_bytes;
    plan->options_ = options;
    plan->statistics_.tune = options.tune;
    const int64_t need = plan->layout_.arena_bytes + plan->layout_.scratch_bytes;
    if (options.memory_limit > 0 && need > options.memory_limit)
      return fail(
          ErrorCode::kMemoryLimit,
          concat("the plan needs ", need, " bytes, the limit is ", options.memory_limit,
                 "; lower the upper bounds of its variables or raise the limit (memory_limit, TANDEM_MEMORY_LIMIT; in "
                 "JavaScript memoryLimit)"));
    const Stopwatch compiling;
    auto executable = plan->backend_->compile(plan->schedule_.program, options.schedule.capabilities,
                                              options.schedule.numerics, plan->statistics_.compile);
    if (!executable) return tl::unexpected<JitError>(executable.error());
    plan->executable_ = std::move(*executable);
    plan->statistics_.compile_ms = compiling.milliseconds();
    const Stopwatch preparing;
    if (auto allocated = plan->allocate(); !allocated) return tl::unexpected<JitError>(allocated.error());
    if (auto prepared = plan->prepare(); !prepared) return tl::unexpected<JitError>(prepared.error());
    plan->statistics_.prepare_ms = preparing.milliseconds();
    return plan;
  } catch (const TensorError& error) {
    return tl::unexpected<JitError>(error.to_error());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kDevice, "out of memory while the plan was made; lower the upper bounds of its variables");
  } catch (const std::exception& error) {
    return fail(ErrorCode::kDevice, error.what());
  }
}

// The executable may know the addresses: it goes first.
Plan::~Plan() { executable_.reset(); }

Plan::Memory::~Memory() {
  if (bytes) backend->release(bytes, size);
}

Result<std::shared_ptr<Plan::Memory>> Plan::allocate_memory(int64_t bytes) const {
  auto memory = std::make_shared<Memory>();
  memory->backend = backend_;
  memory->size = static_cast<size_t>(std::max<int64_t>(bytes, kBufferAlignment));
  memory->bytes = static_cast<std::byte*>(backend_->allocate(memory->size));
  if (!memory->bytes)
    return fail(ErrorCode::kDevice, concat("the ", backend_->name(), " backend can't allocate ", memory->size,
                                           " bytes for the plan; lower the upper bounds of its variables"));
  return memory;
}

Result<void> Plan::allocate() {
  TANDEM_TRY(memory, allocate_memory(layout_.arena_bytes));
  arena_ = std::move(memory);
  slots_.assign(layout_.offsets.size(), nullptr);
  for (size_t slot = 0; slot < slots_.size(); slot++)
    slots_[slot] = arena_->bytes + (layout_.places[slot] == MemoryLayout::Place::kArena ? layout_.offsets[slot] : 0);
  return {};
}

Result<void> Plan::prepare() {
  const auto bytes = static_cast<size_t>(layout_.scratch_bytes);
  std::byte* scratch = nullptr;
  if (bytes > 0) {
    scratch = static_cast<std::byte*>(backend_->allocate(bytes));
    if (!scratch)
      return fail(ErrorCode::kDevice, concat("the ", backend_->name(), " backend can't allocate ", bytes,
                                             " bytes to repack the weights; free memory and prepare again"));
  }
  const bool done = run_prepare_calls(schedule_, layout_, slots_, scratch, *executable_);
  // What prepare calls alone read is gone: its slots show memory that stays.
  for (size_t slot = 0; slot < slots_.size(); slot++)
    if (layout_.places[slot] != MemoryLayout::Place::kArena) slots_[slot] = arena_->bytes;
  for (ScheduledConstant& constant : schedule_.constants) constant.data.reset();
  if (scratch) backend_->release(scratch, bytes);
  if (!done) return fail(ErrorCode::kDevice, executable_->failure());
  return {};
}

Result<std::unique_ptr<Plan>> Plan::replicate() const {
  std::unique_ptr<Plan> copy(new Plan);
  copy->backend_ = backend_;
  copy->schedule_ = schedule_;
  copy->layout_ = layout_;
  copy->options_ = options_;
  copy->statistics_ = statistics_;
  copy->arena_ = arena_;
  copy->executable_ = executable_;
  if (!executable_->reentrant()) {
    auto executable = backend_->compile(schedule_.program, options_.schedule.capabilities, options_.schedule.numerics,
                                        copy->statistics_.compile);
    if (!executable) return tl::unexpected<JitError>(executable.error());
    copy->executable_ = std::move(*executable);
    if (!copy->executable_->copy_memory_of(*executable_)) return fail(ErrorCode::kDevice, copy->executable_->failure());
  }
  int64_t bytes = layout_.intermediate_bytes;
  for (const Slot& slot : schedule_.program.slots)
    if (!is_weight(slot.role) && slot.role != SlotRole::kIntermediate) bytes += aligned_size(slot.bytes);
  TANDEM_TRY(memory, allocate_memory(bytes));
  copy->own_ = std::move(memory);
  copy->copy_layout(*this, copy->own_->bytes);
  return copy;
}

void Plan::copy_layout(const Plan& source, std::byte* own) {
  const std::vector<Slot>& slots = schedule_.program.slots;
  const int64_t first_intermediate = layout_.arena_bytes - layout_.intermediate_bytes;
  std::byte* next = own + layout_.intermediate_bytes;
  slots_ = source.slots_;
  for (size_t slot = 0; slot < slots.size(); slot++) {
    if (is_weight(slots[slot].role)) continue;
    if (slots[slot].role == SlotRole::kIntermediate) {
      slots_[slot] = own + (layout_.offsets[slot] - first_intermediate);
      continue;
    }
    slots_[slot] = next;
    std::memcpy(next, source.slots_[slot], static_cast<size_t>(slots[slot].bytes));
    next += aligned_size(slots[slot].bytes);
  }
}

bool Plan::run_profiled(const int64_t* values, std::vector<KernelProfile>& profiles) {
  const Program& program = schedule_.program;
  const std::span<const int64_t> given(values, program.variables.size());
  profiles.assign(program.step_calls.size(), {});
  for (size_t i = 0; i < profiles.size(); i++) {
    const KernelCall& call = program.step_calls[i];
    profiles[i].kernel = program.kernels[call.kernel].name;
    profiles[i].origin = call.origin;
    profiles[i].flops = evaluate(schedule_.step_work[i].flops, given);
    profiles[i].bytes = evaluate(schedule_.step_work[i].bytes, given);
  }
  double total = 0;
  const Stopwatch whole;
  for (size_t i = 0; i < profiles.size(); i++) {
    profiles[i].start = 1e-3 * whole.milliseconds();
    const Stopwatch watch;
    if (!executable_->run(Phase::kStep, slots_.data(), values, i, i + 1)) return false;
    profiles[i].seconds = 1e-3 * watch.milliseconds();
    total += profiles[i].seconds;
  }
  for (KernelProfile& profile : profiles)
    profile.share = total > 0 ? profile.seconds / total : 1.0 / static_cast<double>(profiles.size());
  return true;
}

int64_t Plan::evaluate(const Index& expression, std::span<const int64_t> values) const {
  return expression.evaluate([&](const Index& leaf) {
    for (size_t i = 0; i < values.size(); i++)
      if (schedule_.program.variables[i] == leaf) return values[i];
    throw InternalError(concat("no value for ", leaf.text()));
  });
}

}  // namespace tandem
