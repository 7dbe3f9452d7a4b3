#include "core/schedule/tile.h"

#include <algorithm>

#include "core/base/text.h"

namespace tandem {

std::string text(const Tile& tile) { return concat(tile.rows, "x", tile.width()); }

namespace {

/// Share of the multiply-adds of whole tiles that produce outputs.
double useful_share(int64_t size, int64_t tile) {
  const int64_t computed = (size + tile - 1) / tile * tile;
  return static_cast<double>(size) / static_cast<double>(computed);
}

/// Multiply-adds per instruction slot: a tile of r rows and v vectors issues r * v of them for v vector loads and r
/// broadcasts, and needs about eight independent accumulators to hide their latency.
double issue_rate(int rows, int vectors) {
  const double work = rows * vectors;
  return work / (work + 0.5 * vectors + 0.25 * rows) * std::min(1.0, work / 8.0);
}

/// A tile and what the model of a machine expects of it.
struct RatedTile {
  Tile tile;
  double rate;
};

/// All tiles of so many rows that fit, fewer rows first.
std::vector<RatedTile> fitting_tiles(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns,
                                     int element_bytes, int first_rows, int64_t last_rows) {
  const int lanes = capabilities.lanes(element_bytes);
  // One register for each value of the operand with fewer of them in the tile, one for the other, one for a product
  // that is yet to be added; the rest accumulate.
  const int registers = capabilities.vector_registers - (fused ? 0 : 1);
  const int most_vectors = 8;
  const int64_t vectors_needed = std::max<int64_t>(1, (columns + lanes - 1) / lanes);
  std::vector<RatedTile> tiles;
  for (int row_count = first_rows; row_count <= last_rows; row_count++)
    for (int vector_count = 1; vector_count <= std::min<int64_t>(most_vectors, vectors_needed); vector_count++) {
      if (row_count * vector_count + std::min(row_count, vector_count) + 1 > registers) continue;
      const double rate = issue_rate(row_count, vector_count) * useful_share(std::max<int64_t>(rows, 1), row_count) *
                          useful_share(vectors_needed, vector_count);
      tiles.push_back({{row_count, vector_count, lanes}, rate});
    }
  return tiles;
}

}  // namespace

Tile choose_tile(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns, int element_bytes,
                 int tile_rows) {
  const int most_rows = capabilities.wasm ? 6 : 12;
  const int first_rows = tile_rows > 0 ? tile_rows : 1;
  const int64_t last_rows = tile_rows > 0 ? tile_rows : std::min<int64_t>(most_rows, std::max<int64_t>(rows, 1));
  Tile best;
  best.lanes = capabilities.lanes(element_bytes);
  double best_rate = -1;
  for (const RatedTile& rated : fitting_tiles(capabilities, fused, rows, columns, element_bytes, first_rows, last_rows))
    if (rated.rate > best_rate * 1.0001) {
      best_rate = rated.rate;
      best = rated.tile;
    }
  return best;
}

std::vector<Tile> candidate_tiles(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns,
                                  int element_bytes) {
  // What is expected to take more than twice as long is not worth compiling.
  constexpr double kLeastShare = 0.5;
  std::vector<Tile> candidates = {choose_tile(capabilities, fused, rows, columns, element_bytes)};
  const int most_rows = capabilities.wasm ? 8 : 14;
  std::vector<RatedTile> rated = fitting_tiles(capabilities, fused, rows, columns, element_bytes, 1,
                                               std::min<int64_t>(most_rows, std::max<int64_t>(rows, 1)));
  std::sort(rated.begin(), rated.end(), [](const RatedTile& a, const RatedTile& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.tile.rows < b.tile.rows;
  });
  for (const RatedTile& other : rated)
    if (candidates.size() < kMostCandidates && other.rate >= kLeastShare * rated.front().rate &&
        !(other.tile == candidates.front()))
      candidates.push_back(other.tile);
  return candidates;
}

std::optional<Tile> tile_named(std::string_view name, const std::vector<Tile>& candidates) {
  for (const Tile& tile : candidates)
    if (text(tile) == name) return tile;
  return std::nullopt;
}

}  // namespace tandem
