#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace tandem {

/// A kernel in memory.
using KernelFunction = void (*)(void* const* buffers, const long* variables, long begin, long end);

/// Loaded objects of one program; destroying it unmaps them, and every function in them is gone.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  /// One per symbol that was asked for, in that order.
  std::vector<KernelFunction> functions;
};

/// Options of the linker, from the environment.
struct LinkerOptions {
  bool debugger = false;  ///< TANDEM_JIT_DEBUG: tell gdb about every object.
  bool perf = false;      ///< TANDEM_JIT_PERF: write a jitdump file for `perf inject`.
};

/// Puts object files into this process (LLVM's ORC with JITLink): memory is writable while it is filled and executable
/// afterwards, never both. May be used from several threads at once.
class Linker {
 public:
  virtual ~Linker() = default;

  static Result<std::shared_ptr<Linker>> create(const LinkerOptions& options);

  /// Loads objects that may refer to nothing outside themselves. Each call has a name space of its own, so that one
  /// program can be loaded any number of times. kDevice with the linker's words when an object is damaged or a symbol
  /// is missing. The loaded code keeps the linker alive.
  virtual Result<std::unique_ptr<LoadedCode>> load(const std::vector<std::vector<uint8_t>>& objects,
                                                   const std::vector<std::string>& symbols) = 0;
};

/// Enters x86 in LLVM's list of targets, once. LLVM guards that list by no lock, and the linker here shares it with the
/// plugin's compiler: whoever comes first, from whatever thread, has it complete before the other one looks.
void initialise_targets();

/// What identifies the code generator without loading it: LLVM's version and the build id of the library that this
/// process has loaded, since distributions rebuild under one version.
const std::string& compiler_identity();

/// Names of symbols that an object leaves undefined; for tests and checks. Empty text parts when it isn't an object.
Result<std::vector<std::string>> undefined_symbols(const std::vector<uint8_t>& object);

}  // namespace tandem
