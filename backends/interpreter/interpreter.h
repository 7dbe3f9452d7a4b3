#pragma once

#include "core/backend/backend.h"

namespace tandem {

/// Executes kernels step by step, slowly and suspiciously: the oracle that code generators are compared with.
///
/// Beyond computing, it checks what the others trust: every access against the buffer and its slot, every read against
/// what has been written (intermediate and output slots hold nothing when a step begins), counts, promised bounds of
/// indices and variables, and to_int_exact. The first violation stops the run, and `failure()` names call, kernel and
/// instruction. Denormals are kept under both Numerics.
class InterpreterBackend final : public Backend {
 public:
  std::string name() const override { return "interpreter"; }
  Capabilities capabilities() const override;
  /// Takes plans made for any machine. Fails with kDevice when a kernel or a call breaks the rules.
  Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& capabilities,
                                              Numerics numerics, CompileStatistics& statistics) override;
  void* allocate(size_t bytes) override;
  void release(void* memory, size_t bytes) override;
};

}  // namespace tandem
