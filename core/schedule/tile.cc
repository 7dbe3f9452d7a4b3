#include "core/schedule/tile.h"

#include <algorithm>
#include <limits>

#include "core/base/text.h"
#include "core/schedule/loops.h"

namespace tandem {

std::string text(const Tile& tile) { return concat(tile.rows, "x", tile.width()); }

std::vector<TileVector> vectors_of_tile(const Tile& tile, const Index& columns) {
  std::vector<TileVector> vectors;
  for (int i = 0; i < tile.vectors; i++) {
    const Index first = i * tile.lanes;
    const Index live = max(min(columns - first, tile.lanes), 0);
    if (live.is(0)) break;
    if (live.is(tile.lanes))
      vectors.push_back({first, tile.lanes});
    else if (live.is_constant())
      vectors.push_back({first, lanes_for(live.constant()), live});
    else
      vectors.push_back({first, tile.lanes, live});
  }
  for (TileVector& vector : vectors)
    if (vector.count && vector.count->is(vector.lanes)) vector.count.reset();
  return vectors;
}

namespace {

/// What a tile of so many rows and vectors takes for a step of its sums, in multiply-adds, of which a machine begins
/// two a cycle. Without FMA too: the multiplication and the addition go to different units.
double step_time(const Capabilities& capabilities, int element_bytes, int64_t rows, int64_t vectors) {
  // Loads go beside the arithmetic, but for their share of the decoder. A broadcast that is a load and a shuffle takes
  // a unit that would multiply or add; SSE has to shuffle 32 bits, and loads 64 of them into both halves.
  const double load = 0.5, broadcast = capabilities.broadcast_loads || element_bytes == 8 ? 0.25 : 1;
  // A sum waits for its own last step, somewhat more than four cycles: a small tile takes as long.
  const double latency = 9;
  const auto r = static_cast<double>(rows), v = static_cast<double>(vectors);
  return std::max(latency, r * v + load * v + broadcast * r);
}

/// What all tiles take for a step: the whole ones, and the smaller ones that the last rows and the last vectors go in.
double time_of_tiles(const Capabilities& capabilities, int element_bytes, int64_t rows, int64_t vectors,
                     const Tile& tile) {
  const int64_t whole_rows = rows / tile.rows, whole_panels = vectors / tile.vectors;
  const auto panel = [&](int64_t tile_vectors) {
    const auto time = [&](int64_t tile_rows) {
      return tile_rows == 0 ? 0 : step_time(capabilities, element_bytes, tile_rows, tile_vectors);
    };
    return tile_vectors == 0 ? 0 : static_cast<double>(whole_rows) * time(tile.rows) + time(rows % tile.rows);
  };
  return static_cast<double>(whole_panels) * panel(tile.vectors) + panel(vectors % tile.vectors);
}

/// A tile and the time that the model of a machine expects.
struct RatedTile {
  Tile tile;
  double time;
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
      const Tile tile = {row_count, vector_count, lanes};
      tiles.push_back(
          {tile, time_of_tiles(capabilities, element_bytes, std::max<int64_t>(rows, 1), vectors_needed, tile)});
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
  double least = std::numeric_limits<double>::infinity();
  for (const RatedTile& rated : fitting_tiles(capabilities, fused, rows, columns, element_bytes, first_rows, last_rows))
    if (rated.time < least * 0.9999) {
      least = rated.time;
      best = rated.tile;
    }
  return best;
}

std::vector<Tile> candidate_tiles(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns,
                                  int element_bytes) {
  // What is expected to take more than twice as long is not worth compiling.
  constexpr double kMostTime = 2;
  std::vector<Tile> candidates = {choose_tile(capabilities, fused, rows, columns, element_bytes)};
  const int most_rows = capabilities.wasm ? 8 : 14;
  std::vector<RatedTile> rated = fitting_tiles(capabilities, fused, rows, columns, element_bytes, 1,
                                               std::min<int64_t>(most_rows, std::max<int64_t>(rows, 1)));
  std::sort(rated.begin(), rated.end(), [](const RatedTile& a, const RatedTile& b) {
    return a.time != b.time ? a.time < b.time : a.tile.rows < b.tile.rows;
  });
  for (const RatedTile& other : rated)
    if (candidates.size() < kMostCandidates && other.time <= kMostTime * rated.front().time &&
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
