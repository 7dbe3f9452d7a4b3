#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/schedule/contract_axes.h"
#include "core/schedule/program_builder.h"
#include "core/schedule/tile.h"

namespace tandem {

/// Constants of so many bytes are read from beyond the inner caches at every step.
inline constexpr int64_t kFarBytes = 1 << 20;

/// A copy of a contraction's operand in the order in which its kernel reads it: [outer axes][panel][reduced
/// axes][column of the panel], zero beyond the last column. A tile reads one panel, or several that lie side by side.
/// For bf16 dot products a place of the reduced axis holds a pair: its element is an i32 with the bits of two bf16.
struct PackedOperand {
  BufferRef buffer;           ///< Of the smallest dtype that holds the operand, or of pairs.
  DType dtype = DType::kF32;  ///< Of the operand: what is loaded is cast to it.
  std::vector<size_t>
      axes;          ///< Axes of the iteration space that the operand depends on, without the vector axis; outer first.
  size_t outer = 0;  ///< How many of them are output axes.
  int panels = 1;    ///< Panels of a tile.
  int width = 1;     ///< Columns of a panel.
  bool pairs = false;

  bool has(size_t axis) const { return std::count(axes.begin(), axes.end(), axis) > 0; }

  /// Subscript in the buffer of the element at `index` of the iteration space (its reduced axis counts pairs, when
  /// there are pairs), column `column` of tile `panel`.
  std::vector<Index> index(const std::vector<Index>& index, const Index& panel, const Index& column) const;
};

/// Name of the slots that hold packed operands of a group, for people.
std::string packed_operand_name(const Node& root);

/// Adds the slot and the kernel call that pack an operand of a group: once at prepare for constants, at every step
/// otherwise. `pairs`: of the last axis of the space, the only reduced one, which has an even size.
PackedOperand pack_operand(ProgramBuilder& program, const Group& group, const ContractOperand& operand,
                           const Shape& space, size_t rank, size_t vector_axis, const Tile& tile, bool pairs);

}  // namespace tandem
