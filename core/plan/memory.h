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
  static constexpr int64_t kTemporary = -1;
  std::vector<int64_t> offsets;    ///< Bytes from the arena's start per slot; kTemporary: only needed while preparing.
  int64_t arena_bytes = 0;         ///< Everything that lives as long as the plan.
  int64_t temporary_bytes = 0;     ///< Constants that only prepare calls read; given back afterwards.
  int64_t intermediate_bytes = 0;  ///< Part of the arena that step calls share by lifetime.
  int64_t unshared_bytes = 0;      ///< What the intermediates would need side by side.
};

/// Gives every slot a place in one arena. Intermediates whose lifetimes (first to last step call that touches them)
/// don't meet share memory: largest first, each at the lowest offset that is free for its whole life.
MemoryLayout plan_memory(const Program& program);

}  // namespace tandem
