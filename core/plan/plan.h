#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "core/plan/memory.h"
#include "core/plan/profile.h"
#include "core/plan/tune.h"
#include "core/schedule/schedule.h"

namespace tandem {

/// How a plan is made.
struct PlanOptions {
  ScheduleOptions schedule;
  /// Bytes that a plan may need, temporaries of prepare included; 0: no limit.
  int64_t memory_limit = 0;
  /// Of the tuning that found the tiles of `schedule`, for the plan's statistics.
  TuneStatistics tune = {};
};

/// How long the stages of making a plan took, and what they made.
struct PlanStatistics {
  double schedule_ms = 0;
  double compile_ms = 0;  ///< Backend compile() as a whole; its own parts are in `compile`.
  double prepare_ms = 0;  ///< Copying constants and running the prepare calls.
  CompileStatistics compile;
  TuneStatistics tune = {};
  int64_t arena_bytes = 0;
  int64_t temporary_bytes = 0;
};

/// A scheduled, compiled and allocated graph: run() replays it.
///
/// Inputs are written through `input_data`, outputs read through `output_data`; both stay where they are for the plan's
/// life. run() allocates nothing, looks up no strings and throws nothing.
class Plan {
 public:
  /// Schedules, compiles, allocates, fills constants and runs the prepare calls. The module is only read here.
  static Result<std::unique_ptr<Plan>> make(const GraphModule& module, std::shared_ptr<Backend> backend,
                                            const PlanOptions& options);
  /// Another plan with the same code and weights, and buffers of its own that start as copies of this one's. Both may
  /// run at once, on different threads. This plan must be idle meanwhile.
  Result<std::unique_ptr<Plan>> replicate() const;
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::vector<ScheduledInput>& inputs() const { return schedule_.inputs; }
  const std::vector<ScheduledOutput>& outputs() const { return schedule_.outputs; }
  /// The symbolic variables, in the order of run()'s values.
  const std::vector<Index>& variables() const { return schedule_.program.variables; }
  const Program& program() const { return schedule_.program; }
  const Schedule& schedule() const { return schedule_; }
  const PlanStatistics& statistics() const { return statistics_; }
  const Executable& executable() const { return *executable_; }
  Backend& backend() const { return *backend_; }

  /// Base address of a slot that lives as long as the plan.
  std::byte* slot_data(uint32_t slot) const { return static_cast<std::byte*>(slots_[slot]); }
  std::byte* input_data(size_t input) const { return slot_data(schedule_.inputs[input].buffer.slot); }
  std::byte* output_data(size_t output) const { return slot_data(schedule_.outputs[output].buffer.slot); }
  int64_t slot_bytes(uint32_t slot) const { return schedule_.program.slots[slot].bytes; }

  /// Exchanges the places of two slots of equal size: a state's new value becomes the next step's old one.
  void swap_slots(uint32_t a, uint32_t b) { std::swap(slots_[a], slots_[b]); }

  /// Runs the step calls with these values of `variables()` (already checked). False: the backend failed; `failure()`
  /// says how.
  bool run(const int64_t* values) noexcept {
    return executable_->run(Phase::kStep, slots_.data(), values, 0, schedule_.program.step_calls.size());
  }
  std::string failure() const { return executable_->failure(); }
  /// The same, call by call with a clock between: one profile per call. Allocates.
  bool run_profiled(const int64_t* values, std::vector<KernelProfile>& profiles);

  /// A dimension, or a shape, with the variables at these values.
  int64_t evaluate(const Index& expression, std::span<const int64_t> values) const;

 private:
  /// Memory of the backend, given back when the last plan that uses it goes.
  struct Memory {
    std::shared_ptr<Backend> backend;
    std::byte* bytes = nullptr;
    size_t size = 0;
    ~Memory();
  };

  Plan() = default;
  Result<void> allocate();
  Result<void> prepare();
  Result<std::shared_ptr<Memory>> allocate_memory(int64_t bytes) const;
  void copy_layout(const Plan& source, std::byte* own);

  std::shared_ptr<Backend> backend_;
  Schedule schedule_;
  MemoryLayout layout_;
  PlanOptions options_;
  std::shared_ptr<Memory> arena_;  ///< With the weights.
  std::shared_ptr<Memory> own_;    ///< Of a replica: everything but the weights.
  std::shared_ptr<Executable> executable_;
  std::vector<void*> slots_;
  PlanStatistics statistics_;
};

}  // namespace tandem
