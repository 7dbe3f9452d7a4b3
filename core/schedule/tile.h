#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/index/index.h"
#include "core/kernel/capabilities.h"

namespace tandem {

/// A register tile of a contraction: `rows` outputs along one axis times `vectors` vectors along another are
/// accumulated in registers at once.
struct Tile {
  int rows = 1;
  int vectors = 1;
  int lanes = 4;
  int width() const { return vectors * lanes; }
  /// Rows of the smaller tile, for what whole tiles leave over of a number of rows that isn't constant.
  int small_rows() const { return (rows + 1) / 2; }

  friend bool operator==(const Tile& a, const Tile& b) {
    return a.rows == b.rows && a.vectors == b.vectors && a.lanes == b.lanes;
  }
};
/// "8x48".
std::string text(const Tile& tile);

/// A vector of a tile's columns.
struct TileVector {
  Index first;  ///< Number of its first column within the tile.
  int lanes = 1;
  std::optional<Index> count = std::nullopt;  ///< So many lanes are columns, where that aren't all.
};
/// The vectors of a tile of which so many columns are live: a number, or an expression for what a panel may hold.
std::vector<TileVector> vectors_of_tile(const Tile& tile, const Index& columns);

/// Tiles by the key of a contraction (contraction_key in contract_axes.h).
using TileTable = std::unordered_map<std::string, Tile>;

/// Chooses a tile for `rows` x `columns` outputs of elements with `element_bytes` (in registers), from the number and
/// width of the vector registers (`fused`: the product is added by the same instruction): the one whose multiply-adds,
/// loads and broadcasts take the least time, smaller tiles for the last rows and columns included. `tile_rows`: the
/// number of the tile's rows, when that is decided already; else 0.
Tile choose_tile(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns, int element_bytes,
                 int tile_rows = 0);

/// The tiles that are worth measuring, at most kMostCandidates: what `choose_tile` chooses, then others whose registers
/// fit as well, the most promising first.
std::vector<Tile> candidate_tiles(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns,
                                  int element_bytes);
inline constexpr size_t kMostCandidates = 8;

/// The candidate that a text like "8x48" names; nothing when none of them is that.
std::optional<Tile> tile_named(std::string_view name, const std::vector<Tile>& candidates);

}  // namespace tandem
