#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/clang/orc.h"
#include "backends/clang/worker_pool.h"
#include "core/backend/backend.h"
#include "core/backend/index_program.h"

namespace tandem {

/// A loaded program: calls with everything resolved that can be before the first step.
class NativeProgram : public Executable {
 public:
  /// `code->functions` holds one function per kernel of the program; large kernels of steps run on `pool`, those of
  /// prepare, like the compiler, on as many threads as the process may use. Throws InternalError for a call that names
  /// a kernel, slot or variable that isn't there.
  NativeProgram(const Program& program, Numerics numerics, std::unique_ptr<LoadedCode> code,
                std::shared_ptr<WorkerPool> pool, std::string source, std::vector<uint8_t> binary);

  bool run(Phase phase, void* const* slots, const int64_t* variables, size_t first, size_t last) noexcept override;
  bool reentrant() const override { return true; }
  std::string source() const override { return source_; }
  std::vector<uint8_t> binary() const override { return binary_; }

 private:
  struct Call {
    KernelFunction function;
    std::vector<uint32_t> slots;
    std::vector<IndexProgram> variables;
    IndexProgram range;
    bool large;       ///< Worth sharing between threads.
    bool last_large;  ///< No large call follows: the workers may sleep.
  };
  /// `large_bytes`: calls whose buffers have so many bytes are worth sharing whatever they compute.
  static std::vector<Call> resolve(const Program& program, const std::vector<KernelCall>& calls,
                                   const std::vector<KernelFunction>& functions, int64_t large_bytes);

  Numerics numerics_;
  std::unique_ptr<LoadedCode> code_;
  std::shared_ptr<WorkerPool> pool_;
  std::unique_ptr<WorkerPool> prepare_pool_;  ///< Where it is wider, until the last prepare call has run.
  std::vector<Call> prepare_calls_, step_calls_;
  std::string source_;
  std::vector<uint8_t> binary_;
};

}  // namespace tandem
