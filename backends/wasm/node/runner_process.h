#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/wasm/node/node_backend.h"
#include "core/base/error.h"

namespace tandem {

/// A Node process with runner.mjs inside, and the conversation with it. One thread at a time: lock `mutex()` around
/// what belongs together. Once something went wrong it stays broken, and every call says why.
class RunnerProcess {
 public:
  enum Operation : uint32_t { kHello = 1, kLoad = 2, kWrite = 3, kRun = 4, kUnload = 5, kCopy = 6 };
  /// A piece of memory that is sent without being copied together first.
  struct Piece {
    const void* data;
    size_t bytes;
  };

  /// Starts Node and asks what it is; kDevice when there is none, or it is too old, or it doesn't answer.
  static Result<std::shared_ptr<RunnerProcess>> start(const NodeBackendOptions& options);
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  bool has_relaxed_simd() const { return has_relaxed_simd_; }
  std::mutex& mutex() { return mutex_; }
  pid_t process() const { return process_; }

  /// Sends a request. False when the process is gone.
  bool send(Operation operation, const std::vector<Piece>& pieces);
  bool send(Operation operation, const Piece* pieces, size_t count);
  /// Reads the first part of a reply: true and the size of what follows; false with failure() set when the process
  /// reports an error or is gone.
  bool receive(uint32_t& bytes);
  /// Reads what follows.
  bool receive(void* data, size_t bytes);

  const std::string& failure() const { return failure_; }
  bool is_broken() const { return is_broken_; }

 private:
  explicit RunnerProcess(const NodeBackendOptions& options) : options_(options) {}
  Result<bool> spawn();
  Result<bool> introduce();
  bool wait_for(short event);
  bool lose(const std::string& what);
  std::string last_words() const;

  NodeBackendOptions options_;
  std::mutex mutex_;
  pid_t process_ = -1;
  int socket_ = -1;
  int errors_ = -1;  ///< What the process writes to its standard error: a file in memory.
  bool has_relaxed_simd_ = false;
  bool is_broken_ = false;
  std::string failure_;
  std::optional<std::chrono::steady_clock::time_point> introduction_end_;  ///< While the process introduces itself.
};

}  // namespace tandem
