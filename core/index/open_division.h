#pragma once

#include "core/index/index.h"

namespace tandem {

/// Does the expression divide by something that isn't a number? Then it may be computed only where the bounds of the
/// divisor's leaves hold: elsewhere the divisor could be 0.
bool has_open_division(const Index& index);

}  // namespace tandem
