#include "core/plan/memory.h"

#include <algorithm>

namespace tandem {
namespace {

struct Interval {
  uint32_t slot;
  int64_t bytes;
  size_t first;
  size_t last;
  int64_t offset = 0;
};

std::vector<Interval> lifetimes(const Program& program) {
  std::vector<Interval> intervals;
  std::vector<int> number(program.slots.size(), -1);
  for (size_t call = 0; call < program.step_calls.size(); call++)
    for (uint32_t slot : program.step_calls[call].slots) {
      if (program.slots[slot].role != SlotRole::kIntermediate) continue;
      if (number[slot] < 0) {
        number[slot] = static_cast<int>(intervals.size());
        intervals.push_back({slot, aligned_size(program.slots[slot].bytes), call, call});
      }
      intervals[number[slot]].last = call;
    }
  return intervals;
}

/// Lowest offset at which the interval meets no placed interval that lives at the same time.
int64_t lowest_free_offset(const Interval& interval, const std::vector<Interval>& placed) {
  std::vector<const Interval*> neighbours;
  for (const Interval& other : placed)
    if (other.first <= interval.last && interval.first <= other.last) neighbours.push_back(&other);
  std::sort(neighbours.begin(), neighbours.end(),
            [](const Interval* a, const Interval* b) { return a->offset < b->offset; });
  int64_t offset = 0;
  for (const Interval* other : neighbours) {
    if (offset + interval.bytes <= other->offset) break;
    offset = std::max(offset, other->offset + other->bytes);
  }
  return offset;
}

}  // namespace

MemoryLayout plan_memory(const Program& program) {
  MemoryLayout layout;
  layout.offsets.assign(program.slots.size(), 0);
  std::vector<bool> stepped(program.slots.size(), false);
  for (const KernelCall& call : program.step_calls)
    for (uint32_t slot : call.slots) stepped[slot] = true;
  int64_t end = 0;
  for (size_t slot = 0; slot < program.slots.size(); slot++) {
    const Slot& buffer = program.slots[slot];
    if (buffer.role == SlotRole::kIntermediate) continue;
    const int64_t bytes = aligned_size(buffer.bytes);
    const bool only_prepare =
        !stepped[slot] && (buffer.role == SlotRole::kConstant || buffer.role == SlotRole::kPacked);
    if (only_prepare) {
      layout.offsets[slot] = MemoryLayout::kTemporary;
      layout.temporary_bytes += bytes;
    } else {
      layout.offsets[slot] = end;
      end += bytes;
    }
  }
  std::vector<Interval> intervals = lifetimes(program);
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.slot < b.slot;
  });
  std::vector<Interval> placed;
  for (Interval interval : intervals) {
    interval.offset = lowest_free_offset(interval, placed);
    layout.offsets[interval.slot] = end + interval.offset;
    layout.intermediate_bytes = std::max(layout.intermediate_bytes, interval.offset + interval.bytes);
    layout.unshared_bytes += interval.bytes;
    placed.push_back(interval);
  }
  layout.arena_bytes = end + layout.intermediate_bytes;
  return layout;
}

}  // namespace tandem
