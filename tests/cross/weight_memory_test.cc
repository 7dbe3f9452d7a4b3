// Weights on every target: where they lie while a plan is prepared and afterwards, when their source may go, and that
// they are kept as small as they are stored.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/base/half.h"
#include "core/graph/constant.h"
#include "core/tensor/nn.h"
#include "tests/reference/random.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

constexpr int64_t kRows = 5, kInputs = 70, kOutputs = 90;

std::vector<float> random_values(size_t count, uint64_t seed, double range) {
  reference::Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.uniform(-range, range));
  return values;
}

/// Bytes that lie `offset` bytes behind a boundary of 64, and that count how often they were given back.
struct Source {
  std::vector<std::byte> memory;
  std::span<const std::byte> bytes;
  int released = 0;

  Source(std::span<const std::byte> content, size_t offset) : memory(content.size() + 128) {
    const auto start = reinterpret_cast<uintptr_t>(memory.data());
    std::byte* begin = memory.data() + (64 - start % 64) + offset;
    std::memcpy(begin, content.data(), content.size());
    bytes = {begin, content.size()};
  }
  Tensor tensor(DType dtype, const Shape& shape) {
    return Tensor::constant(dtype, shape,
                            constant_data(dtype, shape, nullptr, bytes, "weights", [this] { released++; }));
  }
};

/// x [rows, inputs] through two linear layers that share nothing.
struct Layers {
  std::vector<float> x = random_values(kRows * kInputs, 1, 1);
  std::vector<float> first = random_values(kOutputs * kInputs, 2, 0.1);
  std::vector<float> second = random_values(kOutputs * kOutputs, 3, 0.1);

  static GraphModule graph(const Tensor& a, const Tensor& b) {
    GraphModule module;
    const Tensor input = Tensor::input(module.graph, 0, "x", DType::kF32, {kRows, kInputs});
    module.outputs = {linear(linear(input, a), b).node_in(module.graph)};
    module.output_names = {"y"};
    return module;
  }

  /// In double precision.
  std::vector<double> expected(const std::vector<float>& a, const std::vector<float>& b) const {
    std::vector<double> hidden(kRows * kOutputs), y(kRows * kOutputs);
    const auto layer = [](const auto& in, int64_t width, const std::vector<float>& weights, std::vector<double>& out) {
      for (int64_t row = 0; row < kRows; row++)
        for (int64_t column = 0; column < kOutputs; column++) {
          double sum = 0;
          for (int64_t k = 0; k < width; k++)
            sum += static_cast<double>(in[static_cast<size_t>(row * width + k)]) *
                   static_cast<double>(weights[static_cast<size_t>(column * width + k)]);
          out[static_cast<size_t>(row * kOutputs + column)] = sum;
        }
    };
    layer(x, kInputs, a, hidden);
    layer(hidden, kOutputs, b, y);
    return y;
  }

  std::vector<float> run(test::PlannedGraph& plan) const {
    reference::Options options;
    const auto bytes = std::as_bytes(std::span<const float>(x));
    options.inputs[0] = {bytes.begin(), bytes.end()};
    auto result = plan.run(options);
    EXPECT_TRUE(result) << result.error().text();
    if (!result) return {};
    std::vector<float> y((*result)[0].size() / sizeof(float));
    std::memcpy(y.data(), (*result)[0].data(), (*result)[0].size());
    return y;
  }
};

double largest_difference(const std::vector<float>& values, const std::vector<double>& expected) {
  if (values.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < values.size(); i++)
    worst = std::max(worst, std::abs(static_cast<double>(values[i]) - expected[i]));
  return worst;
}

int64_t bytes_of_role(const Plan& plan, SlotRole role) {
  int64_t bytes = 0;
  for (const Slot& slot : plan.program().slots) bytes += slot.role == role ? slot.bytes : 0;
  return bytes;
}

TEST(WeightMemory, ConstantsThatOnlyPackingReadsAreReadWhereTheyAreAndGivenBack) {
  const Layers layers;
  for (const test::Target& target : test::all_targets())
    for (const size_t offset : {size_t{0}, size_t{4}, size_t{1}}) {
      SCOPED_TRACE(target.name + ", offset " + std::to_string(offset));
      Source a(std::as_bytes(std::span(layers.first)), offset), b(std::as_bytes(std::span(layers.second)), offset);
      const GraphModule module =
          Layers::graph(a.tensor(DType::kF32, {kOutputs, kInputs}), b.tensor(DType::kF32, {kOutputs, kOutputs}));
      const int before = a.released;
      auto plan = test::PlannedGraph::make(module, target, Numerics::kFast);
      ASSERT_TRUE(plan) << plan.error().text();
      EXPECT_EQ(a.released, before + 1);
      EXPECT_EQ(b.released, before + 1);
      // Nobody may look at the source again.
      std::fill(a.memory.begin(), a.memory.end(), std::byte{0xFF});
      std::fill(b.memory.begin(), b.memory.end(), std::byte{0xFF});
      EXPECT_LE(largest_difference(layers.run(*plan), layers.expected(layers.first, layers.second)), 1e-5);
      const PlanStatistics& statistics = plan->plan().statistics();
      const int64_t constants = bytes_of_role(plan->plan(), SlotRole::kConstant);
      const int64_t packed = bytes_of_role(plan->plan(), SlotRole::kPacked);
      EXPECT_GE(packed, constants);
      EXPECT_LT(statistics.arena_bytes, packed + constants);
      // What lies badly is copied, one constant at a time.
      const auto largest = static_cast<int64_t>(layers.second.size() * sizeof(float));
      if (offset % sizeof(float) == 0)
        EXPECT_EQ(statistics.temporary_bytes, 0);
      else
        EXPECT_EQ(statistics.temporary_bytes, aligned_size(largest));
    }
}

TEST(WeightMemory, ReplicasHaveTheWeights) {
  const Layers layers;
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    Source a(std::as_bytes(std::span(layers.first)), 0), b(std::as_bytes(std::span(layers.second)), 0);
    PlanOptions options;
    options.schedule.capabilities = target.capabilities;
    auto plan = Plan::make(
        Layers::graph(a.tensor(DType::kF32, {kOutputs, kInputs}), b.tensor(DType::kF32, {kOutputs, kOutputs})),
        target.backend, options);
    ASSERT_TRUE(plan) << plan.error().text();
    auto replica = (*plan)->replicate();
    ASSERT_TRUE(replica) << replica.error().text();
    plan->reset();
    std::memcpy((*replica)->input_data(0), layers.x.data(), layers.x.size() * sizeof(float));
    ASSERT_TRUE((*replica)->run(nullptr)) << (*replica)->failure();
    const auto* y = reinterpret_cast<const float*>((*replica)->output_data(0));
    EXPECT_LE(largest_difference({y, y + kRows * kOutputs}, layers.expected(layers.first, layers.second)), 1e-5);
  }
}

TEST(WeightMemory, ThePlanSaysWhatItNeedsBeforeItTakesAnything) {
  const Layers layers;
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    Source a(std::as_bytes(std::span(layers.first)), 1), b(std::as_bytes(std::span(layers.second)), 1);
    PlanOptions options;
    options.schedule.capabilities = target.capabilities;
    const GraphModule module =
        Layers::graph(a.tensor(DType::kF32, {kOutputs, kInputs}), b.tensor(DType::kF32, {kOutputs, kOutputs}));
    auto plan = Plan::make(module, target.backend, options);
    ASSERT_TRUE(plan) << plan.error().text();
    const int64_t need = (*plan)->statistics().arena_bytes + (*plan)->statistics().temporary_bytes;
    options.memory_limit = need;
    EXPECT_TRUE(Plan::make(module, target.backend, options));
    const int released = a.released;
    options.memory_limit = need - 1;
    const auto refused = Plan::make(module, target.backend, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kMemoryLimit);
    EXPECT_NE(refused.error().message.find(std::to_string(need)), std::string::npos) << refused.error().message;
    EXPECT_EQ(a.released, released);
  }
}

/// Bytes of a plan's packed weights, and its result.
struct Kept {
  int64_t packed = 0;
  std::vector<float> y;
};

Kept kept(const Layers& layers, const Tensor& a, const Tensor& b, const test::Target& target, Numerics numerics) {
  auto plan = test::PlannedGraph::make(Layers::graph(a, b), target, numerics);
  EXPECT_TRUE(plan) << plan.error().text();
  if (!plan) return {};
  int64_t packed = 0;
  std::vector<bool> stepped(plan->plan().program().slots.size(), false);
  for (const KernelCall& call : plan->plan().program().step_calls)
    for (const uint32_t slot : call.slots) stepped[slot] = true;
  for (size_t i = 0; i < stepped.size(); i++) {
    const Slot& slot = plan->plan().program().slots[i];
    if (stepped[i] && (slot.role == SlotRole::kPacked || slot.role == SlotRole::kConstant)) packed += slot.bytes;
  }
  return {packed, layers.run(*plan)};
}

TEST(WeightMemory, WeightsStayAsSmallAsTheyAreStored) {
  const Layers layers;
  const Shape first{kOutputs, kInputs}, second{kOutputs, kOutputs};
  for (const DType stored : {DType::kF16, DType::kBF16}) {
    const auto round = [&](std::vector<float> values) {
      for (float& value : values)
        value = stored == DType::kF16 ? f32_from_f16(f16_from_f32(value)) : f32_from_bf16(bf16_from_f32(value));
      return values;
    };
    const std::vector<float> a = round(layers.first), b = round(layers.second);
    std::vector<uint16_t> a_bits, b_bits;
    for (const float value : a) a_bits.push_back(stored == DType::kF16 ? f16_from_f32(value) : bf16_from_f32(value));
    for (const float value : b) b_bits.push_back(stored == DType::kF16 ? f16_from_f32(value) : bf16_from_f32(value));
    const auto plain = [](const std::vector<float>& values, const Shape& shape) {
      return Tensor::constant(shape, values, "weights");
    };
    for (const test::Target& target : test::all_targets())
      for (const Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
        SCOPED_TRACE(target.name + " " + std::string(name_of(stored)) + " " + std::string(name_of(numerics)));
        const Kept wide = kept(layers, plain(a, first), plain(b, second), target, numerics);
        Source a_source(std::as_bytes(std::span(a_bits)), 2), b_source(std::as_bytes(std::span(b_bits)), 2);
        const Kept in_file = kept(layers, a_source.tensor(stored, first).cast(DType::kF32),
                                  b_source.tensor(stored, second).cast(DType::kF32), target, numerics);
        const Kept rounded = kept(layers, plain(layers.first, first).cast(stored).cast(DType::kF32),
                                  plain(layers.second, second).cast(stored).cast(DType::kF32), target, numerics);
        EXPECT_EQ(in_file.packed * 2, wide.packed);
        EXPECT_EQ(rounded.packed * 2, wide.packed);
        EXPECT_EQ(in_file.y, wide.y);
        EXPECT_EQ(rounded.y, wide.y);
        EXPECT_LE(largest_difference(wide.y, layers.expected(a, b)), 1e-5);
      }
  }
}

TEST(WeightMemory, BytesWithAScalePerChannelStayBytes) {
  const Layers layers;
  const auto quantised = [](const std::vector<float>& values, int64_t width, std::vector<float>& restored) {
    const Tensor weight = Tensor::constant(Shape{kOutputs, width}, values, "weights");
    const Tensor scale = abs(weight).max({1}, true) / 127.0;
    restored.clear();
    for (int64_t row = 0; row < kOutputs; row++) {
      float largest = 0;
      for (int64_t i = 0; i < width; i++)
        largest = std::max(largest, std::abs(values[static_cast<size_t>(row * width + i)]));
      for (int64_t i = 0; i < width; i++) {
        const float one = largest / 127.0f;
        restored.push_back(std::nearbyint(values[static_cast<size_t>(row * width + i)] / one) * one);
      }
    }
    return std::pair(round(weight / scale).cast(DType::kI8).cast(DType::kF32), scale.reshape({kOutputs}));
  };
  std::vector<float> a, b;
  const auto first = quantised(layers.first, kInputs, a);
  const auto second = quantised(layers.second, kOutputs, b);
  for (const test::Target& target : test::all_targets()) {
    SCOPED_TRACE(target.name);
    GraphModule module;
    const Tensor input = Tensor::input(module.graph, 0, "x", DType::kF32, {kRows, kInputs});
    const Tensor hidden = linear(input, first.first) * first.second;
    module.outputs = {(linear(hidden, second.first) * second.second).node_in(module.graph)};
    module.output_names = {"y"};
    auto plan = test::PlannedGraph::make(module, target, Numerics::kFast);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_LE(largest_difference(layers.run(*plan), layers.expected(a, b)), 1e-5);
    // Bytes for the matrices, padded to whole panels, and two scales of f32.
    EXPECT_LT(plan->plan().statistics().arena_bytes,
              2 * kOutputs * (kInputs + kOutputs) + 16 * static_cast<int64_t>(sizeof(float)) * kRows * kOutputs);
  }
}

}  // namespace
}  // namespace tandem
