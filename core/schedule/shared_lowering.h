#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/schedule/group_key.h"

namespace tandem {

/// Lowers equal groups once: the layers of a deep model are the same kernels over other buffers. What a lowering added
/// to the program is kept by the group's key and added again, with the slots of the next group that has this key.
class SharedLowering {
 public:
  explicit SharedLowering(ProgramBuilder& program) : program_(program), keys_(program) {}

  /// The group's calls from an equal group that was lowered before, and where its root's elements go; nothing when
  /// there was none: then `lower`, and `keep` what that made. `name`: of the slot of the root.
  std::optional<BufferRef> repeat(const Group& group, const std::string& name);
  /// What was lowered since `repeat` found nothing.
  void keep(const BufferRef& target);

  size_t repeated() const { return repeated_; }

 private:
  /// A call whose slots are numbers in the key's, or behind them in those that the lowering made.
  struct Call {
    Phase phase;
    KernelCall call;
    Work work;  ///< Of a step call.
  };
  struct Lowered {
    BufferRef target;  ///< Its slot is the first of `slots`.
    std::vector<Slot> slots;
    std::vector<int64_t> elements;     ///< Per slot.
    std::vector<std::string> purpose;  ///< Per slot: its name without the group's origin.
    std::vector<Call> calls;
  };

  bool finds_packed(const Lowered& lowered) const;
  KernelCall in_terms_of_key(KernelCall call, bool& known) const;

  ProgramBuilder& program_;
  GroupKeys keys_;
  std::unordered_map<GroupKey, Lowered, GroupKeyHash> lowered_;
  size_t repeated_ = 0;
  // Where the program stood when a group was found to be new.
  GroupKey key_;
  std::string origin_;
  size_t first_slot_ = 0, first_prepare_ = 0, first_step_ = 0;
};

}  // namespace tandem
