#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/kernel.h"

namespace tandem {

/// What a slot (a buffer of a plan) is for. Backends whose memory is elsewhere copy accordingly.
enum class SlotRole : uint8_t {
  kInput,     ///< Written by the caller before each step.
  kConstant,  ///< Weights as the model gave them; written once, read by prepare calls (and by steps when used as they
              ///< are).
  kPacked,    ///< Written by prepare calls, read by steps.
  kIntermediate,  ///< Written and read within one step.
  kState,         ///< Written by one step, read by the next.
  kOutput,        ///< Written by a step, read by the caller.
};

/// One buffer of a plan.
struct Slot {
  SlotRole role = SlotRole::kIntermediate;
  DType dtype = DType::kF32;
  int64_t bytes = 0;  ///< Size at the upper bounds of all variables.
  std::string name;   ///< Of the input, output or weight; for messages.
};

/// One call of a kernel in a plan.
struct KernelCall {
  uint32_t kernel = 0;           ///< Number in Program::kernels.
  std::vector<uint32_t> slots;   ///< One per buffer parameter.
  std::vector<Index> variables;  ///< One per kernel variable, over the program's variables.
  Index range = 1;               ///< The kernel's range extent over the program's variables.
  std::string origin;            ///< Where in the model it comes from, for profiles.
};

/// Everything a backend needs to make a plan executable: distinct kernels, and two lists of calls.
struct Program {
  std::vector<Kernel> kernels;
  std::vector<KernelCall> prepare_calls;  ///< Run once: folding and packing of constants.
  std::vector<KernelCall> step_calls;     ///< Run at every execute.
  std::vector<Slot> slots;
  std::vector<Index> variables;  ///< kVariable leaves, in the order of the values given to run().
};

/// The two lists of a program.
enum class Phase : uint8_t { kPrepare, kStep };

}  // namespace tandem
