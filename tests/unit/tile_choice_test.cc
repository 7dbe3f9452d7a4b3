// Tiles that others than the heuristic choose: which there are, how a contraction is named, and that a schedule takes
// them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/plan/tune.h"
#include "core/schedule/schedule.h"
#include "core/tensor/nn.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr const char* kIsas[] = {"avx512", "avx2", "sse+fma", "sse", "wasm-simd128", "wasm-relaxed"};

TEST(TileCandidates, BeginWithTheHeuristicsAndFitTheRegisters) {
  for (const char* isa : kIsas)
    for (const int64_t rows : {1, 4, 143})
      for (const int64_t columns : {1, 20, 768}) {
        const Capabilities capabilities = *capabilities_named(isa);
        const std::vector<Tile> tiles = candidate_tiles(capabilities, capabilities.fma, rows, columns, 4);
        ASSERT_FALSE(tiles.empty());
        EXPECT_EQ(tiles[0], choose_tile(capabilities, capabilities.fma, rows, columns, 4));
        EXPECT_LE(tiles.size(), kMostCandidates);
        std::set<std::string> distinct;
        for (const Tile& tile : tiles) {
          distinct.insert(text(tile));
          EXPECT_LE(tile.rows, rows);
          // What accumulates, the operand with fewer values in the tile, one of the other, and an unfused product.
          EXPECT_LE(tile.rows * tile.vectors + std::min(tile.rows, tile.vectors) + (capabilities.fma ? 1 : 2),
                    capabilities.vector_registers)
              << isa << " " << text(tile);
          EXPECT_EQ(tile_named(text(tile), tiles), tile);
        }
        EXPECT_EQ(distinct.size(), tiles.size());
      }
}

std::string heuristic(const char* isa, int64_t rows, int64_t columns, int element_bytes = 4) {
  const Capabilities capabilities = *capabilities_named(isa);
  return text(choose_tile(capabilities, capabilities.fma, rows, columns, element_bytes));
}

TEST(TileHeuristic, ChoosesWhatWasMeasuredToBeFastest) {
  EXPECT_EQ(heuristic("avx512", 256, 768), "9x48");
  EXPECT_EQ(heuristic("avx2", 256, 768), "4x24");
  EXPECT_EQ(heuristic("sse+fma", 256, 768), "4x12");
  EXPECT_EQ(heuristic("wasm-relaxed", 256, 768), "6x8");
  EXPECT_EQ(heuristic("wasm-simd128", 256, 768), "5x8");
  // A broadcast is a load and a shuffle there: few of them, for many vectors each. 6x8 takes 1.19 times as long.
  EXPECT_EQ(heuristic("sse", 256, 768), "2x24");
  EXPECT_EQ(heuristic("sse", 4, 128), "2x24");
  // Of 64 bits it is one instruction, as for all others.
  EXPECT_EQ(heuristic("sse", 256, 768, 8), "6x4");
}

TEST(TileHeuristic, WeighsTheSmallerTilesAtTheEndsByWhatTheyTake) {
  // 100 columns are 13 vectors: the last one goes alone, and costs less than rows of one vector throughout (11x8).
  EXPECT_EQ(heuristic("avx2", 143, 100), "6x16");
  EXPECT_EQ(heuristic("avx2", 285, 100), "6x16");
  // The last two of 32 vectors go alone.
  EXPECT_EQ(heuristic("sse", 143, 128), "2x24");
}

TEST(TileCandidates, AreTheOnlyNamesOfTiles) {
  const std::vector<Tile> tiles = candidate_tiles(*capabilities_named("avx512"), true, 100, 768, 4);
  EXPECT_GT(tiles.size(), 4u);
  for (const char* wrong : {"", "x", "1000x48", "9", "9x48 ", "-9x48", "9x48x2", "\xff\xff"})
    EXPECT_EQ(tile_named(wrong, tiles), std::nullopt) << wrong;
}

TEST(TileCandidates, AnotherThanTheHeuristicsMustBeClearlyFaster) {
  EXPECT_EQ(fastest_candidate({{1, 1, 1}, {0.5, 0.5, 0.5}, {0.6, 0.6, 0.6}}), 1u);
  EXPECT_EQ(fastest_candidate({{1, 1, 1}, {0.98, 0.98, 0.98}}), 0u);
  // One lucky round, or one in which another process had the machine, says nothing.
  EXPECT_EQ(fastest_candidate({{1, 1, 1}, {1.2, 0.5, 1.2}}), 0u);
  EXPECT_EQ(fastest_candidate({{1, 9, 9}, {1.2, 1.2, 1.2}}), 0u);
  // What was not run can't win, and wins against nothing.
  EXPECT_EQ(fastest_candidate({{1, 1, 1}, {}, {0.9, 0.9, 0.9}}), 2u);
  EXPECT_EQ(fastest_candidate({{}, {0.1}}), 0u);
  EXPECT_EQ(fastest_candidate({}), 0u);
}

/// y = x w for x [rows, depth] and constant or given w [depth, columns].
struct Product {
  Dim rows = 100;
  int64_t depth = 64, columns = 256;
  DType dtype = DType::kF32;
  bool constant = true;
  bool transposed = false;  ///< x is given as [depth, rows].
  bool lanes = false;       ///< x is [4, rows, depth], whose rows end at lengths.
  Numerics numerics = Numerics::kFast;
};

GraphModule module_of(const Product& product) {
  GraphModule module;
  const Dim rows = product.rows, depth = product.depth, columns = product.columns;
  Tensor x = product.lanes        ? Tensor::input(module.graph, 0, "x", product.dtype, {4, rows, depth})
             : product.transposed ? Tensor::input(module.graph, 0, "x", product.dtype, {depth, rows}).transpose(0, 1)
                                  : Tensor::input(module.graph, 0, "x", product.dtype, {rows, depth});
  if (product.lanes) x = x.limit(1, Tensor::input(module.graph, 1, "lengths", DType::kI32, {4}));
  const Tensor w =
      product.constant
          ? Tensor::constant<float>({depth, columns},
                                    std::vector<float>(static_cast<size_t>(product.depth * product.columns), 0.5f))
                .cast(product.dtype)
          : Tensor::input(module.graph, 2, "w", product.dtype, {depth, columns});
  module.outputs = {matmul(x, w).node_in(module.graph)};
  module.output_names = {"y"};
  return module;
}

Schedule schedule_of(const Product& product, const TileTable& tiles = {}, const char* isa = "avx512") {
  ScheduleOptions options{*capabilities_named(isa), product.numerics};
  options.tiles = std::make_shared<TileTable>(tiles);
  return make_schedule(module_of(product), options);
}

std::string last_kernel(const Schedule& schedule) {
  return schedule.program.kernels[schedule.program.step_calls.back().kernel].name;
}

TEST(TileChoice, AScheduleTakesTheTileOfItsTable) {
  const Schedule heuristic = schedule_of({});
  ASSERT_EQ(heuristic.contractions.size(), 1u);
  const ScheduledContraction& contraction = heuristic.contractions[0];
  EXPECT_THAT(last_kernel(heuristic), HasSubstr("_tile_" + text(contraction.candidates[0])));
  for (const Tile& tile : contraction.candidates) {
    const Schedule chosen = schedule_of({}, {{contraction.key, tile}});
    EXPECT_THAT(last_kernel(chosen), HasSubstr("_tile_" + text(tile)));
    ASSERT_EQ(chosen.contractions.size(), 1u);
    EXPECT_EQ(chosen.contractions[0].key, contraction.key) << "a key must not depend on the tile";
    EXPECT_EQ(chosen.contractions[0].candidates, contraction.candidates);
    EXPECT_EQ(chosen.contractions[0].tile, tile);
  }
}

TEST(TileChoice, ATileThatDoesNotFitIsPassedOver) {
  const ScheduledContraction contraction = schedule_of({}).contractions.at(0);
  for (const Tile& wrong : {Tile{30, 8, 16}, Tile{9, 3, 4}, Tile{0, 0, 0}, Tile{-1, 3, 16}})
    EXPECT_EQ(schedule_of({}, {{contraction.key, wrong}}).contractions.at(0).tile, contraction.tile);
}

TEST(TileChoice, WithoutATableContractionsAreNotListed) {
  const ScheduleOptions options{*capabilities_named("avx512")};
  EXPECT_TRUE(make_schedule(module_of({}), options).contractions.empty());
}

TEST(TileChoice, KeysTellApartWhatKernelsDifferIn) {
  const Product products[] = {
      {},
      {.rows = 101},
      {.depth = 65},
      {.columns = 272},
      {.rows = Index::variable("t", 1, 100)},
      {.rows = Index::variable("t", 2, 100)},
      {.rows = Index::variable("t", 4, 100, 4)},
      {.dtype = DType::kF64},
      {.dtype = DType::kF16},
      {.dtype = DType::kI32},
      {.constant = false},
      {.transposed = true},
      {.lanes = true},
  };
  std::set<std::string> keys;
  for (const Product& product : products) {
    const Schedule schedule = schedule_of(product);
    ASSERT_EQ(schedule.contractions.size(), 1u) << keys.size();
    keys.insert(schedule.contractions[0].key);
  }
  EXPECT_EQ(keys.size(), std::size(products)) << ::testing::PrintToString(keys);
  // The name of a variable is nothing to a kernel.
  EXPECT_EQ(keys.count(schedule_of({.rows = Index::variable("frames", 1, 100)}).contractions.at(0).key), 1u);
}

}  // namespace
}  // namespace tandem
