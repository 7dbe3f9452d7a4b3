// Expectations written here from the meanings in instructions.def, for special values of every type.
#include "tests/support/opcode_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/bits.h"
#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "core/kernel/evaluate.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

using test::to_bytes;

using Bits = uint64_t;

// --- Values ---

std::vector<double> special_numbers(bool single) {
  std::vector<double> values = {0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                0.5,
                                -0.5,
                                1.5,
                                2.5,
                                -2.5,
                                3.7,
                                -3.7,
                                0.1,
                                1e-3,
                                100.25,
                                65504.0,
                                65520.0,
                                6e-8,
                                2147483648.0,
                                -2147483648.0,
                                2147483520.0,
                                4294967296.0,
                                4294967040.0,
                                9223372036854775808.0,
                                -9223372036854775808.0,
                                18446744073709551616.0,
                                1e20,
                                -1e20,
                                8388607.5,
                                16777217.0,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::nan("")};
  if (single)
    values.insert(values.end(), {1.401298464324817e-45, -1.1754942106924411e-38, 1.1754943508222875e-38,
                                 3.4028234663852886e38, -3.4028234663852886e38});
  else
    values.insert(values.end(), {4.9406564584124654e-324, -2.2250738585072009e-308, 2.2250738585072014e-308,
                                 1.7976931348623157e308, -2147483649.5, 4503599627370495.5});
  return values;
}

std::vector<int64_t> special_integers(bool narrow) {
  std::vector<int64_t> values = {0,
                                 1,
                                 -1,
                                 2,
                                 -2,
                                 3,
                                 7,
                                 -7,
                                 10,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 65,
                                 100,
                                 -100,
                                 255,
                                 65535,
                                 16777217,
                                 -16777219,
                                 INT32_MAX,
                                 INT32_MIN,
                                 INT32_MAX - 1,
                                 INT32_MIN + 1,
                                 0x55555555,
                                 123456789};
  if (!narrow)
    values.insert(values.end(), {INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 1ll << 40, -(1ll << 40), 1ll << 53,
                                 (1ll << 53) + 1, 0x7fffff8000000001, 0x7fffffbfffffffff});
  return values;
}

std::vector<Bits> special_bits(Scalar scalar) {
  std::vector<Bits> out;
  if (scalar == Scalar::kF32)
    for (double value : special_numbers(true)) out.push_back(bit_cast<uint32_t>(static_cast<float>(value)));
  if (scalar == Scalar::kF64)
    for (double value : special_numbers(false)) out.push_back(bit_cast<uint64_t>(value));
  if (scalar == Scalar::kI32)
    for (int64_t value : special_integers(true)) out.push_back(static_cast<uint32_t>(value));
  if (scalar == Scalar::kI64)
    for (int64_t value : special_integers(false)) out.push_back(static_cast<uint64_t>(value));
  return out;
}

// --- Expectations ---

template <typename F>
F number(Bits bits) {
  if constexpr (sizeof(F) == 4)
    return bit_cast<F>(static_cast<uint32_t>(bits));
  else
    return bit_cast<F>(bits);
}
template <typename F>
Bits bits_of(F value) {
  if constexpr (sizeof(F) == 4)
    return bit_cast<uint32_t>(value);
  else
    return bit_cast<uint64_t>(value);
}

template <typename F>
F least(F a, F b, bool minimum) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
  if (a == b) return std::signbit(a) == minimum ? a : b;
  return (a < b) == minimum ? a : b;
}

template <typename F>
Bits expected_float(Opcode opcode, Bits x, Bits y, Bits z) {
  const F a = number<F>(x), b = number<F>(y), c = number<F>(z);
  switch (opcode) {
    case Opcode::kAdd:
      return bits_of<F>(a + b);
    case Opcode::kSub:
      return bits_of<F>(a - b);
    case Opcode::kMul:
      return bits_of<F>(a * b);
    case Opcode::kDiv:
      return bits_of<F>(a / b);
    case Opcode::kFma:
      return bits_of<F>(std::fma(a, b, c));
    case Opcode::kNeg:
      return x ^ (Bits{1} << (8 * sizeof(F) - 1));
    case Opcode::kAbs:
      return x & ~(Bits{1} << (8 * sizeof(F) - 1));
    case Opcode::kSqrt:
      return bits_of<F>(std::sqrt(a));
    case Opcode::kMin:
      return bits_of<F>(least(a, b, true));
    case Opcode::kMax:
      return bits_of<F>(least(a, b, false));
    case Opcode::kFloor:
      return bits_of<F>(std::floor(a));
    case Opcode::kCeil:
      return bits_of<F>(std::ceil(a));
    case Opcode::kTrunc:
      return bits_of<F>(std::trunc(a));
    case Opcode::kNearest:
      return bits_of<F>(std::nearbyint(a));
    case Opcode::kEqual:
      return a == b;
    case Opcode::kNotEqual:
      return !(a == b);
    case Opcode::kLess:
      return a < b;
    case Opcode::kLessEqual:
      return a <= b;
    default:
      throw std::logic_error("no expectation");
  }
}

template <typename S>
Bits expected_integer(Opcode opcode, Bits x, Bits y) {
  using U = std::make_unsigned_t<S>;
  const S a = static_cast<S>(x), b = static_cast<S>(y);
  const U ua = static_cast<U>(x), ub = static_cast<U>(y);
  const __int128 wide_a = a, wide_b = b;
  const U bits = 8 * sizeof(S);
  const auto wrapped = [](__int128 value) { return static_cast<Bits>(static_cast<U>(value)); };
  switch (opcode) {
    case Opcode::kAdd:
      return wrapped(wide_a + wide_b);
    case Opcode::kSub:
      return wrapped(wide_a - wide_b);
    case Opcode::kMul:
      return static_cast<U>(ua * ub);
    case Opcode::kDiv:
      return b == 0 ? 0 : wrapped(wide_a / wide_b);
    case Opcode::kRem:
      return b == 0 ? wrapped(wide_a) : wrapped(wide_a % wide_b);
    case Opcode::kDivU:
      return ub == 0 ? 0 : ua / ub;
    case Opcode::kRemU:
      return ub == 0 ? ua : ua % ub;
    case Opcode::kNeg:
      return wrapped(-wide_a);
    case Opcode::kAbs:
      return wrapped(a < 0 ? -wide_a : wide_a);
    case Opcode::kMin:
      return wrapped(a < b ? a : b);
    case Opcode::kMax:
      return wrapped(a < b ? b : a);
    case Opcode::kMinU:
      return ua < ub ? ua : ub;
    case Opcode::kMaxU:
      return ua < ub ? ub : ua;
    case Opcode::kAnd:
      return ua & ub;
    case Opcode::kOr:
      return ua | ub;
    case Opcode::kXor:
      return ua ^ ub;
    case Opcode::kNot:
      return static_cast<U>(~ua);
    case Opcode::kShl:
      return ub < bits ? static_cast<U>(ua << ub) : 0;
    case Opcode::kShr:
      return wrapped(ub < bits ? wide_a >> ub : (a < 0 ? -1 : 0));
    case Opcode::kShrU:
      return ub < bits ? ua >> ub : 0;
    case Opcode::kEqual:
      return a == b;
    case Opcode::kNotEqual:
      return a != b;
    case Opcode::kLess:
      return a < b;
    case Opcode::kLessEqual:
      return a <= b;
    case Opcode::kLessU:
      return ua < ub;
    case Opcode::kLessEqualU:
      return ua <= ub;
    default:
      throw std::logic_error("no expectation");
  }
}

Bits saturated(long double value, bool is_unsigned, Scalar to) {
  if (std::isnan(value)) return 0;
  const int bits = 8 * size_of(to);
  const long double low = is_unsigned ? 0.0L : -std::ldexp(1.0L, bits - 1);
  const long double high = std::ldexp(1.0L, is_unsigned ? bits : bits - 1) - 1;
  const long double kept = std::min(high, std::max(low, std::trunc(value)));
  const Bits result = is_unsigned ? static_cast<uint64_t>(kept) : static_cast<Bits>(static_cast<int64_t>(kept));
  return to == Scalar::kI32 ? static_cast<uint32_t>(result) : result;
}

Bits expected_conversion(Opcode opcode, Scalar from, Scalar to, Bits x) {
  const long double value = from == Scalar::kF32 ? static_cast<long double>(number<float>(x)) : number<double>(x);
  const int64_t integer = from == Scalar::kI32 ? static_cast<int32_t>(x) : static_cast<int64_t>(x);
  switch (opcode) {
    case Opcode::kToFloat:
      return to == Scalar::kF32 ? bits_of(static_cast<float>(integer)) : bits_of(static_cast<double>(integer));
    case Opcode::kToFloatU:
      return to == Scalar::kF32 ? bits_of(static_cast<float>(x)) : bits_of(static_cast<double>(x));
    case Opcode::kToInt:
      return saturated(value, false, to);
    case Opcode::kToIntU:
      return saturated(value, true, to);
    case Opcode::kConvertFloat:
      return to == Scalar::kF32 ? bits_of(static_cast<float>(number<double>(x)))
                                : bits_of(static_cast<double>(number<float>(x)));
    case Opcode::kExtend:
      return static_cast<Bits>(integer);
    case Opcode::kExtendU:
      return static_cast<uint32_t>(x);
    case Opcode::kWrap:
      return static_cast<uint32_t>(x);
    case Opcode::kBitcast:
      return x;
    case Opcode::kHalfToFloat:
      return bits_of(static_cast<float>(bit_cast<_Float16>(static_cast<uint16_t>(x))));
    case Opcode::kFloatToHalf:
      return bit_cast<uint16_t>(static_cast<_Float16>(number<float>(x)));
    default:
      throw std::logic_error("no expectation");
  }
}

bool same_bits(Scalar scalar, Bits a, Bits b) {
  if (scalar == Scalar::kF32 && std::isnan(number<float>(a)) && std::isnan(number<float>(b))) return true;
  if (scalar == Scalar::kF64 && std::isnan(number<double>(a)) && std::isnan(number<double>(b))) return true;
  return a == b;
}

// --- One program with a kernel per case ---

DType dtype_of_scalar(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF32:
      return DType::kF32;
    case Scalar::kF64:
      return DType::kF64;
    case Scalar::kI64:
      return DType::kI64;
    default:
      return DType::kI32;
  }
}

struct Case {
  Opcode opcode;
  Scalar from;
  Scalar to;  // Of the stored result: masks are stored as integers.
};

std::vector<Case> all_cases(const Capabilities& capabilities) {
  std::vector<Case> cases;
  const Scalar scalars[] = {Scalar::kF32, Scalar::kF64, Scalar::kI32, Scalar::kI64};
  for (int code = static_cast<int>(Opcode::kAdd); code <= static_cast<int>(Opcode::kLessEqualU); code++) {
    const Opcode opcode = static_cast<Opcode>(code);
    for (Scalar scalar : scalars) {
      const bool compares = opcode >= Opcode::kEqual;
      const Scalar mask = size_of(scalar) == 8 ? Scalar::kMask64 : Scalar::kMask32;
      if (lane_function(opcode, scalar, compares ? mask : scalar) == nullptr) continue;
      if (opcode == Opcode::kFma && !capabilities.fma) continue;
      cases.push_back({opcode, scalar, compares ? (size_of(scalar) == 8 ? Scalar::kI64 : Scalar::kI32) : scalar});
    }
  }
  for (int code = static_cast<int>(Opcode::kToFloat); code <= static_cast<int>(Opcode::kFloatToHalf); code++) {
    const Opcode opcode = static_cast<Opcode>(code);
    const bool half = opcode == Opcode::kHalfToFloat || opcode == Opcode::kFloatToHalf;
    if (opcode == Opcode::kToIntExact || (half && !capabilities.half_conversion)) continue;
    for (Scalar from : scalars)
      for (Scalar to : scalars)
        if (lane_function(opcode, from, to) != nullptr) cases.push_back({opcode, from, to});
  }
  return cases;
}

/// All pairs of special values as columns of operands; the third operand walks through them at another pace.
struct Columns {
  explicit Columns(Scalar scalar) {
    const std::vector<Bits> values = special_bits(scalar);
    for (size_t i = 0; i < values.size(); i++)
      for (size_t k = 0; k < values.size(); k++) {
        column[0].push_back(values[i]);
        column[1].push_back(values[k]);
        column[2].push_back(values[(5 * i + 7 * k + 3) % values.size()]);
      }
    while (column[0].size() % 16 != 0)
      for (auto& each : column) each.push_back(values[2]);
  }
  std::vector<Bits> column[3];
};

std::vector<uint8_t> packed(const std::vector<Bits>& column, Scalar scalar) {
  if (size_of(scalar) == 8) return to_bytes(column);
  return to_bytes(std::vector<uint32_t>(column.begin(), column.end()));
}

Kernel kernel_of(const Case& test, int lanes, int64_t elements) {
  KernelBuilder builder;
  uint32_t inputs[3];
  for (uint32_t& input : inputs) input = builder.add_buffer(dtype_of_scalar(test.from), Access::kRead, elements);
  const uint32_t output = builder.add_buffer(dtype_of_scalar(test.to), Access::kWrite, elements);
  const Index at = builder.open_range(elements / lanes) * lanes;
  ValueId operands[3];
  for (int i = 0; i < 3; i++) operands[i] = builder.load(inputs[i], at, lanes);
  ValueId result;
  if (test.opcode >= Opcode::kToFloat)
    result = builder.convert(test.opcode, operands[0], test.to);
  else if (test.opcode == Opcode::kFma)
    result = builder.fma(operands[0], operands[1], operands[2]);
  else if (info(test.opcode).operands == 1)
    result = builder.unary(test.opcode, operands[0]);
  else
    result = builder.binary(test.opcode, operands[0], operands[1]);
  if (is_mask(builder.type(result).scalar)) {
    const Type type{test.to, static_cast<uint8_t>(lanes)};
    result = builder.select(result, builder.integer(type, 1), builder.integer(type, 0));
  }
  builder.store(output, at, result);
  return builder.finish(concat(name_of(test.opcode), " ", text(Type{test.from, static_cast<uint8_t>(lanes)})));
}

Bits expected(const Case& test, Bits a, Bits b, Bits c) {
  if (test.opcode >= Opcode::kToFloat) return expected_conversion(test.opcode, test.from, test.to, a);
  switch (test.from) {
    case Scalar::kF32:
      return expected_float<float>(test.opcode, a, b, c);
    case Scalar::kF64:
      return expected_float<double>(test.opcode, a, b, c);
    case Scalar::kI32:
      return expected_integer<int32_t>(test.opcode, a, b);
    default:
      return expected_integer<int64_t>(test.opcode, a, b);
  }
}

Bits unfused(Scalar scalar, Bits a, Bits b, Bits c) {
  if (scalar == Scalar::kF32) {
    const volatile float product = number<float>(a) * number<float>(b);
    return bits_of<float>(product + number<float>(c));
  }
  const volatile double product = number<double>(a) * number<double>(b);
  return bits_of<double>(product + number<double>(c));
}

}  // namespace

namespace test {

void check_opcodes(Backend& machine, const Capabilities& capabilities, int lanes) {
  Backend* const backend = &machine;
  SCOPED_TRACE(concat(capabilities.isa, ", ", lanes, " lanes"));
  const std::vector<Case> cases = all_cases(capabilities);
  ASSERT_GT(cases.size(), 90u);
  Program program;
  std::vector<void*> slots;
  std::vector<Columns> columns;
  for (Scalar scalar : {Scalar::kI32, Scalar::kI64, Scalar::kF32, Scalar::kF64}) {
    columns.emplace_back(scalar);
    for (const auto& column : columns.back().column) {
      const std::vector<uint8_t> bytes = packed(column, scalar);
      slots.push_back(backend->allocate(bytes.size()));
      std::memcpy(slots.back(), bytes.data(), bytes.size());
    }
  }
  const auto slot_bytes = [&](size_t i) {
    const size_t from = i < 12 ? i / 3 : static_cast<size_t>(cases[i - 12].from);
    const bool wide = i >= 12 || from == 1 || from == 3;
    return columns[from].column[0].size() * (wide ? 8 : 4);
  };
  for (const Case& test : cases) {
    const uint32_t first = 3 * static_cast<uint32_t>(test.from);
    const size_t elements = columns[static_cast<size_t>(test.from)].column[0].size();
    program.kernels.push_back(kernel_of(test, lanes, static_cast<int64_t>(elements)));
    KernelCall call;
    call.kernel = static_cast<uint32_t>(program.kernels.size() - 1);
    // The kernel keeps only the buffers that it touches or all of them; both are in order.
    call.slots = {first, first + 1, first + 2, static_cast<uint32_t>(slots.size())};
    call.range = program.kernels.back().range;
    slots.push_back(backend->allocate(elements * 8));
    program.step_calls.push_back(call);
  }
  for (size_t i = 0; i < slots.size(); i++) {
    Slot slot;
    slot.role = i < 12 ? SlotRole::kInput : SlotRole::kOutput;
    slot.bytes = static_cast<int64_t>(slot_bytes(i));
    program.slots.push_back(slot);
  }
  CompileStatistics statistics;
  auto executable = backend->compile(program, capabilities, Numerics::kReproducible, statistics);
  ASSERT_TRUE(executable) << executable.error().text();
  ASSERT_TRUE((*executable)->run(Phase::kStep, slots.data(), nullptr, 0, program.step_calls.size()));

  for (size_t i = 0; i < cases.size(); i++) {
    const Case& test = cases[i];
    const Columns& operands = columns[static_cast<size_t>(test.from)];
    const size_t size = operands.column[0].size();
    int wrong = 0;
    for (size_t k = 0; k < size && wrong < 3; k++) {
      const Bits a = operands.column[0][k], b = operands.column[1][k], c = operands.column[2][k];
      const void* memory = slots[12 + i];
      const Bits got =
          size_of(test.to) == 8 ? static_cast<const uint64_t*>(memory)[k] : static_cast<const uint32_t*>(memory)[k];
      const Bits want = expected(test, a, b, c);
      if (same_bits(test.to, got, want)) continue;
      // Without a fused instruction WebAssembly rounds the product too.
      if (test.opcode == Opcode::kFma && capabilities.wasm && same_bits(test.to, got, unfused(test.from, a, b, c)))
        continue;
      wrong++;
      ADD_FAILURE() << name_of(test.opcode) << " " << text(Type{test.from, 1}) << " to " << text(Type{test.to, 1})
                    << std::hex << " of " << a << ", " << b << ", " << c << ": " << got << ", expected " << want;
    }
  }
  for (size_t i = 0; i < slots.size(); i++) backend->release(slots[i], slot_bytes(i));
}

}  // namespace test
}  // namespace tandem
