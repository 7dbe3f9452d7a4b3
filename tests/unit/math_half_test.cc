// f16 and bf16 conversions of core/kernel/math.h, against the definition of the formats in f64 arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/bits.h"
#include "core/kernel/math.h"
#include "tests/support/lane_program.h"

namespace tandem {
namespace {

using test::LaneProgram;

/// A binary format of 16 bits.
struct Format {
  const char* name;
  int fraction_bits;
  int bias;
  ValueId (*to_float)(MathContext context, ValueId bits);
  ValueId (*from_float)(MathContext context, ValueId value);
};
const Format kFormats[] = {{"f16", 10, 15, half_to_float, float_to_half},
                           {"bf16", 7, 127, bfloat16_to_float, float_to_bfloat16}};

double decode(const Format& format, uint32_t bits) {
  const int field = static_cast<int>(bits & 0x7fff) >> format.fraction_bits;
  const double fraction = bits & ((1u << format.fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (field == (0x7fff >> format.fraction_bits)) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  const double scale = std::ldexp(1, std::max(field, 1) - format.bias - format.fraction_bits);
  return sign * scale * (fraction + (field == 0 ? 0 : std::ldexp(1, format.fraction_bits)));
}

/// The number of the format nearest to `value`, ties to even.
double round_to(const Format& format, double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), 1 - format.bias);
  const double place = std::ldexp(1, exponent - format.fraction_bits);
  const double rounded = std::nearbyint(value / place) * place;
  const double limit = std::ldexp(2, format.bias);
  return std::fabs(rounded) >= limit ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

LaneProgram encoder(const Format& format) {
  return LaneProgram({DType::kF32}, DType::kU16, [&](KernelBuilder& builder, const std::vector<ValueId>& arguments) {
    return format.from_float(MathContext{builder}, arguments[0]);
  });
}

void check_encoding(const Format& format, LaneProgram& program, const std::vector<float>& values) {
  std::vector<Lanes> x(1);
  for (size_t begin = 0; begin < values.size(); begin += LaneProgram::kLanes) {
    for (int i = 0; i < LaneProgram::kLanes; ++i) x[0].f32[i] = values[std::min(begin + i, values.size() - 1)];
    const Lanes& y = program.run(x);
    for (int i = 0; i < LaneProgram::kLanes; ++i) {
      const double expected = round_to(format, x[0].f32[i]);
      const double actual = decode(format, y.u32[i]);
      ASSERT_EQ(y.u32[i] >> 16, 0u) << format.name << " of " << x[0].f32[i];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(actual)) << format.name << " of NaN is " << actual;
      } else {
        ASSERT_EQ(actual, expected) << format.name << " of " << x[0].f32[i];
        ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << format.name << " of " << x[0].f32[i];
      }
    }
  }
}

TEST(MathHalf, EveryPatternIsReadExactly) {
  for (const Format& format : kFormats) {
    LaneProgram program({DType::kU16}, DType::kF32, [&](KernelBuilder& builder, const std::vector<ValueId>& arguments) {
      return format.to_float(MathContext{builder}, arguments[0]);
    });
    std::vector<Lanes> x(1);
    for (uint32_t begin = 0; begin < 1 << 16; begin += LaneProgram::kLanes) {
      for (uint32_t i = 0; i < LaneProgram::kLanes; ++i) x[0].u32[i] = begin + i;
      const Lanes& y = program.run(x);
      for (uint32_t i = 0; i < LaneProgram::kLanes; ++i) {
        const double expected = decode(format, begin + i);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(y.f32[i])) << format.name << " " << begin + i;
        } else {
          ASSERT_EQ(y.f32[i], expected) << format.name << " " << begin + i;
          ASSERT_EQ(std::signbit(y.f32[i]), std::signbit(expected)) << format.name << " " << begin + i;
        }
      }
    }
  }
}

TEST(MathHalf, EveryRoundingBoundary) {
  for (const Format& format : kFormats) {
    LaneProgram program = encoder(format);
    std::vector<float> values;
    for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
      const auto number = static_cast<float>(decode(format, bits));
      const float next = static_cast<float>(decode(format, bits + 1));
      const float middle = std::isfinite(number) && std::isfinite(next) ? number + (next - number) / 2 : number;
      for (float center : {number, middle}) {
        values.push_back(center);
        values.push_back(std::nextafter(center, std::numeric_limits<float>::infinity()));
        values.push_back(std::nextafter(center, -std::numeric_limits<float>::infinity()));
      }
    }
    check_encoding(format, program, values);
  }
}

TEST(MathHalf, AllExponents) {
  for (const Format& format : kFormats) {
    LaneProgram program = encoder(format);
    std::vector<float> values;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4093)
      values.push_back(bit_cast<float>(static_cast<uint32_t>(bits)));
    check_encoding(format, program, values);
  }
}

TEST(MathHalf, InstructionsWhereTheMachineHasThem) {
  KernelBuilder builder;
  MathContext context{builder};
  context.half_conversion = true;
  const ValueId bits = builder.load(builder.add_buffer(DType::kF16, Access::kRead, 16), 0, 16);
  const ValueId value = half_to_float(context, bits);
  EXPECT_EQ(builder.instruction(value).opcode, Opcode::kHalfToFloat);
  EXPECT_EQ(builder.instruction(float_to_half(context, value)).opcode, Opcode::kFloatToHalf);
}

}  // namespace
}  // namespace tandem
