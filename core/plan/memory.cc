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

/// Lifetimes of the wanted slots over a list of calls.
std::vector<Interval> lifetimes(const Program& program, const std::vector<KernelCall>& calls,
                                const std::vector<bool>& wanted) {
  std::vector<Interval> intervals;
  std::vector<int> number(program.slots.size(), -1);
  for (size_t call = 0; call < calls.size(); call++)
    for (uint32_t slot : calls[call].slots) {
      if (!wanted[slot]) continue;
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

/// Places the intervals from `start` on and returns how many bytes they need.
int64_t place(std::vector<Interval> intervals, int64_t start, std::vector<int64_t>& offsets) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.slot < b.slot;
  });
  int64_t need = 0;
  std::vector<Interval> placed;
  for (Interval interval : intervals) {
    interval.offset = lowest_free_offset(interval, placed);
    offsets[interval.slot] = start + interval.offset;
    need = std::max(need, interval.offset + interval.bytes);
    placed.push_back(interval);
  }
  return need;
}

}  // namespace

MemoryLayout plan_memory(const Program& program, const std::vector<bool>& in_source) {
  using Place = MemoryLayout::Place;
  const size_t count = program.slots.size();
  MemoryLayout layout;
  layout.offsets.assign(count, 0);
  layout.places.assign(count, Place::kArena);
  std::vector<bool> stepped(count, false), intermediate(count, false), scratch(count, false);
  for (const KernelCall& call : program.step_calls)
    for (uint32_t slot : call.slots) stepped[slot] = true;
  for (size_t slot = 0; slot < count; slot++) {
    const Slot& buffer = program.slots[slot];
    const bool weight = buffer.role == SlotRole::kConstant || buffer.role == SlotRole::kPacked;
    intermediate[slot] = buffer.role == SlotRole::kIntermediate;
    if (intermediate[slot]) continue;
    if (weight && !stepped[slot]) {
      scratch[slot] = in_source.empty() || !in_source[slot];
      layout.places[slot] = scratch[slot] ? Place::kScratch : Place::kSource;
      continue;
    }
    layout.offsets[slot] = layout.arena_bytes;
    layout.arena_bytes += aligned_size(buffer.bytes);
  }
  const std::vector<Interval> shared = lifetimes(program, program.step_calls, intermediate);
  for (const Interval& interval : shared) layout.unshared_bytes += interval.bytes;
  layout.intermediate_bytes = place(shared, layout.arena_bytes, layout.offsets);
  layout.arena_bytes += layout.intermediate_bytes;
  layout.scratch_bytes = place(lifetimes(program, program.prepare_calls, scratch), 0, layout.offsets);
  return layout;
}

}  // namespace tandem
