// Every opcode of the kernel IR in WebAssembly under Node.js.
#include <gtest/gtest.h>

#include "backends/wasm/node/node_backend.h"
#include "tests/support/opcode_check.h"

namespace tandem {
namespace {

std::unique_ptr<Backend> node() {
  auto backend = make_node_backend(NodeBackendOptions::from_environment());
  if (!backend) throw std::runtime_error(backend.error().text());
  return std::move(*backend);
}

TEST(WasmOpcodes, MeanWhatTheTableSays) {
  auto backend = node();
  for (int lanes : {1, 2, 4, 8, 16}) test::check_opcodes(*backend, *capabilities_named("wasm-simd128"), lanes);
}

}  // namespace
}  // namespace tandem
