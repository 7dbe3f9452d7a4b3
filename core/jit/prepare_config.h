#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/backend/backend.h"
#include "core/jit/debug.h"

namespace tandem {

/// How a wrapper is prepared: on which machine, how exactly, with how much memory.
struct PrepareConfig {
  std::shared_ptr<Backend> backend;     ///< This one; empty: the one that `backend_name` names.
  std::string backend_name;             ///< "native", "wasm", "interpreter"; empty: the default of the program.
  Numerics numerics = Numerics::kFast;  ///< How strictly results are fixed.
  std::string isa;                      ///< Instruction set to plan for; empty: the best that the backend has.
  /// Multiplies bf16 weights by the machine's bf16 dot products: what meets them is rounded to bf16, sums stay f32. A
  /// machine without them plans as if this were not set; with reproducible numerics it is an error.
  bool bfloat16_dot = false;
  /// Measures register tiles of the contractions that matter on this machine, and plans with the fastest; what was
  /// found is kept in the backend's cache. Off, or where nothing can be measured: the heuristic's tiles. Reproducible
  /// results have the same bits either way.
  bool tune = false;
  /// Told, where there is one, how many contractions tuning is about to measure, which takes up to seconds.
  std::function<void(int contractions)> on_measuring = {};
  int threads = 0;                        ///< Of a step; 0: as many as the machine gives this process.
  int64_t memory_limit = kDefaultMemory;  ///< Bytes that one plan may need; 0: no limit.
  DebugOptions debug;                     ///< What is printed while preparing.

  /// As much as cgroup and machine allow; at most 4 GiB for a 32-bit target.
  static constexpr int64_t kDefaultMemory = -1;

  /// From TANDEM_BACKEND, TANDEM_NUMERICS, TANDEM_ISA, TANDEM_BF16_DOT, TANDEM_TUNE, TANDEM_THREADS,
  /// TANDEM_MEMORY_LIMIT, TANDEM_DEBUG and TANDEM_DUMP. kInvalidArgument naming the variable, its value and what is
  /// allowed.
  static Result<PrepareConfig> from_env();
  /// The same from another source of words (query parameters of a page, a test); nullptr: not set.
  static Result<PrepareConfig> from(const std::function<const char*(const char* name)>& look_up);
};

/// A configuration with everything found: the live backend, its capabilities or the forced ones, the limit in bytes.
struct ResolvedConfig {
  std::shared_ptr<Backend> backend;
  Capabilities capabilities;
  bool bfloat16_dot = false;  ///< Wanted, and the machine has them.
  int64_t memory_limit = 0;   ///< 0: none.
};
Result<ResolvedConfig> resolve(const PrepareConfig& config);

}  // namespace tandem
