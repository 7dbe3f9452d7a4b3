#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/backend/backend.h"

namespace tandem {

/// How the native backend compiles and caches.
struct ClangBackendOptions {
  std::string compiler_plugin;  ///< Path of the plugin; empty: looked for (compiler_loader.h).
  std::string cache_folder;     ///< Empty: no cache on disk.
  std::string cache_warning;    ///< Why there is no folder, when that was not asked for.
  uint64_t cache_limit_bytes = uint64_t{1} << 30;
  bool debugger = false;    ///< Tell gdb about every object and add line tables.
  bool perf = false;        ///< Write a jitdump file for `perf inject --jit`.
  int threads = 0;          ///< That share large kernels; 0: as many as the process may use.
  int compile_threads = 0;  ///< Units compiled at once; 0: as many as the machine has processors, at most 4.

  /// From TANDEM_COMPILER_PLUGIN, TANDEM_CACHE, TANDEM_CACHE_DIR, TANDEM_CACHE_MAX_BYTES, TANDEM_JIT_DEBUG,
  /// TANDEM_JIT_PERF.
  static ClangBackendOptions from_environment();
  /// kInvalidArgument for a value of these that is not allowed, which `from_environment` takes as not set.
  static Result<void> check_environment();
};

/// Native code for x86-64: kernels are printed as C, compiled by clang in this process, cached as objects on disk and
/// linked by LLVM's ORC.
class ClangBackend : public Backend {
 public:
  /// Why kernels are not cached on disk; empty when they are, or when no cache was asked for.
  virtual std::string cache_warning() const = 0;
  /// The machine code of a program as assembly text; loads the compiler.
  virtual Result<std::string> assembly(const Program& program, const Capabilities& capabilities) = 0;
};

std::unique_ptr<ClangBackend> make_clang_backend(const ClangBackendOptions& options);

/// What this processor and its operating system can do: the best of avx512, avx2, sse+fma and sse. Found once.
const Capabilities& host_capabilities();
/// Maker and model of the processor, as it calls itself. Found once.
const std::string& host_processor();
/// Can this machine run code for an instruction set? False for names that are not native.
bool host_supports(const Capabilities& capabilities);

}  // namespace tandem
