#pragma once

#include <cstdint>
#include <vector>

#include "core/backend/backend.h"

namespace tandem {

/// Alignment of every buffer, in bytes: a cache line, and the widest vector register.
inline constexpr int64_t kBufferAlignment = 64;
constexpr int64_t aligned_size(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// Where each slot of a program lies.
struct MemoryLayout {
  enum class Place : uint8_t {
    kArena,    ///< Lives as long as the plan.
    kScratch,  ///< Only needed while preparing; shared by lifetime, given back afterwards.
    kSource,   ///< A constant that only prepare calls read: where the model keeps it.
  };
  std::vector<Place> places;       ///< Per slot.
  std::vector<int64_t> offsets;    ///< Bytes from the start of the slot's place; 0 for kSource.
  int64_t arena_bytes = 0;         ///< Everything that lives as long as the plan.
  int64_t scratch_bytes = 0;       ///< The most that prepare calls need beside it at one time.
  int64_t intermediate_bytes = 0;  ///< Part of the arena that step calls share by lifetime.
  int64_t unshared_bytes = 0;      ///< What the intermediates would need side by side.
};

/// Gives every slot a place in one arena, or in the scratch memory of prepare. Intermediates whose lifetimes (first to
/// last call that touches them) don't meet share memory: largest first, each at the lowest offset that is free for its
/// whole life. `in_source[slot]`: a constant that prepare calls may read where it is; empty: none.
MemoryLayout plan_memory(const Program& program, const std::vector<bool>& in_source = {});

}  // namespace tandem
