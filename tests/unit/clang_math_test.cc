// The mathematical functions natively against the interpreter, bit for bit: at every instruction set, with separate
// roundings and fused, from random bit patterns of the whole range.
#include <gtest/gtest.h>

#include <random>

#include "backends/interpreter/interpreter.h"
#include "core/base/bits.h"
#include "core/base/text.h"
#include "core/kernel/math.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

constexpr int64_t kElements = 4096;

struct Function {
  const char* name;
  ValueId (*make)(MathContext context, ValueId x);
};

ValueId squared_power(MathContext context, ValueId x) {
  return power(context, context.builder.unary(Opcode::kAbs, x), x);
}
ValueId through_bfloat16(MathContext context, ValueId x) {
  return bfloat16_to_float(context, float_to_bfloat16(context, x));
}
ValueId through_half(MathContext context, ValueId x) { return half_to_float(context, float_to_half(context, x)); }

const Function kFunctions[] = {{"exponential", exponential},
                               {"logarithm", logarithm},
                               {"sine", sine},
                               {"cosine", cosine},
                               {"hyperbolic tangent", hyperbolic_tangent},
                               {"sigmoid", sigmoid},
                               {"error function", error_function},
                               {"power", squared_power}};
const Function kConversions[] = {{"bfloat16", through_bfloat16}, {"half", through_half}};

Program program_of_functions(const Capabilities& capabilities, Numerics numerics, DType dtype, int lanes) {
  Program program;
  program.slots.resize(1);
  program.slots[0] = {SlotRole::kInput, dtype, kElements * static_cast<int64_t>(size_of(dtype)), "x"};
  const auto add = [&](const Function& function) {
    KernelBuilder builder;
    const MathContext context = math_context(builder, capabilities, numerics);
    const uint32_t input = builder.add_buffer(dtype, Access::kRead, kElements);
    const uint32_t output = builder.add_buffer(dtype, Access::kWrite, kElements);
    const Index at = builder.open_range(kElements / lanes) * lanes;
    builder.store(output, at, function.make(context, builder.load(input, at, lanes)));
    program.kernels.push_back(builder.finish(function.name));
    KernelCall call;
    call.kernel = static_cast<uint32_t>(program.kernels.size() - 1);
    call.slots = {0, static_cast<uint32_t>(program.slots.size())};
    call.range = kElements / lanes;
    program.step_calls.push_back(call);
    program.slots.push_back({SlotRole::kOutput, dtype, program.slots[0].bytes, function.name});
  };
  for (const Function& function : kFunctions) add(function);
  if (dtype == DType::kF32)
    for (const Function& function : kConversions) add(function);
  return program;
}

/// The contents of all output slots after one step.
std::vector<std::vector<uint8_t>> outputs_of(Backend& backend, const Program& program, const Capabilities& capabilities,
                                             Numerics numerics, const std::vector<uint8_t>& input) {
  CompileStatistics statistics;
  auto executable = backend.compile(program, capabilities, numerics, statistics);
  if (!executable) {
    ADD_FAILURE() << executable.error().text();
    return {};
  }
  std::vector<void*> slots;
  for (size_t i = 0; i < program.slots.size(); i++) slots.push_back(backend.allocate(input.size()));
  std::memcpy(slots[0], input.data(), input.size());
  EXPECT_TRUE((*executable)->run(Phase::kStep, slots.data(), nullptr, 0, program.step_calls.size()))
      << (*executable)->failure();
  std::vector<std::vector<uint8_t>> outputs;
  for (void* slot : slots) {
    const uint8_t* bytes = static_cast<const uint8_t*>(slot);
    outputs.emplace_back(bytes, bytes + input.size());
    backend.release(slot, input.size());
  }
  return outputs;
}

/// All NaNs count as one value.
template <typename Bits, typename Float>
std::vector<Bits> one_nan(const std::vector<uint8_t>& bytes) {
  std::vector<Bits> values = test::from_bytes<Bits>(bytes);
  for (Bits& value : values)
    if (bit_cast<Float>(value) != bit_cast<Float>(value)) value = ~Bits{0};
  return values;
}

template <typename Bits, typename Float>
void compare(DType dtype, Numerics numerics, int lanes) {
  std::mt19937_64 random(7);
  std::vector<Bits> input(kElements);
  for (size_t i = 0; i < input.size(); i++) {
    input[i] = static_cast<Bits>(random());
    // Half of the arguments where the functions do something.
    if (i % 2 == 0) input[i] = bit_cast<Bits>(static_cast<Float>(static_cast<double>(random() % 2000001) * 2e-5 - 20));
  }
  InterpreterBackend interpreter;
  auto native = test::uncached_backend();
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    const Program program = program_of_functions(capabilities, numerics, dtype, lanes);
    // Kernels may fuse, but denormals are kept here: the interpreter keeps them too.
    const auto want = outputs_of(interpreter, program, capabilities, Numerics::kReproducible, test::to_bytes(input));
    const auto got = outputs_of(*native, program, capabilities, Numerics::kReproducible, test::to_bytes(input));
    ASSERT_EQ(want.size(), got.size());
    for (size_t slot = 1; slot < want.size(); slot++) {
      const auto a = one_nan<Bits, Float>(want[slot]), b = one_nan<Bits, Float>(got[slot]);
      for (size_t i = 0; i < a.size(); i++)
        ASSERT_EQ(a[i], b[i]) << program.slots[slot].name << " of bits " << input[i] << " on " << capabilities.isa
                              << ", " << lanes << " lanes of " << name_of(dtype) << ", " << name_of(numerics);
    }
  }
}

TEST(ClangMath, GivesTheBitsOfTheInterpreter) {
  for (Numerics numerics : {Numerics::kReproducible, Numerics::kFast}) {
    compare<uint32_t, float>(DType::kF32, numerics, 16);
    compare<uint32_t, float>(DType::kF32, numerics, 1);
    compare<uint64_t, double>(DType::kF64, numerics, 8);
  }
}

}  // namespace
}  // namespace tandem
