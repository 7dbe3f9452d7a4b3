#include "core/base/text.h"
#include "tests/reference/case_table.h"

namespace tandem::reference {

namespace {

const DType floats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};

const Fill special =
    values({"0",     "-0",     "1",    "-1",    "0.5", "-0.5", "1.5",        "2.5",  "-2.5", "inf",  "-inf",     "nan",
            "1e-30", "-1e-30", "1e30", "-1e30", "100", "-100", "3.14159265", "1e-7", "88.5", "-103", "4194305.5"});
const Fill denormal = values({"1e-40", "-1e-40", "1.4e-45", "-1.4e-45", "1.1754942e-38", "0", "1", "-0"});

bool is_exact(Op op) {
  return op == Op::kNeg || op == Op::kAbs || op == Op::kFloor || op == Op::kCeil || op == Op::kTrunc ||
         op == Op::kRound || op == Op::kMin || op == Op::kMax;
}

Tolerance tolerance_of(Op op) { return is_exact(op) ? Tolerance::kExact : Tolerance::kBounded; }

void add_unary(CaseBuilder& builder) {
  const Op ops[] = {Op::kNeg,  Op::kAbs,     Op::kSqrt, Op::kExp,   Op::kLog,  Op::kSin,   Op::kCos,
                    Op::kTanh, Op::kSigmoid, Op::kErf,  Op::kFloor, Op::kCeil, Op::kTrunc, Op::kRound};
  for (const Op op : ops)
    for (const DType dtype : floats) {
      const bool positive = op == Op::kSqrt || op == Op::kLog;
      const Fill range = uniform(positive ? 0.01 : -6, 6, static_cast<uint32_t>(op));
      builder.add(concat(name_of(op), "/", name_of(dtype), "/odd size"), tolerance_of(op),
                  {unary(op, builder.input({3, 11}, dtype, range))});
      if (dtype == DType::kF16) continue;  // f16 cannot hold the large ones
      builder.add(concat(name_of(op), "/", name_of(dtype), "/special values"), tolerance_of(op),
                  {unary(op, builder.input({23}, dtype, special))});
    }
  for (const Op op : {Op::kNeg, Op::kAbs, Op::kSqrt, Op::kExp, Op::kLog, Op::kTanh, Op::kSigmoid, Op::kErf, Op::kCeil})
    builder.add(concat(name_of(op), "/f32/denormals"), tolerance_of(op),
                {unary(op, builder.input({8}, DType::kF32, denormal))}, true);
}

void add_binary(CaseBuilder& builder) {
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax}) {
    for (const DType dtype : floats) {
      const Tensor x = builder.input({5, 7}, dtype, uniform(-3, 3, 1));
      const Tensor y = builder.input({5, 7}, dtype, uniform(0.25, 3, 2));
      builder.add(concat(name_of(op), "/", name_of(dtype), "/odd size"), tolerance_of(op), {binary(op, x, y)});
    }
    const Fill left = values({"0", "-0", "inf", "-inf", "nan", "1", "-1", "0", "inf", "3", "1e30"});
    const Fill right = values({"-0", "0", "-inf", "inf", "1", "nan", "-0", "0", "0", "inf", "1e30"});
    const Tensor x = builder.input({11}, DType::kF32, left);
    const Tensor y = builder.input({11}, DType::kF32, right);
    builder.add(concat(name_of(op), "/f32/special values"), tolerance_of(op), {binary(op, x, y)});
    const Tensor a = builder.input({8}, DType::kF32, denormal);
    builder.add(concat(name_of(op), "/f32/denormals"), tolerance_of(op), {binary(op, a, a.flip({0}))}, true);
  }
  for (const DType dtype : floats) {
    const Tensor x = builder.input({33}, dtype, uniform(0.1, 4, 3));
    const Tensor y = builder.input({33}, dtype, uniform(-2, 3, 4));
    builder.add(concat("pow/", name_of(dtype), "/positive base"), Tolerance::kBounded, {pow(x, y)});
  }
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Tensor x = builder.input({17}, dtype,
                                   values({"0", "-0", "0", "-0", "-0", "1", "-1", "-1", "nan", "1", "-8", "-8", "2",
                                           "inf", "-inf", "-inf", "0.5"}));
    const Tensor y = builder.input({17}, dtype,
                                   values({"0", "0", "-1", "-1", "3", "nan", "inf", "-inf", "0", "inf", "3", "0.5",
                                           "-2", "-1", "3", "0.5", "-inf"}));
    builder.add(concat("pow/", name_of(dtype), "/special values"), Tolerance::kBounded, {pow(x, y)});
  }
}

void add_compare(CaseBuilder& builder) {
  for (const Op op : {Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual})
    for (const DType dtype : floats) {
      const Tensor x = builder.input(
          {13}, dtype, values({"0", "-0", "nan", "1", "nan", "inf", "-inf", "2", "2", "-3", "1", "0.5", "7"}));
      const Tensor y = builder.input(
          {13}, dtype, values({"-0", "0", "1", "nan", "nan", "inf", "inf", "3", "2", "-4", "inf", "0.5", "-7"}));
      builder.add(concat(name_of(op), "/", name_of(dtype), "/special values"), Tolerance::kExact, {binary(op, x, y)});
    }
  for (const DType dtype : floats) {
    const Tensor condition = less(builder.input({3, 17}, DType::kI32, uniform(-5, 5, 9)), 0);
    const Tensor x = builder.input({3, 17}, dtype, uniform(-9, 9, 10));
    const Tensor y = builder.input({17}, dtype, uniform(-9, 9, 11));
    builder.add(concat("where/", name_of(dtype), "/broadcast"), Tolerance::kExact, {where(condition, x, y)});
  }
}

void add_broadcast(CaseBuilder& builder) {
  const Tensor a = builder.input({3, 1, 5}, DType::kF32, uniform(-1, 1, 1));
  const Tensor b = builder.input({4, 1}, DType::kF32, uniform(-1, 1, 2));
  builder.add("broadcast/f32/outer product of axes", Tolerance::kBounded, {a * b + a});
  const Tensor c = builder.input({2, 3, 17}, DType::kF32, uniform(-1, 1, 1));
  builder.add("broadcast/f32/scalars on both sides", Tolerance::kBounded, {1 - c * 0.5, 2 / (c + 3), c - 1});
  const Tensor d = builder.input({}, DType::kF32, uniform(-1, 1, 3));
  builder.add("broadcast/f32/rank 0", Tolerance::kBounded, {d * 3 + d});
  const Tensor e = builder.input({1}, DType::kF32, uniform(-1, 1, 4));
  builder.add("broadcast/f32/one element", Tolerance::kBounded, {exp(e) + e});
  const Tensor f = builder.input({1000}, DType::kF32, uniform(-2, 2, 5));
  builder.add("chain/f32/long", Tolerance::kBounded, {tanh(sigmoid(f * 2 + 1) - f) * abs(f)});
  const Tensor g = builder.input({33}, DType::kF16, uniform(-2, 2, 6));
  builder.add("chain/f16/through f32", Tolerance::kBounded, {(g.cast(DType::kF32) * 3 + 1).cast(DType::kF16) * g});
  const Tensor h =
      builder.input({16}, DType::kF16, values({"60000", "65504", "-65504", "6e-8", "-6e-8", "6.1e-5", "0.1", "1024"}));
  builder.add("range/f16/overflow and denormals", Tolerance::kBounded, {h + h, h * 0.5});
}

}  // namespace

void add_elementwise_cases(CaseBuilder& builder) {
  add_unary(builder);
  add_binary(builder);
  add_compare(builder);
  add_broadcast(builder);
}

}  // namespace tandem::reference
