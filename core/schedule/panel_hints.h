#pragma once

#include <optional>

#include "core/schedule/pack.h"
#include "core/schedule/program_builder.h"
#include "core/schedule/tile.h"

namespace tandem {

/// What a tile of rows asks for while it computes: what it needs itself a few steps later, and the first tiles of a
/// panel the panel after it, a cache line at each step of their sums. Otherwise the first tile of every panel waits for
/// memory.
class PanelHints {
 public:
  /// For the tile of this number in a panel, whose sums have so many steps. Nothing when the operand isn't far away.
  static std::optional<PanelHints> find(const ProgramBuilder& program, ValueLowerer& lowerer,
                                        const PackedOperand& operand, const Tile& tile, int64_t steps,
                                        const Index& panel, const Index& number);

  /// The hints of one step of the tile's sums.
  void ask(KernelBuilder& builder, const Index& step) const;

 private:
  uint32_t buffer_ = 0;
  int64_t width_ = 0;
  int64_t line_ = 0;  ///< Elements of a cache line.
  Index in_panel_;    ///< What the first step asks for within the panel: a place in the packed buffer, in elements.
  Index beyond_;      ///< Its share of the next panel.
};

}  // namespace tandem
