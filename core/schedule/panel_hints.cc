#include "core/schedule/panel_hints.h"

namespace tandem {
namespace {

constexpr int64_t kCacheLineBytes = 64;
/// So many steps of a sum take longer than the second-level cache needs to answer.
constexpr int64_t kStepsAhead = 12;

}  // namespace

std::optional<PanelHints> PanelHints::find(const ProgramBuilder& program, ValueLowerer& lowerer,
                                           const PackedOperand& operand, const Tile& tile, int64_t steps,
                                           const Index& panel, const Index& number) {
  if (operand.outer > 0 || operand.panels > 1) return std::nullopt;
  const BufferRef& buffer = operand.buffer;
  const int64_t element = static_cast<int64_t>(size_of(buffer.dtype)), line = kCacheLineBytes / element;
  const int64_t all = program.slot_elements[buffer.slot], of_panel = steps * tile.width();
  if (all * element < kFarBytes || steps <= kStepsAhead || !buffer.strides[0].is(of_panel)) return std::nullopt;
  // Nothing follows the last panel: there the hints stay inside the buffer.
  KernelBuilder& builder = lowerer.builder();
  const auto at_most = [&](const Index& place, int64_t most) {
    return builder.as_index(builder.index_value(Scalar::kI64, min(place, most)), 0, most);
  };
  const int64_t tiles = (tile.width() + line - 1) / line;
  PanelHints hints;
  hints.buffer_ = lowerer.buffer_number(buffer.slot, buffer.dtype, Access::kRead);
  hints.width_ = tile.width();
  hints.line_ = line;
  hints.in_panel_ = at_most(panel * of_panel + kStepsAhead * tile.width(), all - of_panel);
  hints.beyond_ = at_most((panel + 1) * of_panel + min(number, tiles) * (steps * line), all - steps * line);
  return hints;
}

void PanelHints::ask(KernelBuilder& builder, const Index& step) const {
  for (int64_t column = 0; column < width_; column += line_)
    builder.prefetch(buffer_, in_panel_ + step * width_ + column, 1);
  builder.prefetch(buffer_, beyond_ + step * line_, 2);
}

}  // namespace tandem
