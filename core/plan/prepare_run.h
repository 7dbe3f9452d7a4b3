#pragma once

#include <vector>

#include "core/plan/memory.h"
#include "core/schedule/schedule.h"

namespace tandem {

/// Runs the prepare calls of a schedule in order, with every constant in its place for as long as calls read it and no
/// longer: what the arena or scratch memory holds is copied there, what calls read where the model keeps it is given
/// back (ConstantData::release) once it has been read. `slots` has the addresses of everything in the arena and gets
/// those of the rest; `scratch` is where scratch memory begins. False: the backend failed.
bool run_prepare_calls(Schedule& schedule, const MemoryLayout& layout, std::vector<void*>& slots, std::byte* scratch,
                       Executable& executable);

}  // namespace tandem
