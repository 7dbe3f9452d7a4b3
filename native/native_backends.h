#pragma once

#include <cstdint>

namespace tandem {

/// Offers this program's backends: "native" (the default), "wasm", "interpreter"; and tells how much memory a plan may
/// need. Called by <tandem/tandem.h>; calling it again changes nothing.
void register_native_backends();

/// Bytes that this process may still use: the smallest of what is available on the machine and what the control groups
/// leave. 0 when neither can be read.
int64_t native_available_memory();

}  // namespace tandem
