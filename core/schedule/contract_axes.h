#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/program_builder.h"
#include "core/schedule/tile.h"

namespace tandem {

/// One operand of a contraction: along which axes of the iteration space (outputs, then reduced) it changes, and how.
struct ContractOperand {
  NodeId node = kNoNode;
  bool constant = false;                     ///< Known at prepare: worth repacking once.
  std::vector<bool> depends;                 ///< Per axis.
  std::vector<std::optional<int64_t>> step;  ///< Elements between neighbours along an axis; nothing: not linear.
};

/// Which axis of a contraction becomes what.
struct ContractAxes {
  std::array<ContractOperand, 2> operands;
  std::optional<size_t> vector_axis;  ///< Runs through the lanes; none when the result has one element.
  std::optional<size_t> row_axis;     ///< Repeats the vector operand in the register tile.
  std::vector<size_t> outer;          ///< The other output axes, outermost first.
  bool fused = false;                 ///< Are products added by one instruction?
  Tile tile;
  std::string key;               ///< contraction_key, when there is a table of tiles; empty for one without vectors.
  std::vector<Tile> candidates;  ///< With a key: what `tile` may be; the first is what it is without a table.
};

/// What the speed of a contraction's tile depends on beside machine and numerics, as text: sizes and dtypes, how the
/// operands lie, which axes are rows, columns and outer, and which of them end early. `target`: where the result goes.
std::string contraction_key(const ProgramBuilder& program, const Group& group, const ContractAxes& axes,
                            const BufferRef& target);

/// Decides the axes of a contraction group. Without a target, its layout may follow the decision.
ContractAxes choose_contract_axes(const ProgramBuilder& program, const Group& group, const BufferRef* target);

/// Axes of the root, outermost first, so that the vector axis lies consecutively.
std::vector<size_t> contract_axis_order(const ProgramBuilder& program, const Group& group);

}  // namespace tandem
