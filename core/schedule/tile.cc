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

}  // namespace

Tile choose_tile(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns, int element_bytes,
                 int tile_rows) {
  const int lanes = capabilities.lanes(element_bytes);
  // One register for each value of the operand with fewer of them in the tile, one for the other, one for a product
  // that is yet to be added; the rest accumulate.
  const int registers = capabilities.vector_registers - (fused ? 0 : 1);
  const int most_rows = capabilities.wasm ? 6 : 12;
  const int most_vectors = 8;
  const int64_t vectors_needed = std::max<int64_t>(1, (columns + lanes - 1) / lanes);
  Tile best;
  best.lanes = lanes;
  double best_rate = -1;
  const int first_rows = tile_rows > 0 ? tile_rows : 1;
  const int64_t last_rows = tile_rows > 0 ? tile_rows : std::min<int64_t>(most_rows, std::max<int64_t>(rows, 1));
  for (int row_count = first_rows; row_count <= last_rows; row_count++)
    for (int vector_count = 1; vector_count <= std::min<int64_t>(most_vectors, vectors_needed); vector_count++) {
      if (row_count * vector_count + std::min(row_count, vector_count) + 1 > registers) continue;
      const double rate = issue_rate(row_count, vector_count) * useful_share(std::max<int64_t>(rows, 1), row_count) *
                          useful_share(vectors_needed, vector_count);
      if (rate > best_rate * 1.0001) {
        best_rate = rate;
        best.rows = row_count;
        best.vectors = vector_count;
      }
    }
  return best;
}

}  // namespace tandem
