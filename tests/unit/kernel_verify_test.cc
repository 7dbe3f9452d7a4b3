#include <gtest/gtest.h>

#include <functional>

#include "core/base/error.h"
#include "core/kernel/capabilities.h"
#include "core/kernel/kernel.h"

namespace tandem {
namespace {

/// Wraps a body in a kernel with one buffer of each kind and a variable t in 1 .. 64.
Kernel with_body(const std::string& body) {
  return parse_kernel(
      "kernel \"planted\" {\n variable t in 1 .. 64\n buffer b0 read f32[t]\n buffer b1 write f32[16]\n"
      " buffer b2 read_write i32[16]\n range i0 in 0 .. 4\n" +
      body + "}\n");
}

/// The message of the fault that verify finds; empty when it finds none.
std::string fault(const Kernel& kernel) {
  try {
    verify(kernel);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

struct Planted {
  const char* body;
  const char* expected;
};

TEST(KernelVerify, AcceptsWhatIsRight) {
  EXPECT_EQ(fault(with_body("v0 = load f32 b0[0]\n store f32 v0 b1[4*i0 + 3]\n")), "");
  EXPECT_EQ(fault(with_body("v0 = load f32x16 b0[0] count(min(t, 16)) fill(0)\n store f32x16 v0 b1[0]\n")), "");
}

TEST(KernelVerify, LocalBuffersHaveANumberOfElements) {
  const auto with_local = [](const std::string& elements) {
    return parse_kernel("kernel \"local\" {\n variable t in 1 .. 64\n buffer b0 local f32[" + elements +
                        "]\n v0 = constant f32 1\n store f32 v0 b0[0]\n v1 = load f32 b0[0]\n}\n");
  };
  EXPECT_EQ(fault(with_local("8")), "");
  EXPECT_NE(fault(with_local("t")).find("the size of local buffer b0 is no number: t"), std::string::npos);
}

TEST(KernelVerify, FindsPlantedTypeFaults) {
  const Planted cases[] = {
      {"v0 = constant i32 1\n v1 = constant f32 1\n v2 = add f32 v0 v1\n", "different types"},
      {"v0 = constant f32 1\n v1 = add f64 v0 v0\n", "type of its operands"},
      {"v0 = constant f32 1\n v1 = and f32 v0 v0\n", "doesn't take"},
      {"v0 = constant i32 1\n v1 = sqrt i32 v0\n", "doesn't take"},
      {"v0 = constant i32 1\n v1 = fma i32 v0 v0 v0\n", "doesn't take"},
      {"v0 = constant f32 1\n v1 = div_u f32 v0 v0\n", "doesn't take"},
      {"v0 = constant f32 1\n v1 = lt_u mask32 v0 v0\n", "doesn't take"},
      {"v0 = constant f32x4 1\n v1 = constant f32x8 1\n v2 = add f32x8 v0 v1\n", "numbers of lanes"},
      {"v0 = constant f64 1\n v1 = lt mask32 v0 v0\n", "mask as wide"},
      {"v0 = constant f32 1\n v1 = lt i32 v0 v0\n", "mask as wide"},
      {"v0 = constant mask32 2\n", "0 or 1"},
      {"v0 = index f32 i0\n", "one lane of i32 or i64"},
      {"v0 = lanes f32x4\n", "i32 or i64"},
      {"v0 = constant mask32 1\n v1 = constant f64 1\n v2 = select f64 v0 v1 v1\n", "mask as wide"},
      {"v0 = constant mask32 1\n v1 = constant f32 1\n v2 = constant i32 1\n v3 = select f32 v0 v1 v2\n", "own type"},
      {"v0 = constant f32 1\n v1 = bitcast i64 v0\n", "doesn't take"},
      {"v0 = constant f64 1\n v1 = to_int_exact i32 v0\n", "doesn't take"},
      {"v0 = constant i64 1\n v1 = half_to_float f32 v0\n", "doesn't take"},
      {"v0 = constant f32 1\n v1 = to_float f32 v0\n", "doesn't take"},
      {"v0 = constant f32x4 1\n v1 = splat f32x8 v0\n", "one-lane operand"},
      {"v0 = constant f32x4 1\n v1 = extract f32 v0 lane 4\n", "isn't there"},
      {"v0 = constant f32x4 1\n v1 = insert f32x4 v0 v0 lane 0\n", "one-lane second"},
      {"v0 = constant f32x4 1\n v1 = low f32x4 v0\n", "half of the lanes"},
      {"v0 = constant f32 1\n v1 = variable f32 v0\n v2 = get f64 v1\n", "type of its operand"},
      {"v0 = constant f32x4 1\n v1 = lt mask32x4 v0 v0\n if v1 {\n }\n", "one-lane mask"},
      {"v0 = constant i32 1\n if v0 {\n }\n", "one-lane mask"},
  };
  for (const Planted& planted : cases)
    EXPECT_NE(fault(with_body(planted.body)).find(planted.expected), std::string::npos)
        << planted.body << fault(with_body(planted.body));
}

TEST(KernelVerify, FindsPlantedMemoryFaults) {
  const Planted cases[] = {
      {"v0 = load f64 b0[0]\n", "another type than the buffer"},
      {"v0 = load i32 b0[0]\n", "another type than the buffer"},
      {"v0 = constant f32 1\n store f32 v0 b0[0]\n", "read-only"},
      {"prefetch f32 b1[0] level 1\n", "write-only"},
      {"prefetch f32 b0[0] level 3\n", "level 1 or 2"},
      {"prefetch f32x4 b0[0] level 1\n", "one element"},
      {"prefetch i32 b0[0] level 1\n", "another type"},
      {"v0 = load f32 b1[0]\n", "write-only"},
      {"v0 = constant f32 1\n store f32 v0 b2[0]\n", "another type than the buffer"},
      {"v0 = constant f32 1\n store f32 v0 b1[16]\n", "reaches past"},
      {"v0 = constant f32x4 1\n store f32x4 v0 b1[13]\n", "reaches past"},
      {"v0 = load f32 b0[t]\n", "reaches past"},
      {"v0 = load f32 b0[t + i0]\n", "reaches past"},
      {"v0 = load f32 b0[i0 - 4]\n", "before the buffer"},
      {"v0 = load f32x4 b0[t - 1] count(2) fill(0)\n", "reaches past"},
      {"v0 = load f32x4 b0[0] count(5) fill(0)\n", "never in 0 .. 4"},
      {"v0 = load f32x4 b0[0] count(-1) fill(0)\n", "never in 0 .. 4"},
      {"v0 = load f32 b7[0]\n", "buffer that the kernel doesn't have"},
  };
  for (const Planted& planted : cases)
    EXPECT_NE(fault(with_body(planted.body)).find(planted.expected), std::string::npos)
        << planted.body << fault(with_body(planted.body));
}

TEST(KernelVerify, FindsPlantedScopeFaults) {
  const Planted cases[] = {
      {"for i1 in 0 .. 4 {\n v1 = constant f32 1\n }\n store f32 v1 b1[0]\n", "isn't visible"},
      {"for i1 in 0 .. 4 {\n }\n v1 = index i32 i1\n", "outside its loop"},
      {"for i1 in 0 .. 4 {\n }\n for i1 in 0 .. 4 {\n }\n", "counter i1 of another loop"},
      {"for i0 in 0 .. 4 {\n }\n", "counter i0 of another loop"},
      {"for i1 in 0 .. 4 {\n v1 = constant i32 1\n }\n v2 = index i32 v1 where v1 in 0 .. 4\n", "isn't visible"},
      {"v0 = constant f32 1\n v1 = index i32 v0 where v0 in 0 .. 4\n", "isn't one integer"},
      {"v0 = constant f32 1\n v1 = get f32 v0\n", "needs a variable"},
      {"v0 = constant f32 1\n set v0 v0\n", "needs a variable"},
      {"v0 = constant f32 1\n v1 = variable f32 v0\n v2 = add f32 v1 v0\n", "without get"},
  };
  for (const Planted& planted : cases)
    EXPECT_NE(fault(with_body(planted.body)).find(planted.expected), std::string::npos)
        << planted.body << fault(with_body(planted.body));
}

TEST(KernelVerify, FindsFaultsThatHaveNoText) {
  const Kernel right =
      with_body("v0 = load f32 b0[0]\n v1 = add f32 v0 v0\n v2 = lt mask32 v0 v1\n if v2 {\n store f32 v1 b1[0]\n }\n");
  ASSERT_EQ(fault(right), "");
  const std::pair<const char*, std::function<void(Kernel&)>> faults[] = {
      {"isn't visible", [](Kernel& kernel) { kernel.instructions[1].operands[0] = 1; }},
      {"no operand 1", [](Kernel& kernel) { kernel.instructions[1].operands[1] = kNoValue; }},
      {"more operands", [](Kernel& kernel) { kernel.instructions[1].operands[2] = 0; }},
      {"stands where", [](Kernel& kernel) { std::swap(kernel.blocks[0][0], kernel.blocks[0][1]); }},
      {"is in no block", [](Kernel& kernel) { kernel.blocks[0].pop_back(); }},
      {"used twice", [](Kernel& kernel) { kernel.instructions[3].body = 0; }},
      {"belongs to nothing", [](Kernel& kernel) { kernel.blocks.emplace_back(); }},
      {"no block 7", [](Kernel& kernel) { kernel.instructions[3].body = 7; }},
      {"number of lanes other", [](Kernel& kernel) { kernel.instructions[0].type.lanes = 3; }},
      {"doesn't list", [](Kernel& kernel) { kernel.instructions[0].index = Index::variable("u", 0, 1); }},
      {"isn't a variable of the kernel", [](Kernel& kernel) { kernel.variables.clear(); }},
      {"in an index expression", [](Kernel& kernel) { kernel.instructions[0].index = Index::lane(4); }},
      {"has a count", [](Kernel& kernel) { kernel.instructions[1].count = Index(1); }},
      {"makes no value", [](Kernel& kernel) { kernel.instructions[4].operands[0] = 3; }},
  };
  for (const auto& [expected, plant] : faults) {
    Kernel broken = right;
    plant(broken);
    EXPECT_NE(fault(broken).find(expected), std::string::npos) << expected << ": " << fault(broken);
  }
}

TEST(KernelVerify, HoldsKernelsToTheMachine) {
  const Kernel fused = with_body("v0 = load f32 b0[0]\n v1 = fma f32 v0 v0 v0\n store f32 v1 b1[0]\n");
  const Kernel halves = with_body("v0 = load i32 b2[0]\n v1 = half_to_float f32 v0\n store f32 v1 b1[0]\n");
  EXPECT_NO_THROW(verify(fused, *capabilities_named("sse+fma")));
  EXPECT_NO_THROW(verify(halves, *capabilities_named("avx2")));
  EXPECT_THROW(verify(fused, *capabilities_named("sse")), InternalError);
  EXPECT_THROW(verify(fused, *capabilities_named("wasm-relaxed")), InternalError);  // scalars have no FMA there
  EXPECT_THROW(verify(halves, *capabilities_named("sse+fma")), InternalError);
}

TEST(Capabilities, AreKnownByName) {
  const auto avx512 = capabilities_named("avx512"), fma = capabilities_named("sse+fma"),
             relaxed = capabilities_named("wasm-relaxed");
  ASSERT_TRUE(avx512 && fma && relaxed);
  EXPECT_EQ(avx512->lanes(4), 16);
  EXPECT_TRUE(avx512->bfloat16_dot);
  EXPECT_TRUE(fma->fma && !fma->half_conversion && fma->vector_bytes == 16);
  EXPECT_TRUE(relaxed->wasm && relaxed->fma);
  EXPECT_FALSE(capabilities_named("mmx"));
  EXPECT_NE(avx512->text(), capabilities_named("avx2")->text());
}

}  // namespace
}  // namespace tandem
