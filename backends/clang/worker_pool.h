#pragma once

#include <cstdint>
#include <memory>

#include "backends/clang/orc.h"

namespace tandem {

/// Threads that share the ranges of large kernels. Idle workers sleep: they spin only between two large kernels of one
/// step.
class WorkerPool {
 public:
  /// 0 threads: as many as the process may use (its affinity mask). Threads are made at the first run that wants them.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// How many threads take part, the caller's included.
  int threads() const { return threads_; }

  /// Runs [0, range) of a kernel in pieces, each with the floating-point mode `mxcsr`. `sleep` lets the workers sleep
  /// afterwards. The pieces don't share outputs, so that the result has the same bits for every number of threads. Safe
  /// from several threads, one after the other.
  void run(KernelFunction function, void* const* buffers, const long* variables, int64_t range, unsigned mxcsr,
           bool sleep);

 private:
  struct Threads;
  int threads_;
  std::unique_ptr<Threads> pool_;
};

}  // namespace tandem
