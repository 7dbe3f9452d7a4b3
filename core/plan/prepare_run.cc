#include "core/plan/prepare_run.h"

#include <cstring>

namespace tandem {
namespace {

/// The constants are read call by call; what was read is given back when so many bytes have come together.
constexpr int64_t kReadBeforeRelease = int64_t{16} << 20;

class PrepareRun {
 public:
  using Place = MemoryLayout::Place;

  PrepareRun(Schedule& schedule, const MemoryLayout& layout, std::vector<void*>& slots, Executable& executable)
      : schedule_(schedule), layout_(layout), slots_(slots), executable_(executable) {
    for (const Index& variable : schedule.program.variables) values_.push_back(variable.upper());
  }

  /// `scratch`: where scratch memory begins. False: the backend failed.
  bool run(std::byte* scratch) {
    find_uses();
    for (size_t slot = 0; slot < slots_.size(); slot++)
      if (layout_.places[slot] == Place::kScratch) slots_[slot] = scratch + layout_.offsets[slot];
    for (ScheduledConstant& constant : schedule_.constants)
      if (layout_.places[constant.slot] == Place::kArena) copy(constant);
    const size_t calls = schedule_.program.prepare_calls.size();
    for (size_t call = 0; call < calls; call++) {
      if (!begin_call(call)) return false;
      for (const ScheduledConstant* constant : ending_[call]) unreleased_ += static_cast<int64_t>(constant->data->size);
      if (unreleased_ >= kReadBeforeRelease && !run_until(call + 1)) return false;
    }
    return run_until(calls);
  }

 private:
  void find_uses() {
    std::vector<ScheduledConstant*> of_slot(slots_.size(), nullptr);
    for (ScheduledConstant& constant : schedule_.constants)
      if (layout_.places[constant.slot] != Place::kArena) of_slot[constant.slot] = &constant;
    const std::vector<KernelCall>& calls = schedule_.program.prepare_calls;
    beginning_.resize(calls.size());
    ending_.resize(calls.size());
    std::vector<size_t> last(slots_.size(), 0);
    std::vector<bool> seen(slots_.size(), false);
    for (size_t call = 0; call < calls.size(); call++)
      for (const uint32_t slot : calls[call].slots) {
        if (!of_slot[slot]) continue;
        if (!seen[slot]) beginning_[call].push_back(of_slot[slot]);
        seen[slot] = true;
        last[slot] = call;
      }
    for (size_t slot = 0; slot < slots_.size(); slot++)
      if (seen[slot]) ending_[last[slot]].push_back(of_slot[slot]);
  }

  bool begin_call(size_t call) {
    for (ScheduledConstant* constant : beginning_[call]) {
      if (layout_.places[constant->slot] == Place::kSource) {
        slots_[constant->slot] = const_cast<std::byte*>(constant->data->bytes);
        continue;
      }
      // Its place may still be another's.
      if (!run_until(call)) return false;
      std::memcpy(slots_[constant->slot], constant->data->bytes, constant->data->size);
    }
    return true;
  }

  bool run_until(size_t end) {
    const size_t first = done_;
    if (end == first) return true;
    done_ = end;
    const bool good = executable_.run(Phase::kPrepare, slots_.data(), values_.data(), first, end);
    for (size_t call = first; call < end; call++)
      for (ScheduledConstant* constant : ending_[call]) drop(*constant);
    unreleased_ = 0;
    return good;
  }

  void copy(ScheduledConstant& constant) {
    std::memcpy(slots_[constant.slot], constant.data->bytes, constant.data->size);
    drop(constant);
  }

  static void drop(ScheduledConstant& constant) {
    if (constant.data->release) constant.data->release();
    constant.data.reset();
  }

  Schedule& schedule_;
  const MemoryLayout& layout_;
  std::vector<void*>& slots_;
  Executable& executable_;
  std::vector<int64_t> values_;
  std::vector<std::vector<ScheduledConstant*>> beginning_, ending_;  ///< Per call.
  size_t done_ = 0;                                                  ///< Calls that have run.
  int64_t unreleased_ = 0;
};

}  // namespace

bool run_prepare_calls(Schedule& schedule, const MemoryLayout& layout, std::vector<void*>& slots, std::byte* scratch,
                       Executable& executable) {
  return PrepareRun(schedule, layout, slots, executable).run(scratch);
}

}  // namespace tandem
