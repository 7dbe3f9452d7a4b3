#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/kernel/builder.h"

namespace tandem {
namespace {

// Every kind of line once, as it is printed.
const char* const kEverything = R"(kernel "a \"name\" with \\ in it" {
  flops 1234
  variable b in 2 .. 8 multiple 2
  variable `step 16` in 0 .. 64
  variable t in 1 .. 512
  buffer b0 read f32[512*b + t]
  buffer b1 read_write bf16[t]
  buffer b2 read i32[16]
  buffer b3 write i64[8192]
  buffer b4 local f64[24]
  range i0 in 0 .. b/2
  v0 = load i32 b2[i0]
  v1 = constant f32x4 0.1
  v2 = variable f32x4 v1
  for i1 in 0 .. min(v0, t) step 4 where v0 in 0 .. 512 {
    v4 = load f32x4 b0[512*i0 + i1] count(min(4, -i1 + t)) fill(-0)
    v5 = get f32x4 v2
    v6 = mul f32x4 v4 v4
    v7 = add f32x4 v5 v6
    set v2 v7
    prefetch f32 b0[i1] level 2
  }
  for i3 in `step 16` .. 2*t {
    v11 = index i32 i3 + 1
    v12 = constant i32 7
    v13 = lt mask32 v11 v12
    if v13 {
      v15 = load i32 b1[0]
      store i32 v15 b1[0]
    } else {
      store i32 v11 b1[0] count(min(1, i3))
    }
  }
  v18 = get f32x4 v2
  v19 = to_int i64x4 v18
  v20 = extract i64 v19 lane 3
  v21 = insert i64x4 v19 v20 lane 0
  v22 = low i64x2 v21
  v23 = lanes i64x2
  v24 = ne mask64x2 v22 v23
  v25 = select i64x2 v24 v22 v23
  store i64x2 v25 b3[2*i0]
}
)";

TEST(KernelText, RoundTrips) {
  const Kernel kernel = parse_kernel(kEverything);
  EXPECT_EQ(text(kernel), kEverything);
  EXPECT_NO_THROW(verify(kernel));
  EXPECT_EQ(text(parse_kernel(text(kernel))), kEverything);
}

TEST(KernelText, WithoutNameIsTheIdentity) {
  Kernel kernel = parse_kernel(kEverything);
  const std::string identity = text(kernel, false);
  kernel.name = "other";
  kernel.flops = 99;
  EXPECT_EQ(text(kernel, false), identity);
  EXPECT_EQ(text(parse_kernel(identity), false), identity);
}

TEST(KernelText, FloatsReadBackExactly) {
  const std::vector<float> numbers = {0.1f,
                                      -0.0f,
                                      1e-45f,
                                      1.17549435e-38f,
                                      3.4028234e38f,
                                      16777217.0f,
                                      1.0f / 3,
                                      std::numeric_limits<float>::infinity(),
                                      -std::numeric_limits<float>::infinity()};
  for (float number : numbers) {
    KernelBuilder builder;
    const uint32_t out = builder.add_buffer(DType::kF32, Access::kWrite, 1);
    builder.store(out, 0, builder.constant(Type{Scalar::kF32, 1}, static_cast<double>(number)));
    const Kernel read = parse_kernel(text(builder.finish("one")));
    EXPECT_EQ(bit_cast<uint64_t>(read.instructions[0].number), bit_cast<uint64_t>(static_cast<double>(number)));
  }
  const Kernel nan = parse_kernel("kernel {\n v7 = constant f64 nan\n v9 = constant f64 0.1\n}");
  EXPECT_TRUE(std::isnan(nan.instructions[0].number));
  EXPECT_EQ(nan.instructions[1].number, 0.1);
}

TEST(KernelText, ReadsFreelyNumberedValuesAndComments) {
  const Kernel kernel = parse_kernel(
      "// by hand\nkernel {\n  buffer b0 write i32[4]\n  v100 = constant i32 3\n\n  store i32 v100 b0[0]\n}\n");
  EXPECT_EQ(text(kernel, false),
            "kernel {\n  buffer b0 write i32[4]\n  range i0 in 0 .. 1\n  v0 = constant i32 3\n"
            "  store i32 v0 b0[0]\n}\n");
}

TEST(KernelText, NamesTheLineOfAMistake) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"kernel {\n v0 = konstant i32 3\n}", "line 2"},
      {"kernel {\n v0 = constant i32x3 3\n}", "no type 'i32x3'"},
      {"kernel {\n v0 = constant i32 3.5\n}", "'3.5' isn't an integer"},
      {"kernel {\n v0 = constant f32 1,5\n}", "line 2"},
      {"kernel {\n v0 = neg i32 v1\n}", "v1 isn't made before"},
      {"kernel {\n v0 = constant i32 3\n v0 = constant i32 3\n}", "v0 is made twice"},
      {"kernel {\n v0 = index i32 i9\n}", "i9"},
      {"kernel {\n v0 = constant i32 3\n", "too early"},
      {"kernel {\n}\n}", "line 3"},
      {"kernel {\n for i1 in 0 .. 4 step 0 {\n }\n}", "step must be positive"},
      {"kernel {\n buffer b0 read f32[4]\n prefetch f32 b0[0]\n}", "level"},
      {"kernel {\n buffer b0 read f32[4]\n v0 = prefetch f32 b0[0] level 1\n}", "that makes a value"},
      {"kernel {\n buffer b1 read f32[4]\n}", "numbered from 0"},
      {"kernel {\n buffer b0 both f32[4]\n}", "access 'both'"},
      {"kernel {\n variable t in 4 .. 3\n}", "min <= max"},
      {"colonel {\n}", "line 1"},
      {"", "too early"},
  };
  for (const auto& [wrong, expected] : cases) {
    try {
      parse_kernel(wrong);
      ADD_FAILURE() << "accepted: " << wrong;
    } catch (const TensorError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFormat);
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tandem
