#include "core/kernel/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace tandem {
namespace {

constexpr Type kFloat{Scalar::kF32, 1};
constexpr Type kInt{Scalar::kI32, 1};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

int count_of(const Kernel& kernel, Opcode opcode) {
  int count = 0;
  for (const Instruction& instruction : kernel.instructions) count += instruction.opcode == opcode;
  return count;
}

/// The text of the kernel's body, without header and indentation.
std::string body(const Kernel& kernel) {
  std::string out;
  for (ValueId i = 0; i < kernel.instructions.size(); i++) out += text(kernel, i) + "\n";
  return out;
}

class KernelBuilderFolding : public testing::Test {
 protected:
  ValueId f32(double number) { return builder.constant(kFloat, number); }
  ValueId i32(int64_t number) { return builder.integer(kInt, number); }
  double number(ValueId value) {
    EXPECT_EQ(builder.instruction(value).opcode, Opcode::kConstant);
    return builder.instruction(value).number;
  }
  int64_t integer(ValueId value) {
    EXPECT_EQ(builder.instruction(value).opcode, Opcode::kConstant);
    return builder.instruction(value).integer;
  }
  KernelBuilder builder;
};

TEST_F(KernelBuilderFolding, ComputesInTheTypeOfTheOperands) {
  // 16777217 isn't an f32; 0.1f + 0.2f rounds to 0.3f + 1 ulp.
  EXPECT_EQ(number(f32(16777217.0)), 16777216.0);
  EXPECT_EQ(number(builder.binary(Opcode::kAdd, f32(0.1), f32(0.2))), static_cast<double>(0.30000001192092896f));
  EXPECT_EQ(number(builder.binary(Opcode::kMul, f32(1e30), f32(1e30))), kInfinity);
  EXPECT_EQ(number(builder.fma(f32(1.0f + 0x1p-23f), f32(1.0f - 0x1p-23f), f32(-1))), -0x1p-46);
  EXPECT_EQ(integer(builder.binary(Opcode::kAdd, i32(INT32_MAX), i32(1))), INT32_MIN);
  EXPECT_EQ(integer(builder.binary(Opcode::kMul, i32(65536), i32(65537))), 65536);
}

TEST_F(KernelBuilderFolding, KeepsSignedZeroAndNan) {
  EXPECT_TRUE(std::signbit(number(f32(-0.0))));
  EXPECT_NE(f32(0.0), f32(-0.0));
  EXPECT_TRUE(std::signbit(number(builder.unary(Opcode::kNeg, f32(0.0)))));
  EXPECT_TRUE(std::signbit(number(builder.binary(Opcode::kMin, f32(0.0), f32(-0.0)))));
  EXPECT_FALSE(std::signbit(number(builder.binary(Opcode::kMax, f32(-0.0), f32(0.0)))));
  EXPECT_TRUE(std::isnan(number(builder.binary(Opcode::kMin, f32(kNan), f32(1)))));
  EXPECT_TRUE(std::isnan(number(builder.binary(Opcode::kMax, f32(1), f32(kNan)))));
  EXPECT_EQ(integer(builder.binary(Opcode::kEqual, f32(kNan), f32(kNan))), 0);
  EXPECT_EQ(integer(builder.binary(Opcode::kNotEqual, f32(kNan), f32(kNan))), 1);
}

TEST_F(KernelBuilderFolding, LeavesNanBitsAlone) {
  const ValueId odd_nan = builder.unary(Opcode::kBitcast, i32(0x7FC00001));
  EXPECT_EQ(builder.instruction(odd_nan).opcode, Opcode::kBitcast);
  EXPECT_EQ(builder.instruction(builder.unary(Opcode::kNeg, f32(kNan))).opcode, Opcode::kNeg);
}

TEST_F(KernelBuilderFolding, OnlyDropsWhatChangesNoBit) {
  const uint32_t buffer = builder.add_buffer(DType::kF32, Access::kRead, 16);
  const ValueId x = builder.load(buffer, 0, 1);
  EXPECT_EQ(builder.binary(Opcode::kMul, x, f32(1)), x);
  EXPECT_EQ(builder.binary(Opcode::kSub, x, f32(0)), x);
  EXPECT_EQ(builder.binary(Opcode::kAdd, x, f32(-0.0)), x);
  EXPECT_NE(builder.binary(Opcode::kAdd, x, f32(0)), x);
  EXPECT_NE(builder.binary(Opcode::kSub, x, f32(-0.0)), x);
  EXPECT_EQ(builder.instruction(builder.binary(Opcode::kMul, x, f32(0))).opcode, Opcode::kMul);
  EXPECT_EQ(builder.instruction(builder.binary(Opcode::kSub, x, x)).opcode, Opcode::kSub);
  EXPECT_EQ(builder.instruction(builder.binary(Opcode::kEqual, x, x)).opcode, Opcode::kEqual);
}

TEST_F(KernelBuilderFolding, LeavesAnInexactConversionToTheInterpreter) {
  EXPECT_EQ(integer(builder.unary(Opcode::kToIntExact, f32(-7))), -7);
  EXPECT_EQ(builder.instruction(builder.unary(Opcode::kToIntExact, f32(0.5))).opcode, Opcode::kToIntExact);
}

TEST_F(KernelBuilderFolding, FollowsLanes) {
  const ValueId two = builder.splat(f32(2), 8);
  EXPECT_EQ(builder.instruction(two).opcode, Opcode::kConstant);
  EXPECT_EQ(builder.binary(Opcode::kAdd, two, f32(1)), builder.constant(Type{Scalar::kF32, 8}, 3));
  EXPECT_EQ(builder.extract(two, 3), f32(2));
  const uint32_t buffer = builder.add_buffer(DType::kF32, Access::kRead, 16);
  const ValueId x = builder.load(buffer, 0, 1);
  EXPECT_EQ(builder.extract(builder.splat(x, 4), 2), x);
  EXPECT_EQ(builder.low(builder.splat(x, 4)), builder.splat(x, 2));
  EXPECT_EQ(builder.select(builder.integer(Type{Scalar::kMask32, 4}, 1), builder.splat(x, 4), f32(0)),
            builder.splat(x, 4));
}

TEST_F(KernelBuilderFolding, ConvertsMasksForSelect) {
  const uint32_t buffer = builder.add_buffer(DType::kF32, Access::kRead, 16);
  const ValueId x = builder.load(buffer, 0, 4);
  const ValueId mask = builder.binary(Opcode::kLess, x, f32(0));
  const ValueId wide =
      builder.select(mask, builder.integer(Type{Scalar::kI64, 1}, 1), builder.integer(Type{Scalar::kI64, 1}, 2));
  EXPECT_EQ(builder.type(wide), (Type{Scalar::kI64, 4}));
  EXPECT_EQ(builder.type(builder.instruction(wide).operands[0]), (Type{Scalar::kMask64, 4}));
}

TEST(KernelBuilder, SharesEqualInstructions) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 16);
  const ValueId a = builder.load(in, 0, 4), b = builder.load(in, 4, 4);
  EXPECT_EQ(builder.load(in, 0, 4), a);
  EXPECT_EQ(builder.binary(Opcode::kAdd, a, b), builder.binary(Opcode::kAdd, b, a));
  EXPECT_NE(builder.binary(Opcode::kSub, a, b), builder.binary(Opcode::kSub, b, a));
  EXPECT_NE(builder.load(in, 0, 4, Index::variable("n", 0, 4), 0.0),
            builder.load(in, 0, 4, Index::variable("n", 0, 4), -0.0));
}

TEST(KernelBuilder, DoesNotShareLoadsOfWhatItWrites) {
  KernelBuilder builder;
  const uint32_t state = builder.add_buffer(DType::kF32, Access::kReadWrite, 16);
  EXPECT_NE(builder.load(state, 0, 4), builder.load(state, 0, 4));
}

TEST(KernelBuilder, ForgetsWhatAClosedBlockShared) {
  KernelBuilder builder;
  const uint32_t out = builder.add_buffer(DType::kI32, Access::kWrite, 16);
  const Index first = builder.open_loop(0, 4);
  builder.store(out, first, builder.index_value(Scalar::kI32, first));
  builder.close_loop();
  EXPECT_THROW(builder.index_value(Scalar::kI32, first), InternalError);
}

TEST(KernelBuilder, MovesInvariantCodeOutOfLoops) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 64);
  const uint32_t out = builder.add_buffer(DType::kF32, Access::kWrite, 64);
  const Index row = builder.open_range(4);
  const Index column = builder.open_loop(0, 16);
  const ValueId scale = builder.unary(Opcode::kSqrt, builder.load(in, row, 1));
  builder.store(out, row * 16 + column, builder.binary(Opcode::kMul, builder.load(in, row * 16 + column, 1), scale));
  builder.close_loop();
  EXPECT_EQ(body(builder.finish("scale")),
            "v0 = load f32 b0[i0]\n"
            "v1 = sqrt f32 v0\n"
            "for i1 in 0 .. 16 {\n"
            "v3 = load f32 b0[16*i0 + i1]\n"
            "v4 = mul f32 v3 v1\n"
            "store f32 v4 b1[16*i0 + i1]\n");
}

TEST(KernelBuilder, LeavesLoadsInLoopsThatMayNotRun) {
  KernelBuilder builder;
  const Index n = Index::variable("n", 0, 16);
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 64);
  const uint32_t out = builder.add_buffer(DType::kF32, Access::kWrite, 64);
  const Index i = builder.open_loop(0, n);
  const ValueId x = builder.load(in, 0, 1);
  const ValueId one = builder.unary(Opcode::kSqrt, builder.constant(kFloat, 4));
  builder.store(out, i, builder.binary(Opcode::kAdd, x, one));
  builder.close_loop();
  const Kernel kernel = builder.finish("may_not_run");
  EXPECT_EQ(body(kernel),
            "v0 = constant f32 2\n"
            "for i1 in 0 .. n {\n"
            "v2 = load f32 b0[0]\n"
            "v3 = add f32 v2 v0\n"
            "store f32 v3 b1[i1]\n");
}

TEST(KernelBuilder, LeavesLoadsInBranchesButMovesArithmetic) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 64);
  const uint32_t out = builder.add_buffer(DType::kF32, Access::kWrite, 64);
  const ValueId x = builder.load(in, 0, 1);
  builder.open_if(builder.binary(Opcode::kLess, x, builder.constant(kFloat, 0)));
  const ValueId y = builder.load(in, 1, 1);
  builder.store(out, 0, builder.binary(Opcode::kAdd, y, builder.unary(Opcode::kSqrt, x)));
  builder.open_else();
  builder.store(out, 0, builder.load(in, 1, 1));
  builder.close_if();
  EXPECT_EQ(body(builder.finish("branch")),
            "v0 = load f32 b0[0]\n"
            "v1 = constant f32 0\n"
            "v2 = lt mask32 v0 v1\n"
            "v3 = sqrt f32 v0\n"
            "if v2 {\n"
            "v5 = load f32 b0[1]\n"
            "v6 = add f32 v5 v3\n"
            "store f32 v6 b1[0]\n"
            "v8 = load f32 b0[1]\n"
            "store f32 v8 b1[0]\n");
}

TEST(KernelBuilder, KeepsADivisionWhereItsDivisorIsPositive) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kI32, Access::kRead, 4);
  const uint32_t out = builder.add_buffer(DType::kI32, Access::kWrite, 4);
  const ValueId length = builder.load(in, 0, 1);
  builder.open_if(builder.binary(Opcode::kLess, builder.integer(kInt, 0), length));
  const Index divisor = builder.as_index(length, 1, 100);
  builder.store(out, 0, builder.index_value(Scalar::kI32, floor_div(Index(1000), divisor)));
  builder.close_if();
  const Kernel kernel = builder.finish("division");
  EXPECT_EQ(body(kernel),
            "v0 = load i32 b0[0]\n"
            "v1 = constant i32 0\n"
            "v2 = lt mask32 v1 v0\n"
            "if v2 {\n"
            "v4 = index i32 1000/v0 where v0 in 1 .. 100\n"
            "store i32 v4 b1[0]\n");
}

TEST(KernelBuilder, RunsOneTripLoopsInPlace) {
  KernelBuilder builder;
  const uint32_t out = builder.add_buffer(DType::kI32, Access::kWrite, 64);
  const Index i = builder.open_loop(3, 5, 2);
  EXPECT_TRUE(i.is(3));
  builder.store(out, i, builder.integer(kInt, 7));
  builder.close_loop();
  const Kernel kernel = builder.finish("once");
  EXPECT_EQ(count_of(kernel, Opcode::kLoop), 0);
  EXPECT_EQ(count_of(kernel, Opcode::kStore), 1);
}

TEST(KernelBuilder, FollowsConstantBranches) {
  KernelBuilder builder;
  const uint32_t out = builder.add_buffer(DType::kI32, Access::kWrite, 64);
  for (int taken = 0; taken < 2; taken++) {
    builder.open_if(builder.integer(Type{Scalar::kMask32, 1}, taken));
    builder.store(out, taken, builder.integer(kInt, 10));
    builder.open_else();
    builder.store(out, 2 + taken, builder.integer(kInt, 20));
    builder.close_if();
  }
  EXPECT_EQ(body(builder.finish("known")),
            "v0 = constant i32 10\nv1 = constant i32 20\nstore i32 v1 b0[2]\nstore i32 v0 b0[1]\n");
}

TEST(KernelBuilder, DropsWhatNothingUses) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 64);
  const uint32_t out = builder.add_buffer(DType::kF32, Access::kWrite, 64);
  const ValueId unread = builder.variable(builder.constant(kFloat, 1));
  const ValueId sum = builder.variable(builder.constant(kFloat, 0));
  const Index i = builder.open_loop(0, 8);
  const ValueId x = builder.load(in, i, 1);
  builder.set(sum, builder.binary(Opcode::kAdd, builder.get(sum), x));
  builder.set(unread, builder.binary(Opcode::kMul, builder.get(unread), x));
  builder.unary(Opcode::kSqrt, x);
  builder.close_loop();
  builder.open_loop(0, 9);
  builder.close_loop();
  builder.store(out, 0, builder.get(sum));
  const Kernel kernel = builder.finish("sum");
  EXPECT_EQ(body(kernel),
            "v0 = constant f32 0\n"
            "v1 = variable f32 v0\n"
            "for i1 in 0 .. 8 {\n"
            "v3 = load f32 b0[i1]\n"
            "v4 = get f32 v1\n"
            "v5 = add f32 v4 v3\n"
            "set v1 v5\n"
            "v7 = get f32 v1\n"
            "store f32 v7 b1[0]\n");
}

TEST(KernelBuilder, KeepsHintsWhereSomethingIsDone) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 64);
  const uint32_t out = builder.add_buffer(DType::kF32, Access::kWrite, 64);
  const Index i = builder.open_loop(0, 8);
  builder.prefetch(in, i + 8, 1);
  builder.store(out, i, builder.load(in, i, 1));
  builder.close_loop();
  const Index idle = builder.open_loop(0, 9);
  builder.prefetch(in, idle, 2);
  builder.close_loop();
  EXPECT_EQ(body(builder.finish("copy")),
            "for i1 in 0 .. 8 {\n"
            "prefetch f32 b0[i1 + 8] level 1\n"
            "v2 = load f32 b0[i1]\n"
            "store f32 v2 b1[i1]\n");
}

TEST(KernelBuilder, ListsVariablesByName) {
  KernelBuilder builder;
  const Index t = Index::variable("t", 1, 100), b = Index::variable("b", 1, 8);
  const uint32_t out = builder.add_buffer(DType::kI32, Access::kWrite, t * 8);
  const Index i = builder.open_range(t);
  builder.store(out, i * 8, builder.index_value(Scalar::kI32, b + t));
  const Kernel kernel = builder.finish("listed");
  ASSERT_EQ(kernel.variables.size(), 2u);
  EXPECT_EQ(kernel.variables[0], b);
  EXPECT_EQ(kernel.variables[1], t);
}

TEST(KernelBuilder, RenumbersValuesInsideExpressionsAndLoopBounds) {
  KernelBuilder builder;
  const uint32_t lengths = builder.add_buffer(DType::kI32, Access::kRead, 4);
  const uint32_t out = builder.add_buffer(DType::kI32, Access::kWrite, 64);
  builder.load(lengths, 1, 1);
  builder.load(lengths, 2, 1);
  const Index length = builder.as_index(builder.load(lengths, 0, 1), 0, 64);
  const Index i = builder.open_loop(0, length);
  builder.store(out, i, builder.index_value(Scalar::kI32, length - i));
  builder.close_loop();
  EXPECT_EQ(body(builder.finish("ragged")),
            "v0 = load i32 b0[0]\n"
            "for i1 in 0 .. v0 where v0 in 0 .. 64 {\n"
            "v2 = index i32 -i1 + v0 where v0 in 0 .. 64\n"
            "store i32 v2 b1[i1]\n");
}

TEST(KernelBuilder, CountersRememberTheRenumberedBoundsOfTheirLoop) {
  KernelBuilder builder;
  const uint32_t lengths = builder.add_buffer(DType::kI32, Access::kRead, 4);
  const uint32_t out = builder.add_buffer(DType::kI32, Access::kWrite, 64);
  builder.load(lengths, 1, 1);
  const Index length = builder.as_index(builder.load(lengths, 0, 1), 0, 64);
  const Index i = builder.open_loop(0, length);
  builder.store(out, i, builder.integer(kInt, 3));
  builder.close_loop();
  const Kernel kernel = builder.finish("ragged");
  for (const Instruction& instruction : kernel.instructions) {
    if (instruction.opcode != Opcode::kStore) continue;
    const Index& end = instruction.index.loop_end();
    ASSERT_EQ(end.kind(), IndexKind::kValue);
    EXPECT_EQ(kernel.instructions[end.id()].opcode, Opcode::kLoad);
    EXPECT_EQ(less(instruction.index, end), Truth::kAlways);
  }
}

TEST(KernelBuilder, KeepsWhatFollowsALoopThatNeverRuns) {
  KernelBuilder builder;
  const uint32_t out = builder.add_buffer(DType::kF32, Access::kWrite, 4);
  const Index i = builder.open_loop(0, 0);
  builder.store(out, i, builder.constant(kFloat, 1));
  builder.close_loop();
  builder.store(out, 2, builder.constant(kFloat, 5));
  EXPECT_EQ(body(builder.finish("never")),
            "v0 = constant f32 5\n"
            "store f32 v0 b0[2]\n");
}

TEST(KernelBuilder, ReadsNothingForNoLanes) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 4);
  const Index t = Index::variable("t", 0, 4), none = Index::variable("none", 0, 0);
  const ValueId nothing = builder.load(in, 0, 4, none, 7);
  EXPECT_EQ(builder.instruction(nothing).opcode, Opcode::kConstant);
  EXPECT_EQ(builder.instruction(nothing).number, 7);
  const ValueId all = builder.load(in, 0, 4, t + 4, 7);
  EXPECT_EQ(builder.instruction(all).opcode, Opcode::kLoad);
  EXPECT_FALSE(builder.instruction(all).count);
  EXPECT_TRUE(builder.instruction(builder.load(in, 0, 4, t, 7)).count);
}

TEST(KernelBuilder, ReportsMistakesWhereTheyAreMade) {
  KernelBuilder builder;
  const uint32_t in = builder.add_buffer(DType::kF32, Access::kRead, 4);
  const ValueId x = builder.load(in, 0, 4);
  EXPECT_THROW(builder.binary(Opcode::kAdd, x, builder.integer(kInt, 1)), InternalError);
  EXPECT_THROW(builder.unary(Opcode::kNot, x), InternalError);
  EXPECT_THROW(builder.store(in, 0, x), InternalError);
  EXPECT_THROW(builder.load(in, 0, 3), InternalError);
  EXPECT_THROW(builder.close_loop(), InternalError);
  EXPECT_THROW(builder.get(x), InternalError);
  builder.open_loop(0, 4);
  EXPECT_THROW(builder.finish("open"), InternalError);
}

}  // namespace
}  // namespace tandem
