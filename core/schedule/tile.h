#pragma once

#include <cstdint>
#include <string>

#include "core/kernel/capabilities.h"

namespace tandem {

/// A register tile of a contraction: `rows` outputs along one axis times `vectors` vectors along another are
/// accumulated in registers at once.
struct Tile {
  int rows = 1;
  int vectors = 1;
  int lanes = 4;
  int width() const { return vectors * lanes; }
};
/// "8x48".
std::string text(const Tile& tile);

/// Chooses a tile for `rows` x `columns` outputs of elements with `element_bytes` (in registers), from the number and
/// width of the vector registers (`fused`: the product is added by the same instruction): as many accumulators as fit
/// beside the operands, in a shape that divides the output well. `tile_rows`: the number of the tile's rows, when that
/// is decided already; else 0.
Tile choose_tile(const Capabilities& capabilities, bool fused, int64_t rows, int64_t columns, int element_bytes,
                 int tile_rows = 0);

}  // namespace tandem
