#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.h"

namespace tandem {

/// What a program may ask of a backend when it is made.
struct BackendRequest {
  int threads = 0;  ///< 0: as many as the machine gives this process.

  friend bool operator==(const BackendRequest& a, const BackendRequest& b) { return a.threads == b.threads; }
};

/// Makes a backend; kDevice or kNotFound when this machine has none.
using BackendFactory = std::function<Result<std::shared_ptr<Backend>>(const BackendRequest&)>;

/// Offers a backend under a name ("native", "wasm", "interpreter"). The first registered name is the default. A name
/// that is there already keeps its place and gets the new factory. Safe from several threads.
void register_backend(std::string name, BackendFactory factory);

/// The registered names, the default first.
std::vector<std::string> backend_names();

/// The live backend of this name, or a new one: plans share it, and it dies with the last of them. An empty name means
/// the default. kInvalidArgument for an unknown name, with the known ones.
Result<std::shared_ptr<Backend>> find_backend(std::string_view name, const BackendRequest& request = {});

/// How many bytes this process may use: a program that knows (from cgroup and machine) sets a function that tells.
/// 0 means no limit.
using MemoryProbe = int64_t (*)();
void set_memory_probe(MemoryProbe probe);
/// What the probe says, 0 without one.
int64_t available_memory();

}  // namespace tandem
