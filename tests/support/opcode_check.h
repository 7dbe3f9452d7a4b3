#pragma once

#include "core/backend/backend.h"

namespace tandem::test {

/// Runs every opcode of the kernel IR that the capabilities have on all pairs of special values, at a number of lanes,
/// and compares with independent expectations. Failures are GoogleTest's.
void check_opcodes(Backend& machine, const Capabilities& capabilities, int lanes);

}  // namespace tandem::test
