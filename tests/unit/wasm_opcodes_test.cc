// Every opcode of the kernel IR in WebAssembly under Node.js.
#include <gtest/gtest.h>

#include "backends/wasm/node/node_backend.h"
#include "tests/support/opcode_check.h"

namespace tandem {
namespace {

std::unique_ptr<Backend> node(const NodeBackendOptions& options) {
  auto backend = make_node_backend(options);
  return backend ? std::move(*backend) : nullptr;
}

TEST(WasmOpcodes, MeanWhatTheTableSays) {
  auto backend = node(NodeBackendOptions::from_environment());
  ASSERT_NE(backend, nullptr);
  for (int lanes : {1, 2, 4, 8, 16}) test::check_opcodes(*backend, *capabilities_named("wasm-simd128"), lanes);
}

TEST(WasmOpcodes, MeanTheSameInRelaxedSimd) {
  // Node.js 20 wants to be asked for relaxed SIMD; later ones have it and do not know the option.
  NodeBackendOptions options = NodeBackendOptions::from_environment();
  options.flags.emplace_back("--experimental-wasm-relaxed-simd");
  auto backend = node(options);
  if (!backend) backend = node(NodeBackendOptions::from_environment());
  ASSERT_NE(backend, nullptr);
  ASSERT_EQ(backend->capabilities().isa, "wasm-relaxed");
  for (int lanes : {1, 2, 4, 8, 16}) test::check_opcodes(*backend, backend->capabilities(), lanes);
}

}  // namespace
}  // namespace tandem
