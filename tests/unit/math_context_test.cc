// What core/kernel/math.h decides from the machine, and symmetries that hold bit by bit.
#include <gtest/gtest.h>

#include "core/base/bits.h"
#include "core/kernel/math.h"
#include "tests/support/lane_program.h"

namespace tandem {
namespace {

using test::LaneProgram;

Opcode opcode_of_multiply_add(const char* isa, Numerics numerics, int lanes) {
  KernelBuilder builder;
  const MathContext context = math_context(builder, *capabilities_named(isa), numerics);
  const ValueId x = builder.load(builder.add_buffer(DType::kF32, Access::kRead, 16), 0, lanes);
  return builder.instruction(multiply_add(context, x, x, x)).opcode;
}

TEST(MathContext, FusesWhereTheMachineCan) {
  EXPECT_EQ(opcode_of_multiply_add("avx2", Numerics::kFast, 8), Opcode::kFma);
  EXPECT_EQ(opcode_of_multiply_add("avx2", Numerics::kFast, 1), Opcode::kFma);
  EXPECT_EQ(opcode_of_multiply_add("sse", Numerics::kFast, 4), Opcode::kAdd);
  EXPECT_EQ(opcode_of_multiply_add("wasm-relaxed", Numerics::kFast, 4), Opcode::kFma);
  EXPECT_EQ(opcode_of_multiply_add("wasm-relaxed", Numerics::kFast, 1), Opcode::kAdd) << "Wasm has no scalar FMA";
}

TEST(MathContext, NeverFusesReproducibly) {
  EXPECT_EQ(opcode_of_multiply_add("avx512", Numerics::kReproducible, 16), Opcode::kAdd);
  EXPECT_EQ(opcode_of_multiply_add("wasm-relaxed", Numerics::kReproducible, 4), Opcode::kAdd);
}

TEST(MathContext, OddFunctionsAreOddInEveryBit) {
  using Make = ValueId (*)(MathContext, ValueId);
  for (Make make : {Make{hyperbolic_tangent}, Make{error_function}, Make{sine}}) {
    LaneProgram program({DType::kF32}, DType::kF32, [&](KernelBuilder& builder, const std::vector<ValueId>& arguments) {
      return make(MathContext{builder}, arguments[0]);
    });
    std::vector<Lanes> x(1);
    for (uint32_t bits = 0; bits < 0x7f800000; bits += 16 * 4093) {
      for (uint32_t i = 0; i < 16; ++i) x[0].u32[i] = bits + i;
      const Lanes positive = program.run(x);
      for (uint32_t i = 0; i < 16; ++i) x[0].u32[i] |= 0x80000000u;
      const Lanes negative = program.run(x);
      for (int i = 0; i < 16; ++i) ASSERT_EQ(negative.u32[i], positive.u32[i] ^ 0x80000000u) << x[0].f32[i];
    }
  }
}

}  // namespace
}  // namespace tandem
