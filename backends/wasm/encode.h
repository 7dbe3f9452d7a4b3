#pragma once

#include <cstdint>
#include <vector>

#include "wasm.h"

namespace tandem::wasm_emitter {

/// The module's bytes, the same on every host. Throws TensorError (kUnsupported) if a function exceeds what engines
/// allow.
std::vector<uint8_t> encode(wasm::Module& module, bool names);

}  // namespace tandem::wasm_emitter
