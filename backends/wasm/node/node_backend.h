#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend/backend.h"

namespace tandem {

struct NodeBackendOptions {
  std::string node = "node";       ///< Program name, looked up in PATH, or path.
  std::vector<std::string> flags;  ///< More options for Node, such as --experimental-wasm-relaxed-simd.
  double timeout_seconds = 300;    ///< How long the process may be silent while it owes an answer.
  double start_seconds = 20;       ///< How long the process may take to say what it is.

  /// TANDEM_NODE, and TANDEM_NODE_FLAGS separated by spaces.
  static NodeBackendOptions from_environment();
};

/// The WebAssembly backend of the native tool: emits modules with Binaryen and runs them in one Node process, over a
/// socket, with the runner's code inside this program. Memory of kernels lies in that process; each run copies inputs
/// and states there and outputs and states back. All its programs share the process, which ends with the backend and
/// the last of them.
///
/// kDevice when Node is missing, older than 20 or silent; the message names what was found.
Result<std::unique_ptr<Backend>> make_node_backend(const NodeBackendOptions& options);

}  // namespace tandem
