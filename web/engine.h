#pragma once

#include <memory>

#include "core/backend/backend.h"
#include "core/jit/prepare_config.h"

namespace tandem::web {

/// The one backend of this engine.
const std::shared_ptr<Backend>& engine_backend();

/// Capabilities by name, "" for all that the host has. Throws TensorError (InvalidArgument) for a name that is no Wasm
/// instruction set.
Capabilities capabilities_for(const char* isa);

/// Bytes that a new plan may take: what the memory may still grow by. Set by `tandem_start`.
int64_t plan_memory_limit();

/// How plans are made: bits of a number.
enum Mode : int { kReproducible = 1, kTune = 2 };

/// How a wrapper is prepared in this engine; `mode`: bits of Mode. Throws as `capabilities_for`.
PrepareConfig prepare_config(const char* isa, int mode);

}  // namespace tandem::web
