#include "backends/clang/worker_pool.h"

#include <pthreadpool.h>
#include <sched.h>

#include <algorithm>
#include <mutex>

// The library is not built with the thread sanitizer, which has to be told what it orders: the pieces of a job come
// after the call that hands it over, and the end of that call comes after the pieces.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TANDEM_BEFORE(job) __tsan_release(job)
#define TANDEM_AFTER(job) __tsan_acquire(job)
#endif
#endif
#ifndef TANDEM_BEFORE
#define TANDEM_BEFORE(job) static_cast<void>(job)
#define TANDEM_AFTER(job) static_cast<void>(job)
#endif

namespace tandem {
namespace {

/// Pieces per thread: enough to even out a thread that was held up, few enough to stay large.
constexpr int64_t kPiecesPerThread = 4;

struct Job {
  KernelFunction function;
  void* const* buffers;
  const long* variables;
  unsigned mxcsr;
};

void run_piece(void* context, size_t begin, size_t count) {
  TANDEM_AFTER(context);
  const Job& job = *static_cast<const Job*>(context);
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(job.mxcsr);
  job.function(job.buffers, job.variables, static_cast<long>(begin), static_cast<long>(begin + count));
  __builtin_ia32_ldmxcsr(before);
  TANDEM_BEFORE(context);
}

int allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

struct WorkerPool::Threads {
  std::once_flag made;
  pthreadpool_t pool = nullptr;
};

WorkerPool::WorkerPool(int threads)
    : threads_(threads > 0 ? threads : allowed_processors()), pool_(std::make_unique<Threads>()) {}

WorkerPool::~WorkerPool() {
  if (pool_->pool != nullptr) pthreadpool_destroy(pool_->pool);
}

void WorkerPool::run(KernelFunction function, void* const* buffers, const long* variables, int64_t range,
                     unsigned mxcsr, bool sleep) {
  std::call_once(pool_->made, [&] { pool_->pool = pthreadpool_create(static_cast<size_t>(threads_)); });
  Job job{function, buffers, variables, mxcsr};
  const int64_t pieces = std::min(range, threads_ * kPiecesPerThread);
  const size_t tile = static_cast<size_t>((range + pieces - 1) / pieces);
  TANDEM_BEFORE(&job);
  // Without threads (none could be made) the library runs everything on the caller's.
  pthreadpool_parallelize_1d_tile_1d(pool_->pool, run_piece, &job, static_cast<size_t>(range), tile,
                                     sleep ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0);
  TANDEM_AFTER(&job);
}

}  // namespace tandem
