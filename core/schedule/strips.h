#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/schedule/program_builder.h"

namespace tandem {

/// Three groups of which each is read by the next one only: a contraction, a map over its rows that reduces them (a
/// softmax), and a contraction that sums along these rows. That is attention. One kernel does all three for the rows
/// of one register tile: what passes between them is a strip of so many rows, which stays in the cache, and the matrix
/// of scores never exists. Each number is computed as it is without strips, with the same bits.
struct StripChain {
  size_t scores = 0, weights = 0;  ///< Numbers of the groups before the result.
};

/// For each group the chain whose result it is; whether strips serve it, join_strips decides.
std::vector<std::optional<StripChain>> find_strip_chains(const GraphModule& module, const std::vector<Group>& groups);

/// The group of the result, with the other two as its strips; nothing when the loops don't fit together, or when the
/// strips are too long for the cache. What the groups read must have its buffers. `layout` gives the buffer of the
/// result, without a slot.
std::optional<Group> join_strips(ProgramBuilder& program, const Group& scores, const Group& weights,
                                 const Group& result, const std::function<BufferRef(const Group&)>& layout);

/// Lowers a group with strips.
void lower_strips(ProgramBuilder& program, const Group& group, const BufferRef& target);

}  // namespace tandem
