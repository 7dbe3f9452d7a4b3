#pragma once

#include "core/schedule/program_builder.h"

namespace tandem {

/// Where the model made a group: its reduction or contraction, else its root.
const std::string& origin_of(const ProgramBuilder& builder, const Group& group);

/// What the call of a group does, whose root is not in the builder's buffers yet and will be stored as this dtype.
Work work_of(const ProgramBuilder& builder, const Group& group, DType stored);

}  // namespace tandem
