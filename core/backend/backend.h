#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/backend/measurements.h"
#include "core/base/error.h"
#include "core/kernel/capabilities.h"
#include "core/kernel/program.h"

namespace tandem {

/// A program compiled and loaded. Destroying it gives back code, table slots and whatever else it holds.
class Executable {
 public:
  virtual ~Executable() = default;

  /// Runs calls [first, last) of a phase. `slots[i]` is the 64-byte aligned address of slot i, `variables[i]` the value
  /// of variable i (already checked against its bounds). A constant that no step call reads may lie anywhere in the
  /// host's memory, aligned to its elements, and only while the prepare calls that read it run. Allocates nothing and
  /// throws nothing; false means that the machine behind it is broken (a Wasm trap, a dead runner process), and
  /// `failure()` says how.
  virtual bool run(Phase phase, void* const* slots, const int64_t* variables, size_t first, size_t last) noexcept = 0;

  /// May several threads run it at once, each with its own slots? If not, replicas compile again.
  virtual bool reentrant() const { return false; }

  /// Takes over what an executable of the same program has in memory that is not the host's: weights, above all. False
  /// when the machine is broken. Backends whose kernels work on the host's memory have nothing to do.
  virtual bool copy_memory_of(const Executable& source) noexcept {
    static_cast<void>(source);
    return true;
  }

  /// Why the last run returned false.
  virtual std::string failure() const { return {}; }

  /// Operations that the kernels have executed so far, each vector counting once; 0 where nobody counts. For tests.
  virtual uint64_t operations() const { return 0; }

  /// The kernels in the backend's own language, for people: C, WebAssembly text, assembly. Empty when there is none.
  virtual std::string source() const { return {}; }
  /// The bytes that were loaded (an object file, a Wasm module); for tests and caches.
  virtual std::vector<uint8_t> binary() const { return {}; }
};

/// What compiling did, for counters, profiles and tests.
struct CompileStatistics {
  int kernels = 0;         ///< Distinct kernels in the program.
  int compiled_units = 0;  ///< Translation units or modules compiled now.
  int cached_units = 0;    ///< Taken from the cache.
  double generate_ms = 0;  ///< Printing or emitting.
  double compile_ms = 0;   ///< In the compiler.
  double load_ms = 0;      ///< Linking or instantiating.
};

/// A machine that compiles and runs kernels. Implementations live in backends/; the program chooses one when it starts.
/// All methods may be called from several threads at once.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "native", "wasm", "interpreter".
  virtual std::string name() const = 0;
  /// What the host has; plans may be made for less.
  virtual Capabilities capabilities() const = 0;
  /// Compiles and loads a program for the given capabilities; kDevice when the machine can't.
  virtual Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& capabilities,
                                                      Numerics numerics, CompileStatistics& statistics) = 0;

  /// For measuring kernels on this machine. Null when the time of a run says nothing about them: a machine that is only
  /// interpreted, or another process.
  virtual Measurements* measurements() { return nullptr; }

  /// Memory that kernels can reach, 64-byte aligned, zeroed. Null when there is none. Backends whose memory is
  /// elsewhere keep the host's copy here.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory, size_t bytes) = 0;
};

}  // namespace tandem
