// Register tiles and what is left of rows, columns and depth beside them: sizes at whole tiles, one more and one less,
// as numbers and as values of a variable, on every target.

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "core/schedule/tile.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"
#include "tests/reference/compare.h"
#include "tests/reference/random.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

std::vector<std::byte> random_floats(int64_t count, uint32_t seed) {
  reference::Random random(seed);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; i++) {
    const float value = static_cast<float>(random.between(-1000, 1000)) / 500;
    std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }
  return bytes;
}

Tensor weight(int64_t depth, int64_t columns) {
  std::vector<float> values(static_cast<size_t>(depth * columns));
  const std::vector<std::byte> bytes = random_floats(depth * columns, static_cast<uint32_t>(columns));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return Tensor::constant<float>({depth, columns}, values);
}

/// Products of x [rows, depth] with constants of these widths, each an output.
GraphModule products(const Dim& rows, int64_t depth, const std::vector<int64_t>& widths) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {rows, depth});
  for (int64_t columns : widths) {
    module.outputs.push_back(matmul(x, weight(depth, columns)).node_in(module.graph));
    module.output_names.push_back("y" + std::to_string(columns));
  }
  return module;
}

/// Compares one plan with the reference at each of `rows`, and returns the bits.
std::vector<test::OutputBytes> run(const GraphModule& module, const test::Target& target, Numerics numerics,
                                   int64_t depth, const std::vector<int64_t>& rows) {
  std::vector<test::OutputBytes> bits;
  auto planned = test::PlannedGraph::make(module, target, numerics);
  EXPECT_TRUE(planned) << planned.error().text();
  if (!planned) return bits;
  for (int64_t t : rows) {
    SCOPED_TRACE(target.name + ", " + std::string(name_of(numerics)) + ", rows " + std::to_string(t));
    const reference::Options options{
        reference::Mode::kExact, {{"t", t}}, {{0, random_floats(t * depth, static_cast<uint32_t>(t))}}};
    const auto outputs = planned->run(options);
    EXPECT_TRUE(outputs) << outputs.error().text();
    if (!outputs) return bits;
    const auto expected = reference::evaluate(module, options);
    for (size_t i = 0; i < expected.size(); i++) {
      const auto wrong = reference::mismatch(expected[i], (*outputs)[i]);
      EXPECT_FALSE(wrong) << *wrong;
    }
    bits.push_back(*outputs);
  }
  return bits;
}

/// Whole tiles of every target for wide products, one column or row less and one more.
std::vector<int64_t> edges(bool columns) {
  std::set<int64_t> sizes;
  for (const test::Target& target : test::all_targets())
    for (bool fused : {false, true}) {
      const Tile tile = choose_tile(target.capabilities, fused, 1000, 1000, 4);
      const int64_t size = columns ? tile.width() : tile.rows;
      sizes.insert({size - 1, size, size + 1});
    }
  return {sizes.begin(), sizes.end()};
}

/// On all targets, in both numerics; the reproducible bits must be the same everywhere.
void run_everywhere(const GraphModule& module, int64_t depth, const std::vector<int64_t>& rows) {
  std::vector<test::OutputBytes> first;
  for (const test::Target& target : test::all_targets()) {
    const auto bits = run(module, target, Numerics::kReproducible, depth, rows);
    if (first.empty()) first = bits;
    EXPECT_TRUE(bits == first) << target.name << " gives other bits than " << test::all_targets()[0].name;
    run(module, target, Numerics::kFast, depth, rows);
  }
}

TEST(Tiles, EveryNumberOfRowsOfOnePlan) {
  constexpr int64_t kDepth = 5, kMost = 30;
  std::vector<int64_t> rows;
  for (int64_t t = 1; t <= kMost; t++) rows.push_back(t % 2 == 0 ? t : kMost - t);
  const GraphModule module = products(Index::variable("t", 1, kMost), kDepth, edges(true));
  run_everywhere(module, kDepth, rows);
}

// Sums long enough that what follows them is computed apart from the tile.
TEST(Tiles, WhatFollowsLongSumsOfEveryNumberOfRows) {
  constexpr int64_t kDepth = 256, kMost = 21;
  const Dim t = Index::variable("t", 1, kMost);
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {t, kDepth});
  for (const int64_t columns : {16, 37, 97}) {
    const Tensor product = matmul(x, weight(kDepth, columns) * (1.0 / 64));
    const Tensor other = x.slice(1, 0, 1) + arange(columns, DType::kF32) * 0.125;
    for (const Tensor& y : {sigmoid(product) * product, product + other, product.cast(DType::kF64) * 0.5})
      module.outputs.push_back(y.node_in(module.graph));
  }
  const Tensor whole = matmul((x * 8).cast(DType::kI32), (weight(kDepth, 37) * 8).cast(DType::kI32));
  module.outputs.push_back((whole + 3).node_in(module.graph));
  for (size_t i = 0; i < module.outputs.size(); i++) module.output_names.push_back("y" + std::to_string(i));
  std::vector<int64_t> rows;
  for (int64_t i = 1; i <= kMost; i++) rows.push_back(i % 2 == 0 ? i : kMost + 1 - i);
  run_everywhere(module, kDepth, rows);
}

TEST(Tiles, ConstantRowsGiveTheBitsOfVariableOnes) {
  constexpr int64_t kDepth = 3;
  const std::vector<int64_t> widths = {47, 48};
  const auto& targets = test::all_targets();
  const GraphModule any = products(Index::variable("t", 1, 30), kDepth, widths);
  for (int64_t rows : edges(false)) {
    if (rows < 1) continue;
    const auto expected = run(any, targets[0], Numerics::kReproducible, kDepth, {rows});
    const auto& target = targets[static_cast<size_t>(rows) % targets.size()];
    EXPECT_TRUE(run(products(rows, kDepth, widths), target, Numerics::kReproducible, kDepth, {rows}) == expected)
        << rows << " rows on " << target.name;
  }
}

/// The bits of x times a constant, at each of `rows` (of a variable), by a plan with these tiles; fills in the
/// candidates.
std::vector<std::vector<std::byte>> bits_of_tiles(const GraphModule& module, const test::Target& target,
                                                  const TileTable& tiles, int64_t depth,
                                                  const std::vector<int64_t>& rows, ScheduledContraction& contraction) {
  PlanOptions options;
  options.schedule.capabilities = target.capabilities;
  options.schedule.numerics = Numerics::kReproducible;
  options.schedule.tiles = std::make_shared<TileTable>(tiles);
  auto plan = Plan::make(module, target.backend, options);
  std::vector<std::vector<std::byte>> bits;
  EXPECT_TRUE(plan) << plan.error().text();
  if (!plan) return bits;
  contraction = (*plan)->schedule().contractions.at(0);
  for (const int64_t t : rows) {
    const std::vector<std::byte> x = random_floats(t * depth, static_cast<uint32_t>(t));
    std::memcpy((*plan)->input_data(0), x.data(), x.size());
    EXPECT_TRUE((*plan)->run(&t)) << (*plan)->failure();
    const auto count = static_cast<size_t>((*plan)->evaluate(element_count((*plan)->outputs()[0].shape), {&t, 1}));
    bits.emplace_back((*plan)->output_data(0), (*plan)->output_data(0) + count * sizeof(float));
  }
  return bits;
}

// What tuning may choose.
TEST(Tiles, EveryCandidateGivesTheBitsOfTheHeuristics) {
  constexpr int64_t kDepth = 7;
  const std::vector<int64_t> rows = {1, 2, 5, 13, 29, 30};
  for (const int64_t columns : {20, 130}) {
    const GraphModule module = products(Index::variable("t", 1, 30), kDepth, {columns});
    const auto expected = run(module, test::all_targets()[0], Numerics::kReproducible, kDepth, rows);
    for (const test::Target& target : test::all_targets()) {
      ScheduledContraction contraction;
      bits_of_tiles(module, target, {}, kDepth, rows, contraction);
      ASSERT_GT(contraction.candidates.size(), 1u);
      for (const Tile& tile : contraction.candidates) {
        SCOPED_TRACE(target.name + ", " + text(tile) + ", columns " + std::to_string(columns));
        ScheduledContraction chosen;
        const auto bits = bits_of_tiles(module, target, {{contraction.key, tile}}, kDepth, rows, chosen);
        EXPECT_EQ(chosen.tile, tile);
        ASSERT_EQ(bits.size(), expected.size());
        for (size_t i = 0; i < bits.size(); i++) EXPECT_TRUE(bits[i] == expected[i][0]) << "rows " << rows[i];
      }
    }
  }
}

/// Are there fused instructions in the kernels of a reproducible plan?
bool fuses(const GraphModule& module, const Capabilities& capabilities) {
  ScheduleOptions options{capabilities, Numerics::kReproducible};
  for (const Kernel& kernel : make_schedule(module, options).program.kernels)
    for (const Instruction& instruction : kernel.instructions)
      if (instruction.opcode == Opcode::kFma) return true;
  return false;
}

// Products that need no rounding may be fused with their sum, and give the bits of machines that can't.
TEST(Tiles, ProductsWithoutRoundingAreFusedWithTheSameBits) {
  constexpr int64_t kDepth = 37, kRows = 5, kColumns = 40;
  const auto product = [](DType narrow, DType wide) {
    GraphModule module;
    const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {kRows, kDepth});
    const Tensor widened = x.cast(narrow).cast(wide).pad({{0, 0}, {1, 0}}, 0.0);
    module.outputs = {matmul(widened, weight(kDepth + 1, kColumns).cast(narrow).cast(wide)).node_in(module.graph)};
    module.output_names = {"y"};
    return module;
  };
  for (const auto& [narrow, wide, exact] : {std::tuple{DType::kF32, DType::kF64, true},
                                            {DType::kF16, DType::kF32, true},
                                            {DType::kBF16, DType::kF32, false},
                                            {DType::kF32, DType::kF32, false}}) {
    SCOPED_TRACE(std::string(name_of(narrow)) + " in " + std::string(name_of(wide)));
    const GraphModule module = product(narrow, wide);
    std::vector<test::OutputBytes> first;
    for (const test::Target& target : test::all_targets()) {
      const auto bits = run(module, target, Numerics::kReproducible, kDepth, {kRows});
      if (first.empty()) first = bits;
      EXPECT_TRUE(bits == first) << target.name << " gives other bits than " << test::all_targets()[0].name;
      EXPECT_EQ(fuses(module, target.capabilities), exact && target.capabilities.fma) << target.name;
    }
  }
}

}  // namespace
}  // namespace tandem
