// Kernels of the IR in WebAssembly under Node.js, against the interpreter and numbers worked out here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backends/interpreter/interpreter.h"
#include "backends/wasm/node/node_backend.h"
#include "core/base/text.h"
#include "tests/reference/random.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/random_kernel.h"

namespace tandem {
namespace {

Backend& node() {
  static std::unique_ptr<Backend> backend = [] {
    auto made = make_node_backend(NodeBackendOptions::from_environment());
    if (!made) throw std::runtime_error(made.error().text());
    return std::move(*made);
  }();
  return *backend;
}

/// Contents for a buffer of a random kernel: numbers of moderate size, 0 .. 7 in b1, which subscripts are read from.
std::vector<uint8_t> contents(const BufferParameter& buffer, bool holds_subscripts, reference::Random& random) {
  const size_t count = static_cast<size_t>(buffer.elements.constant());
  std::vector<uint8_t> bytes(count * size_of(buffer.dtype));
  for (size_t i = 0; i < count; i++) {
    const int64_t integer = holds_subscripts ? random.below(8) : random.between(-100, 100);
    if (buffer.dtype == DType::kF32) {
      const float value = static_cast<float>(random.uniform(-2, 2));
      std::memcpy(&bytes[i * 4], &value, 4);
    } else if (buffer.dtype == DType::kF64) {
      const double value = random.uniform(-2, 2);
      std::memcpy(&bytes[i * 8], &value, 8);
    } else {
      std::memcpy(&bytes[i * size_of(buffer.dtype)], &integer, size_of(buffer.dtype));
    }
  }
  return bytes;
}

std::string run_on(Backend& backend, const Kernel& kernel, std::vector<std::vector<uint8_t>>& bytes,
                   const std::vector<int64_t>& variables) {
  std::vector<KernelBuffer> buffers;
  for (auto& each : bytes) buffers.push_back({SlotRole::kState, each.data(), each.size()});
  return run_kernel_on(backend, kernel, buffers, variables);
}

// NaNs that arithmetic makes may have any sign and payload.
void canonicalise(const Kernel& kernel, std::vector<std::vector<uint8_t>>& bytes) {
  for (size_t b = 0; b < bytes.size(); b++) {
    for (size_t i = 0; i < bytes[b].size(); i += size_of(kernel.buffers[b].dtype)) {
      float narrow = 0;
      double wide = 0;
      if (kernel.buffers[b].dtype == DType::kF32) std::memcpy(&narrow, &bytes[b][i], 4);
      if (kernel.buffers[b].dtype == DType::kF64) std::memcpy(&wide, &bytes[b][i], 8);
      if (std::isnan(narrow) || std::isnan(wide)) std::memset(&bytes[b][i], 0xFF, size_of(kernel.buffers[b].dtype));
    }
  }
}

void check_seed(uint32_t seed) {
  const Kernel kernel = test::random_kernel(seed);
  reference::Random random(seed + 1);
  std::vector<std::vector<uint8_t>> before;
  for (size_t b = 0; b < kernel.buffers.size(); b++) {
    before.push_back(contents(kernel.buffers[b], b == 1, random));
  }
  std::vector<int64_t> variables;
  for (const Index& variable : kernel.variables)
    variables.push_back(random.between(variable.lower(), variable.upper()));
  auto expected = before;
  auto got = before;
  InterpreterBackend interpreter;
  ASSERT_EQ(run_on(interpreter, kernel, expected, variables), "") << text(kernel);
  ASSERT_EQ(run_on(node(), kernel, got, variables), "") << text(kernel);
  canonicalise(kernel, expected);
  canonicalise(kernel, got);
  for (size_t b = 0; b < got.size(); b++) {
    ASSERT_TRUE(got[b] == expected[b]) << "seed " << seed << " buffer " << b << "\n" << text(kernel);
  }
}

TEST(WasmKernels, RandomKernelsGiveTheInterpretersBits) {
  for (uint32_t seed = 1; seed <= 150; seed++) check_seed(seed);
}

TEST(WasmKernelsSlow, ManyRandomKernelsGiveTheInterpretersBits) {
  for (uint32_t seed = 1000; seed < 5000; seed++) check_seed(seed);
}

TEST(WasmKernels, MultipliesMatricesInRegisterTiles) {
  const Kernel kernel = parse_kernel(R"(kernel "gemm" {
  variable k in 1 .. 40
  buffer b0 read f32[8*k]
  buffer b1 read f32[16*k]
  buffer b2 write f32[128]
  range i0 in 0 .. 4
  for i1 in 0 .. 16 step 8 {
    v1 = constant f32x8 0
    v2 = variable f32x8 v1
    v3 = variable f32x8 v1
    for i2 in 0 .. k {
      v5 = load f32x8 b1[i1 + 16*i2]
      v6 = load f32 b0[2*i0*k + i2]
      v7 = splat f32x8 v6
      v8 = get f32x8 v2
      v9 = mul f32x8 v7 v5
      v10 = add f32x8 v8 v9
      set v2 v10
      v12 = load f32 b0[2*i0*k + k + i2]
      v13 = splat f32x8 v12
      v14 = get f32x8 v3
      v15 = mul f32x8 v13 v5
      v16 = add f32x8 v14 v15
      set v3 v16
    }
    v18 = get f32x8 v2
    store f32x8 v18 b2[32*i0 + i1]
    v20 = get f32x8 v3
    store f32x8 v20 b2[32*i0 + i1 + 16]
  }
}
)");
  for (int64_t k : {1, 3, 40}) {
    std::vector<float> a(static_cast<size_t>(8 * k)), b(static_cast<size_t>(16 * k)), c(128);
    reference::Random random(static_cast<uint32_t>(k));
    for (float& each : a) each = static_cast<float>(random.uniform(-1, 1));
    for (float& each : b) each = static_cast<float>(random.uniform(-1, 1));
    ASSERT_EQ(run_kernel_on(node(), kernel, {input_of(a), input_of(b), output_of(c)}, {k}), "");
    for (size_t row = 0; row < 8; row++) {
      for (size_t column = 0; column < 16; column++) {
        volatile float sum = 0;
        for (size_t i = 0; i < static_cast<size_t>(k); i++) {
          const volatile float product = a[row * static_cast<size_t>(k) + i] * b[i * 16 + column];
          sum = sum + product;
        }
        ASSERT_EQ(c[row * 16 + column], sum) << k << " " << row << " " << column;
      }
    }
  }
}

}  // namespace
}  // namespace tandem
