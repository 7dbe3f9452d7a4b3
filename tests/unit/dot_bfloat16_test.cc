// The bf16 dot product of pairs, against what Intel's manual says of VDPBF16PS, computed here with the C library's fma.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/interpreter/interpreter.h"
#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "core/kernel/evaluate.h"
#include "tests/reference/random.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }
float half_of(uint32_t pair, bool high) { return flushed(bit_cast<float>(high ? pair >> 16 << 16 : pair << 16)); }

float expected(uint32_t a, uint32_t b, float c) {
  const float first = flushed(std::fma(half_of(a, true), half_of(b, true), flushed(c)));
  return flushed(std::fma(half_of(a, false), half_of(b, false), first));
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || bit_cast<uint32_t>(a) == bit_cast<uint32_t>(b);
}

struct Operands {
  std::vector<uint32_t> a, b;
  std::vector<float> c;
};

/// Numbers of everyday size whose sums round, then all kinds of bits: denormals, infinities, NaNs.
Operands operands() {
  Operands all;
  reference::Random random(7);
  const auto everyday = [&] {
    const auto sign = static_cast<uint32_t>(random.below(2)) << 15;
    return sign | static_cast<uint32_t>(random.between(110, 144)) << 7 | static_cast<uint32_t>(random.below(128));
  };
  for (int i = 0; i < 4096; i++) {
    all.a.push_back(everyday() | everyday() << 16);
    all.b.push_back(everyday() | everyday() << 16);
    all.c.push_back(bit_cast<float>(everyday() << 16 | static_cast<uint32_t>(random.below(65536))));
  }
  const uint32_t special[] = {0,      0x8000, 1,      0x8001, 0x7f,   0x80,   0x8080,
                              0x3f80, 0x1f80, 0x2000, 0x7f7f, 0x7f80, 0xff80, 0x7fc0};
  for (const uint32_t x : special)
    for (const uint32_t y : special)
      for (const uint32_t z : special) {
        all.a.push_back(x | y << 16);
        all.b.push_back(z | 0x3f80u << 16);
        all.c.push_back(bit_cast<float>(y << 16 | 1));
        all.a.push_back(x);
        all.b.push_back(y | z << 16);
        all.c.push_back(bit_cast<float>(z << 16));
      }
  while (all.a.size() % 16 != 0) {
    all.a.push_back(0);
    all.b.push_back(0);
    all.c.push_back(0);
  }
  return all;
}

Kernel dots(int lanes, int64_t elements) {
  KernelBuilder builder;
  const uint32_t a = builder.add_buffer(DType::kI32, Access::kRead, elements);
  const uint32_t b = builder.add_buffer(DType::kI32, Access::kRead, elements);
  const uint32_t c = builder.add_buffer(DType::kF32, Access::kRead, elements);
  const uint32_t result = builder.add_buffer(DType::kF32, Access::kWrite, elements);
  const Index at = builder.open_range(elements / lanes) * lanes;
  const ValueId x = builder.load(a, at, lanes), y = builder.load(b, at, lanes), z = builder.load(c, at, lanes);
  builder.store(result, at, builder.dot_bfloat16(x, y, z));
  return builder.finish("dots");
}

void expect_dots(Backend& backend, int lanes, Numerics numerics) {
  Operands all = operands();
  std::vector<float> results(all.a.size(), 77);
  const Kernel kernel = dots(lanes, static_cast<int64_t>(all.a.size()));
  ASSERT_EQ(run_kernel_on(backend, kernel, {input_of(all.a), input_of(all.b), input_of(all.c), output_of(results)}, {},
                          numerics),
            "");
  int wrong = 0;
  for (size_t i = 0; i < results.size() && wrong < 3; i++) {
    const float want = expected(all.a[i], all.b[i], all.c[i]);
    if (same(results[i], want)) continue;
    wrong++;
    ADD_FAILURE() << lanes << " lanes, " << backend.name() << std::hex << ": " << all.a[i] << " . " << all.b[i] << " + "
                  << bit_cast<uint32_t>(all.c[i]) << " gives " << bit_cast<uint32_t>(results[i]) << ", not "
                  << bit_cast<uint32_t>(want);
  }
}

TEST(DotBFloat16, IsTwoFusedProductsThatFlushDenormals) {
  InterpreterBackend interpreter;
  const auto native = test::uncached_backend();
  for (const int lanes : {1, 2, 4, 8, 16})
    for (const Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
      expect_dots(interpreter, lanes, numerics);
      if (host_capabilities().bfloat16_dot) expect_dots(*native, lanes, numerics);
    }
}

TEST(DotBFloat16, IsRefusedWhereTheMachineHasNone) {
  const Kernel kernel = dots(4, 16);
  EXPECT_NO_THROW(verify(kernel, *capabilities_named("avx512")));
  EXPECT_THROW(verify(kernel, *capabilities_named("avx2")), InternalError);
  EXPECT_THROW(verify(kernel, *capabilities_named("wasm-relaxed")), InternalError);
  CompileStatistics statistics;
  const auto refused = test::uncached_backend()->compile(test::program_of(kernel), *capabilities_named("sse"),
                                                         Numerics::kFast, statistics);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("dot"), std::string::npos) << refused.error().text();
}

TEST(DotBFloat16, HasATextThatReadsBack) {
  const Kernel kernel = dots(16, 64);
  EXPECT_NE(text(kernel).find("v3 = dot_bf16 f32x16 v0 v1 v2\n"), std::string::npos) << text(kernel);
  EXPECT_EQ(text(parse_kernel(text(kernel))), text(kernel));
}

TEST(DotBFloat16, TakesPairsAndAddsToF32) {
  const auto fault = [](const char* body) -> std::string {
    try {
      verify(parse_kernel(std::string("kernel {\n v0 = constant f32 1\n v1 = constant i32 1\n v2 = constant f64 1\n ") +
                          body + "\n}\n"));
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault("v3 = dot_bf16 f32 v1 v1 v0"), "");
  EXPECT_NE(fault("v3 = dot_bf16 f32 v0 v1 v0").find("pairs of bf16"), std::string::npos);
  EXPECT_NE(fault("v3 = dot_bf16 f32 v1 v0 v0").find("pairs of bf16"), std::string::npos);
  EXPECT_NE(fault("v3 = dot_bf16 f64 v1 v1 v2").find("adds to f32"), std::string::npos);
  EXPECT_NE(fault("v3 = dot_bf16 i32 v1 v1 v1").find("adds to f32"), std::string::npos);
}

}  // namespace
}  // namespace tandem
