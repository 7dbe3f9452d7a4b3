// What the builder computes or drops must have the bits that executing it would have: every operation is made three
// times, with constants on both sides, on one side and on none, and the interpreter compares.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/interpreter/interpreter.h"
#include "core/base/bits.h"
#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "tests/support/kernel_runner.h"

namespace tandem {
namespace {

const std::vector<double> kFloats = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.5,
                                     2.5,
                                     -3.75,
                                     1e-40,
                                     3e38,
                                     -7e9,
                                     16777217.0,
                                     0x1p-149,
                                     std::numeric_limits<double>::infinity(),
                                     -std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
const std::vector<double> kIntegers = {0, 1, -1, 2, 7, -7, 31, 32, 63, 64, 2147483647.0, -2147483648.0, 65536};

const Opcode kFloatPairs[] = {Opcode::kAdd, Opcode::kSub,   Opcode::kMul,      Opcode::kDiv,  Opcode::kMin,
                              Opcode::kMax, Opcode::kEqual, Opcode::kNotEqual, Opcode::kLess, Opcode::kLessEqual};
const Opcode kIntegerPairs[] = {
    Opcode::kAdd,      Opcode::kSub,  Opcode::kMul,   Opcode::kDiv,       Opcode::kRem,       Opcode::kDivU,
    Opcode::kRemU,     Opcode::kMin,  Opcode::kMax,   Opcode::kMinU,      Opcode::kMaxU,      Opcode::kAnd,
    Opcode::kOr,       Opcode::kXor,  Opcode::kShl,   Opcode::kShr,       Opcode::kShrU,      Opcode::kEqual,
    Opcode::kNotEqual, Opcode::kLess, Opcode::kLessU, Opcode::kLessEqual, Opcode::kLessEqualU};
const Opcode kFloatSingles[] = {Opcode::kNeg,  Opcode::kAbs,   Opcode::kSqrt,   Opcode::kFloor,
                                Opcode::kCeil, Opcode::kTrunc, Opcode::kNearest};

DType dtype_of_scalar(Scalar scalar) {
  switch (scalar) {
    case Scalar::kI64:
      return DType::kI64;
    case Scalar::kF32:
      return DType::kF32;
    case Scalar::kF64:
      return DType::kF64;
    default:
      return DType::kI32;
  }
}

/// Results go out as the bits of 8 bytes each.
class Comparison {
 public:
  explicit Comparison(Scalar scalar) : scalar_(scalar) {
    in_ = builder_.add_buffer(dtype_of_scalar(scalar), Access::kRead, 1 << 16);
    out_ = builder_.add_buffer(DType::kI64, Access::kWrite, 1 << 16);
  }

  ValueId constant(double number) { return builder_.constant(Type{scalar_, 1}, number); }
  /// The same number in a way that the builder can't see through.
  ValueId loaded(double number) {
    inputs_.push_back(number);
    return builder_.load(in_, static_cast<int64_t>(inputs_.size()) - 1, 1);
  }
  void emit(ValueId value, const std::string& what) {
    const ValueId one = builder_.integer(Type{Scalar::kI32, 1}, 1), zero = builder_.integer(Type{Scalar::kI32, 1}, 0);
    Scalar scalar = builder_.type(value).scalar;
    if (scalar == Scalar::kMask32 || scalar == Scalar::kMask64) value = builder_.select(value, one, zero);
    scalar = builder_.type(value).scalar;
    if (scalar == Scalar::kF32 || scalar == Scalar::kF64) {
      // All NaNs count as one.
      const ValueId bits = builder_.unary(Opcode::kBitcast, value);
      const ValueId ordered = builder_.binary(Opcode::kEqual, value, value);
      value = builder_.select(ordered, bits, builder_.integer(builder_.type(bits), -12345));
    }
    if (builder_.type(value).scalar == Scalar::kI32) value = builder_.unary(Opcode::kExtend, value);
    builder_.store(out_, static_cast<int64_t>(what_.size()), value);
    what_.push_back(what);
  }
  void run(size_t group) {
    const Kernel kernel = builder_.finish("comparison");
    InterpreterBackend backend;
    std::vector<float> narrow(1 << 16);
    std::vector<double> wide(1 << 16);
    std::vector<int32_t> integers(1 << 16);
    std::vector<int64_t> longs(1 << 16), out(1 << 16);
    for (size_t i = 0; i < inputs_.size(); i++) {
      narrow[i] = static_cast<float>(inputs_[i]);
      wide[i] = inputs_[i];
      if (scalar_ == Scalar::kI32 || scalar_ == Scalar::kI64) longs[i] = static_cast<int64_t>(inputs_[i]);
      if (scalar_ == Scalar::kI32) integers[i] = static_cast<int32_t>(inputs_[i]);
    }
    const KernelBuffer inputs[] = {input_of(integers), input_of(longs), input_of(narrow), input_of(wide)};
    ASSERT_EQ(run_kernel_on(backend, kernel, {inputs[static_cast<int>(scalar_)], output_of(out)}), "");
    for (size_t i = 0; i + group <= what_.size(); i += group)
      for (size_t j = 1; j < group; j++) EXPECT_EQ(out[i + j], out[i]) << what_[i + j];
  }
  KernelBuilder& builder() { return builder_; }

 private:
  Scalar scalar_;
  KernelBuilder builder_;
  uint32_t in_ = 0, out_ = 0;
  std::vector<double> inputs_;
  std::vector<std::string> what_;
};

template <typename Opcodes>
void compare_pairs(Scalar scalar, const Opcodes& opcodes, const std::vector<double>& numbers) {
  for (Opcode opcode : opcodes) {
    Comparison comparison(scalar);
    for (double a : numbers)
      for (double b : numbers) {
        const std::string what = concat(name_of(opcode), " ", text(Type{scalar, 1}), " ", a, ", ", b);
        const ValueId x = comparison.loaded(a), y = comparison.loaded(b);
        KernelBuilder& builder = comparison.builder();
        comparison.emit(builder.binary(opcode, x, y), what);
        comparison.emit(builder.binary(opcode, comparison.constant(a), comparison.constant(b)), what + " folded");
        comparison.emit(builder.binary(opcode, x, comparison.constant(b)), what + " with a constant second");
        comparison.emit(builder.binary(opcode, comparison.constant(a), y), what + " with a constant first");
      }
    comparison.run(4);
    // x op x
    Comparison same(scalar);
    for (double a : numbers) {
      const ValueId x = same.loaded(a), other = same.loaded(a);
      same.emit(same.builder().binary(opcode, x, other), "");
      same.emit(same.builder().binary(opcode, x, x), concat(name_of(opcode), " of ", a, " and itself"));
    }
    same.run(2);
  }
}

TEST(KernelFold, PairsKeepTheirBits) {
  compare_pairs(Scalar::kF32, kFloatPairs, kFloats);
  compare_pairs(Scalar::kF64, kFloatPairs, kFloats);
  compare_pairs(Scalar::kI32, kIntegerPairs, kIntegers);
  compare_pairs(Scalar::kI64, kIntegerPairs, kIntegers);
}

TEST(KernelFold, SinglesKeepTheirBits) {
  for (Scalar scalar : {Scalar::kF32, Scalar::kF64})
    for (Opcode opcode : kFloatSingles) {
      Comparison comparison(scalar);
      KernelBuilder& builder = comparison.builder();
      for (double a : kFloats) {
        const ValueId once = builder.unary(opcode, comparison.loaded(a));
        comparison.emit(once, "");
        comparison.emit(builder.unary(opcode, comparison.constant(a)), concat(name_of(opcode), " ", a));
      }
      comparison.run(2);
    }
}

TEST(KernelFold, ConversionsKeepTheirBits) {
  const std::pair<Opcode, Scalar> conversions[] = {
      {Opcode::kToInt, Scalar::kI32},  {Opcode::kToInt, Scalar::kI64},        {Opcode::kToIntU, Scalar::kI32},
      {Opcode::kToIntU, Scalar::kI64}, {Opcode::kConvertFloat, Scalar::kF32}, {Opcode::kConvertFloat, Scalar::kF64}};
  for (Scalar scalar : {Scalar::kF32, Scalar::kF64})
    for (const auto& [opcode, result] : conversions) {
      Comparison comparison(scalar);
      for (double a : kFloats) {
        comparison.emit(comparison.builder().convert(opcode, comparison.loaded(a), result), "");
        comparison.emit(comparison.builder().convert(opcode, comparison.constant(a), result),
                        concat(name_of(opcode), " ", a));
      }
      comparison.run(2);
    }
}

}  // namespace
}  // namespace tandem
