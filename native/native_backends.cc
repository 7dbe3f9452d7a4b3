#include "native/native_backends.h"

#include <memory>
#include <mutex>

#include "backends/clang/clang_backend.h"
#include "backends/interpreter/interpreter.h"
#include "backends/wasm/node/node_backend.h"
#include "core/backend/registry.h"

namespace tandem {
namespace {

Result<std::shared_ptr<Backend>> make_native(const BackendRequest& request) {
  if (auto checked = ClangBackendOptions::check_environment(); !checked)
    return tl::unexpected<JitError>(checked.error());
  ClangBackendOptions options = ClangBackendOptions::from_environment();
  options.threads = request.threads;
  return std::shared_ptr<Backend>(make_clang_backend(options));
}

Result<std::shared_ptr<Backend>> make_wasm(const BackendRequest&) {
  auto made = make_node_backend(NodeBackendOptions::from_environment());
  if (!made) return tl::unexpected<JitError>(made.error());
  return std::shared_ptr<Backend>(std::move(*made));
}

Result<std::shared_ptr<Backend>> make_interpreter(const BackendRequest&) {
  return std::shared_ptr<Backend>(std::make_shared<InterpreterBackend>());
}

}  // namespace

void register_native_backends() {
  static std::once_flag once;
  std::call_once(once, [] {
    // The first is the default.
    register_backend("native", make_native);
    register_backend("wasm", make_wasm);
    register_backend("interpreter", make_interpreter);
    set_memory_probe(native_available_memory);
  });
}

}  // namespace tandem
