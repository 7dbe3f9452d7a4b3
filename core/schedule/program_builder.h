#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/kernel/program.h"
#include "core/schedule/schedule.h"

namespace tandem {

/// Collects slots, distinct kernels and calls of a program while groups are lowered.
class ProgramBuilder {
 public:
  ProgramBuilder(const GraphModule& graph_module, const ScheduleOptions& schedule_options)
      : module(graph_module), options(schedule_options) {}

  const GraphModule& module;
  const ScheduleOptions& options;
  Program program;
  BufferTable buffers;                 ///< Nodes that have a buffer so far.
  BufferTable widened;                 ///< f32 copies of buffers of bf16, for contractions (widen.h).
  std::vector<int64_t> slot_elements;  ///< Elements of each slot at the variables' maxima.

  /// A new slot of `elements` elements.
  uint32_t add_slot(SlotRole role, DType dtype, int64_t elements, std::string name);
  /// Adds a call; an equal kernel that is there already is shared. `slots` are the kernel's buffers in order.
  void add_call(Phase phase, Kernel kernel, std::vector<uint32_t> slots, std::string origin, Work work = {});
  /// When an earlier prepare call computes what the last one writes into `slot`, the slot added last, both go and the
  /// earlier result is returned; else `slot`.
  uint32_t share_last_result(uint32_t slot);
  /// Adds a call of a kernel that is there.
  void repeat_call(Phase phase, KernelCall call, Work work);
  /// Says what the call that was added last in a phase does.
  void describe_last_call(Phase phase, std::string origin, Work work);
  std::vector<Work> step_work;  ///< Of each step call.
  /// Takes away prepare calls whose results nobody reads, and kernels that nobody calls.
  void drop_unread();

 private:
  uint32_t kernel_number(Kernel&& kernel);

  /// By a rough hash: a kernel's text, which decides, takes longer than everything else that is done with it.
  std::unordered_multimap<uint64_t, uint32_t> kernel_numbers_;
};

}  // namespace tandem
