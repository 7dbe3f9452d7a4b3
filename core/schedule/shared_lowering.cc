#include "core/schedule/shared_lowering.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/schedule/pack.h"
#include "core/schedule/work.h"

namespace tandem {

std::optional<BufferRef> SharedLowering::repeat(const Group& group, const std::string& name) {
  key_ = keys_.key_of(group);
  Program& program = program_.program;
  const auto found = lowered_.find(key_);
  if (found == lowered_.end() || finds_packed(found->second)) {
    origin_ = program_.module.graph->node(group.root).origin;
    first_slot_ = program.slots.size();
    first_prepare_ = program.prepare_calls.size();
    first_step_ = program.step_calls.size();
    return std::nullopt;
  }
  const Lowered& known = found->second;
  const Node& root = program_.module.graph->node(group.root);
  std::vector<uint32_t> slots = key_.slots;
  for (size_t i = 0; i < known.slots.size(); i++)
    slots.push_back(program_.add_slot(known.slots[i].role, known.slots[i].dtype, known.elements[i],
                                      i == 0 ? name : known.purpose[i] + root.origin));
  for (const Call& kept : known.calls) {
    KernelCall call = kept.call;
    for (uint32_t& slot : call.slots) slot = slots[slot];
    // The last one is the group's own; those before it pack its operands.
    call.origin = &kept == &known.calls.back() ? origin_of(program_, group) : root.origin;
    program_.repeat_call(kept.phase, std::move(call), kept.work);
  }
  repeated_++;
  BufferRef target = known.target;
  target.slot = slots[key_.slots.size()];
  return target;
}

void SharedLowering::keep(const BufferRef& target) {
  const Program& program = program_.program;
  Lowered lowered{target, {}, {}, {}, {}};
  lowered.slots.assign(program.slots.begin() + static_cast<std::ptrdiff_t>(first_slot_), program.slots.end());
  lowered.elements.assign(program_.slot_elements.begin() + static_cast<std::ptrdiff_t>(first_slot_),
                          program_.slot_elements.end());
  for (const Slot& slot : lowered.slots)
    lowered.purpose.push_back(slot.name.substr(0, slot.name.size() - std::min(slot.name.size(), origin_.size())));
  TANDEM_CHECK(target.slot == first_slot_, "a lowering makes the slot of the group's root first");
  bool known = true;
  for (size_t i = first_prepare_; i < program.prepare_calls.size(); i++)
    lowered.calls.push_back({Phase::kPrepare, in_terms_of_key(program.prepare_calls[i], known), {}});
  for (size_t i = first_step_; i < program.step_calls.size(); i++)
    lowered.calls.push_back({Phase::kStep, in_terms_of_key(program.step_calls[i], known), program_.step_work[i]});
  // An operand that another group had packed already is nothing that the next group has.
  if (known) lowered_.emplace(std::move(key_), std::move(lowered));
}

/// Has an operand that the group would pack been packed for another one? Then lowering it anew shares that copy.
bool SharedLowering::finds_packed(const Lowered& lowered) const {
  const auto packs_the_same = [&](const KernelCall& call, const KernelCall& other) {
    bool equal = call.kernel == other.kernel;
    for (size_t i = 0; i < call.slots.size() && equal; i++)
      equal = call.slots[i] >= key_.slots.size() || key_.slots[call.slots[i]] == other.slots[i];
    return equal;
  };
  const std::vector<KernelCall>& calls = program_.program.prepare_calls;
  return std::any_of(lowered.calls.begin(), lowered.calls.end(), [&](const Call& own) {
    return own.phase == Phase::kPrepare && std::any_of(calls.begin(), calls.end(), [&](const KernelCall& other) {
             return packs_the_same(own.call, other);
           });
  });
}

/// `known` becomes false when the call uses a slot that neither the key has nor the lowering made.
KernelCall SharedLowering::in_terms_of_key(KernelCall call, bool& known) const {
  for (uint32_t& slot : call.slots) {
    if (slot >= first_slot_) {
      slot = static_cast<uint32_t>(key_.slots.size() + slot - first_slot_);
      continue;
    }
    const auto place = std::find(key_.slots.begin(), key_.slots.end(), slot);
    known &= place != key_.slots.end();
    slot = static_cast<uint32_t>(place - key_.slots.begin());
  }
  return call;
}

}  // namespace tandem
