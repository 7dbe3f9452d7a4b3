#pragma once

#include <array>
#include <optional>
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
};

/// Decides the axes of a contraction group. Without a target, its layout may follow the decision.
ContractAxes choose_contract_axes(const ProgramBuilder& program, const Group& group, const BufferRef* target);

/// Axes of the root, outermost first, so that the vector axis lies consecutively.
std::vector<size_t> contract_axis_order(const ProgramBuilder& program, const Group& group);

}  // namespace tandem
