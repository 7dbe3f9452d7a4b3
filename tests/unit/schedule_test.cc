#include "core/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <set>

#include "core/tensor/nn.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

/// y = function(x) for an x [1, columns].
GraphModule module_of(const std::function<Tensor(const Tensor&)>& function, int64_t columns) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {1, columns});
  module.outputs = {function(x).node_in(module.graph)};
  module.output_names = {"y"};
  return module;
}

Schedule schedule_of(const GraphModule& module, const std::string& isa = "avx2") {
  ScheduleOptions options;
  options.capabilities = *capabilities_named(isa);
  return make_schedule(module, options);
}

Tensor weight(int64_t rows, int64_t columns) {
  return Tensor::constant<float>({rows, columns}, std::vector<float>(static_cast<size_t>(rows * columns), 0.5f), "w");
}

int64_t packed_slots(const Schedule& schedule) {
  return std::count_if(schedule.program.slots.begin(), schedule.program.slots.end(),
                       [](const Slot& slot) { return slot.role == SlotRole::kPacked; });
}

TEST(Schedule, StepsOfOnePlanShareTheirPackedWeights) {
  const auto steps = [](const Tensor& x) {
    const Tensor w = weight(64, 64);
    return tanh(linear(tanh(linear(tanh(linear(x, w)), w)), w));
  };
  const Schedule shared = schedule_of(module_of(steps, 64));
  EXPECT_EQ(packed_slots(shared), 1);
  EXPECT_EQ(shared.program.prepare_calls.size(), 1u);
  // Two views of one weight are two copies.
  const auto transposed = [](const Tensor& x) {
    const Tensor w = weight(64, 64);
    return linear(tanh(linear(x, w)), w.transpose(0, 1).slice(1, 0, 64).flip({0}));
  };
  EXPECT_EQ(packed_slots(schedule_of(module_of(transposed, 64))), 2);
}

// To widen a vector takes as long as to multiply it once or twice; to read it twice as long, from the cache, nothing.
TEST(Schedule, WeightsInSumsOfF64AreWidenedOnceWhereTheyStayInTheCache) {
  const auto packed = [](int64_t columns, DType wide) {
    const auto product = [&](const Tensor& x) { return linear(x.cast(wide), weight(columns, 128).cast(wide)); };
    std::vector<DType> dtypes;
    for (const Slot& slot : schedule_of(module_of(product, 128)).program.slots)
      if (slot.role == SlotRole::kPacked) dtypes.push_back(slot.dtype);
    return dtypes;
  };
  EXPECT_EQ(packed(256, DType::kF64), std::vector{DType::kF64});
  EXPECT_EQ(packed(257, DType::kF64), std::vector{DType::kF32});
  EXPECT_EQ(packed(257, DType::kF32), std::vector{DType::kF32});
}

TEST(Schedule, MirroredPaddingForSeveralKernelsIsWrittenOnce) {
  const auto kernels = [](const Tensor& x) {
    const Tensor padded = x.reflect_pad({{0, 0}, {8, 8}});
    return linear(padded * padded, weight(32, 48)) + linear(abs(padded), weight(32, 48));
  };
  const GraphModule module = module_of(kernels, 32);
  const std::string text = schedule_of(module).text(module);
  EXPECT_NE(text.find("reflect_pad [1, 48]: map; used by several kernels"), std::string::npos) << text;
}

TEST(Schedule, ReversedElementsAreLoadedAsWholeVectors) {
  const Schedule schedule = schedule_of(module_of([](const Tensor& x) { return x.flip({1}); }, 64));
  ASSERT_EQ(schedule.program.kernels.size(), 1u);
  const auto& instructions = schedule.program.kernels[0].instructions;
  EXPECT_EQ(std::count_if(instructions.begin(), instructions.end(),
                          [](const Instruction& instruction) { return instruction.opcode == Opcode::kLoad; }),
            1);
}

/// Rounded to bf16 and shown as f32 again.
Tensor narrow(const Tensor& x) { return x.cast(DType::kBF16).cast(DType::kF32); }

/// How often the code of a kernel rounds to bf16: each time it adds half of the last place that stays.
int64_t roundings(const Kernel& kernel) {
  return std::count_if(kernel.instructions.begin(), kernel.instructions.end(), [](const Instruction& instruction) {
    return instruction.opcode == Opcode::kConstant && instruction.type.scalar == Scalar::kI32 &&
           instruction.integer == 0x7fff;
  });
}

std::vector<DType> stored(const Schedule& schedule) {
  std::vector<DType> dtypes;
  for (const Slot& slot : schedule.program.slots)
    if (slot.role == SlotRole::kIntermediate && slot.name.rfind("widened", 0) != 0) dtypes.push_back(slot.dtype);
  return dtypes;
}

const Kernel& kernel_of_call(const Schedule& schedule, size_t number) {
  return schedule.program.kernels[schedule.program.step_calls[number].kernel];
}

int64_t count_named(const Schedule& schedule, const std::string& part) {
  int64_t count = 0;
  for (size_t i = 0; i < schedule.program.step_calls.size(); i++)
    count += kernel_of_call(schedule, i).name.find(part) != std::string::npos;
  return count;
}

TEST(Schedule, APaddedAxisThatEndsEarlyIsLoadedInWholeVectorsAndFilledBehindItsEnd) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {4, 100});
  const Tensor lengths = Tensor::input(module.graph, 1, "lengths", DType::kI32, {4});
  const Tensor padded = x.limit(1, lengths).pad({{0, 0}, {2, 2}});
  module.outputs = {padded.node_in(module.graph)};
  module.output_names = {"y"};
  for (const std::string isa : {"avx512", "avx2", "sse", "wasm-simd128"}) {
    const Schedule schedule = schedule_of(module, isa);
    const Kernel& kernel = schedule.program.kernels[schedule.program.step_calls.back().kernel];
    EXPECT_FALSE(uses(kernel, Opcode::kInsert)) << isa << text(kernel);
    // In the loop before the length, and in the vectors at both ends that may not be whole.
    int64_t loads = 0;
    for (const Instruction& instruction : kernel.instructions)
      loads += instruction.opcode == Opcode::kLoad && is_float(instruction.type.scalar);
    EXPECT_LE(loads, 3) << isa << text(kernel);
  }
}

TEST(Schedule, WhatProductsReadAsBfloat16IsStoredSoAndWidenedOnce) {
  const auto layer = [](const Tensor& x) {
    const Tensor y = narrow(layer_norm(x, weight(1, 64).squeeze(0), {}));
    return linear(narrow(tanh(linear(y, weight(64, 64)))), weight(64, 64)) + linear(y, weight(64, 64) * 2.0) + y;
  };
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {20, 64});
  module.outputs = {layer(x).node_in(module.graph)};
  module.output_names = {"y"};
  const Schedule schedule = schedule_of(module);
  // The norm, the hidden layer; what is added up is f32.
  const std::vector<DType> dtypes = stored(schedule);
  EXPECT_EQ(std::count(dtypes.begin(), dtypes.end(), DType::kBF16), 2) << schedule.text(module);
  // Two products read one copy of the norm.
  EXPECT_EQ(count_named(schedule, "widen_"), 2) << schedule.text(module);
  for (const Slot& slot : schedule.program.slots)
    if (slot.dtype == DType::kBF16) {
      EXPECT_EQ(slot.bytes, 20 * 64 * 2);
    }
  int64_t all = 0;
  for (size_t i = 0; i < schedule.program.step_calls.size(); i++) {
    const int64_t found = roundings(kernel_of_call(schedule, i));
    EXPECT_LE(found, 1) << kernel_of_call(schedule, i).name;
    all += found;
  }
  EXPECT_EQ(all, 2);
}

TEST(Schedule, Bfloat16ThatIsMovedPaddedOrCutStaysSoWithoutARounding) {
  const auto moved = [](const Tensor& x, const Tensor& lengths) {
    const Tensor halves = x.cast(DType::kF32).reshape({4, 16});
    const Tensor padded = concat({halves.pad({{0, 0}, {2, 2}}), halves.reflect_pad({{0, 0}, {2, 2}})}, 0);
    return linear(padded.limit(1, lengths), weight(64, 20));
  };
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kBF16, {64});
  module.outputs = {moved(x, Tensor::input(module.graph, 1, "lengths", DType::kI32, {8})).node_in(module.graph)};
  module.output_names = {"y"};
  for (const char* isa : {"avx2", "avx512", "wasm-simd128"}) {
    const Schedule schedule = schedule_of(module, isa);
    const std::vector<DType> dtypes = stored(schedule);
    EXPECT_EQ(std::count(dtypes.begin(), dtypes.end(), DType::kBF16), 1) << schedule.text(module);
    for (size_t i = 0; i < schedule.program.step_calls.size(); i++)
      EXPECT_EQ(roundings(kernel_of_call(schedule, i)), 0) << text(kernel_of_call(schedule, i));
  }
  // A fill that bf16 does not hold needs f32.
  const auto filled = [](const Tensor& x) {
    return linear(x.cast(DType::kF32).reshape({4, 16}).pad({{0, 0}, {2, 2}}, 0.1), weight(64, 20));
  };
  GraphModule other;
  const Tensor z = Tensor::input(other.graph, 0, "x", DType::kBF16, {64});
  other.outputs = {filled(z).node_in(other.graph)};
  other.output_names = {"y"};
  const std::vector<DType> dtypes = stored(schedule_of(other));
  EXPECT_EQ(std::count(dtypes.begin(), dtypes.end(), DType::kBF16), 0);
}

// The machine's prefetchers follow ascending addresses: a matrix in the second-level cache read the other way round
// takes half as long again.
TEST(Schedule, AProductOfOneRowReadsItsWeightsInAscendingOrder) {
  const auto product = [](const Tensor& x) { return linear(x, weight(512, 128)); };
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    if (!capabilities.fma) continue;
    const Schedule schedule = schedule_of(module_of(product, 128), capabilities.isa);
    const auto assembly = test::uncached_backend()->assembly(schedule.program, capabilities);
    ASSERT_TRUE(assembly.has_value()) << assembly.error().text();
    const std::regex load("vfmadd231ps\\s+(-?[0-9]*)\\(");
    std::vector<int64_t> offsets;
    for (auto at = std::sregex_iterator(assembly->begin(), assembly->end(), load); at != std::sregex_iterator(); ++at)
      offsets.push_back((*at)[1].length() > 0 ? std::stoll((*at)[1]) : 0);
    EXPECT_GE(offsets.size(), 4u) << *assembly;
    EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end())) << *assembly;
  }
}

GraphModule product_of(int64_t rows, int64_t columns, int64_t depth) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {rows, depth});
  module.outputs = {linear(x, weight(columns, depth)).node_in(module.graph)};
  module.output_names = {"y"};
  return module;
}

/// Cache lines of 16 f32 that the hints of a level name while counters take these values; others stay 0.
std::set<int64_t> hinted_lines(const Kernel& kernel, int level,
                               const std::map<uint32_t, std::vector<int64_t>>& counters) {
  std::set<int64_t> lines;
  for (const Instruction& instruction : kernel.instructions) {
    if (instruction.opcode != Opcode::kPrefetch || instruction.integer != level) continue;
    std::map<uint32_t, std::vector<int64_t>> used;
    instruction.index.for_each_leaf([&](const Index& leaf) {
      const auto found = counters.find(leaf.id());
      if (found != counters.end()) used.insert(*found);
    });
    std::map<uint32_t, int64_t> at;
    const std::function<void(std::map<uint32_t, std::vector<int64_t>>::const_iterator)> run = [&](auto counter) {
      if (counter == used.end()) {
        const Index place = instruction.index.substitute([&](const Index& leaf) -> std::optional<Index> {
          return leaf.kind() == IndexKind::kLoop ? std::optional<Index>(at[leaf.id()]) : std::nullopt;
        });
        ASSERT_TRUE(place.is_constant()) << place.text();
        lines.insert(place.constant() / 16);
        return;
      }
      for (const int64_t value : counter->second) {
        at[counter->first] = value;
        run(std::next(counter));
      }
    };
    run(used.begin());
  }
  return lines;
}

TEST(Schedule, TilesOfALargeProductAskForTheirNextPanel) {
  constexpr int64_t kDepth = 64, kColumns = 6144;
  for (const std::string isa : {"avx512", "avx2", "sse"}) {
    const GraphModule module = product_of(30, kColumns, kDepth);
    const Schedule schedule = schedule_of(module, isa);
    ASSERT_EQ(schedule.program.step_calls.size(), 1u);
    const Kernel& kernel = schedule.program.kernels[schedule.program.step_calls[0].kernel];
    // The panel's width is in the name: contract_60_768_512_tile_ROWSxWIDTH.
    const int64_t width = std::stoll(kernel.name.substr(kernel.name.rfind('x') + 1));
    std::map<uint32_t, std::vector<int64_t>> counters;
    for (const Instruction& instruction : kernel.instructions)
      if (instruction.opcode == Opcode::kLoop && instruction.end.is_constant())
        for (int64_t value = 0; value < instruction.end.constant(); value += instruction.step)
          counters[instruction.loop].push_back(value);
    // The tiles of the first panel: its own elements, 12 steps ahead, and the whole second panel.
    const std::set<int64_t> near = hinted_lines(kernel, 1, counters), far = hinted_lines(kernel, 2, counters);
    const int64_t of_panel = kDepth * width / 16;
    for (int64_t line = 12 * width / 16; line < of_panel; line++) EXPECT_EQ(near.count(line), 1u) << isa << " " << line;
    for (int64_t line = of_panel; line < 2 * of_panel; line++) EXPECT_EQ(far.count(line), 1u) << isa << " " << line;
    ASSERT_FALSE(far.empty());
    EXPECT_EQ(*far.begin(), of_panel);
    // Those of the last panel stay inside the weights.
    counters[kernel.range_loop] = {kernel.range.constant() - 1};
    EXPECT_LT(*hinted_lines(kernel, 1, counters).rbegin(), kDepth * kColumns / 16);
    EXPECT_LT(*hinted_lines(kernel, 2, counters).rbegin(), kDepth * kColumns / 16);
  }
}

/// Stores to a buffer that others read, or to one that is local.
int64_t stores_of(const Kernel& kernel, bool local) {
  return std::count_if(kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& instruction) {
    return instruction.opcode == Opcode::kStore &&
           (kernel.buffers[instruction.buffer].access == Access::kLocal) == local;
  });
}

TEST(Schedule, WhatFollowsALongSumIsALoopOverTheRowsOfTheTile) {
  const auto kernel_of = [](int64_t depth, const std::string& isa, bool follows) {
    GraphModule module;
    const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {36, depth});
    const Tensor y = matmul(x, weight(depth, 96));
    module.outputs = {(follows ? tanh(y) : y).node_in(module.graph)};
    module.output_names = {"y"};
    const Schedule schedule = schedule_of(module, isa);
    return schedule.program.kernels[schedule.program.step_calls.back().kernel];
  };
  for (const std::string isa : {"avx512", "avx2", "sse", "wasm-simd128"}) {
    const Kernel apart = kernel_of(256, isa, true), together = kernel_of(255, isa, true);
    const Kernel alone = kernel_of(256, isa, false);
    // A row of a tile, of whole panels and of the last one.
    EXPECT_LE(stores_of(apart, false), 2 * 8) << isa;
    EXPECT_GT(stores_of(apart, true), 4) << isa;
    EXPECT_EQ(stores_of(together, true), 0) << isa;
    EXPECT_EQ(stores_of(alone, true), 0) << isa;
    EXPECT_LT(4 * apart.instructions.size(), 3 * together.instructions.size()) << isa;
  }
}

TEST(Schedule, WeightsThatStayInTheCachesNeedNoHints) {
  const auto hints = [](int64_t columns, const std::string& isa) {
    const Schedule schedule = schedule_of(product_of(60, columns, 512), isa);
    return std::any_of(schedule.program.kernels.begin(), schedule.program.kernels.end(),
                       [](const Kernel& kernel) { return uses(kernel, Opcode::kPrefetch); });
  };
  EXPECT_TRUE(hints(512, "avx2"));
  EXPECT_FALSE(hints(256, "avx2"));
  EXPECT_FALSE(hints(512, "wasm-simd128"));
}

}  // namespace
}  // namespace tandem
