#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace tandem {

/// How much one file may take in memory.
struct ReadLimit {
  uint64_t bytes = 0;
  std::string reason;  ///< Where the number comes from, for messages.
};

/// TANDEM_MEMORY_LIMIT, or a third of the available memory (at least 64 MiB) where that is less: something that grows
/// needs its old and its new block, and then the results. kInvalidArgument when the variable is no number of bytes.
Result<ReadLimit> read_limit();

/// kMemoryLimit "WHAT needs BYTES bytes, ..." when it is more than `limit`.
Result<void> check_read_limit(const std::string& what, uint64_t bytes, const ReadLimit& limit);

}  // namespace tandem
