#pragma once

#include "core/kernel/builder.h"

namespace tandem {

/// Why a block of the builder is open.
enum class BlockKind : uint8_t {
  kRange,
  kLoop,
  kOnceLoop,  ///< A loop that isn't made: its body goes to the block around it.
  kIf,
  kTaken,     ///< A branch that is always taken: its body goes to the block around it.
  kNotTaken,  ///< A branch that never is: its block belongs to nothing.
};

struct KernelBuilder::OpenBlock {
  BlockKind kind;
  BlockId block;
  ValueId control;   ///< The loop or if, appended to the block around it when it is closed, after all that moved out.
  bool surely_runs;  ///< Whenever the block around it runs.
};

/// What an index expression needs, found once per node.
struct KernelBuilder::IndexFacts {
  Index index;  ///< Keeps the node, and so its address, alive.
  std::vector<ValueId> values;
  std::vector<uint32_t> loops;
  bool pinned = false;
};

}  // namespace tandem
