#pragma once

#include <memory>

#include "core/backend/backend.h"

namespace tandem {

/// Makes the backend of the engine in the browser: emits modules and instantiates them on the engine's own memory, so
/// that kernels work on the engine's pointers. A step is one call into the module.
///
/// A trap in a kernel breaks the backend for good: the run returns false, and every later run and compile says why.
/// Errors of JavaScript come back as kDevice with its text: no memory, or a module of more than 8 MB, which Chromium
/// compiles in workers only.
std::unique_ptr<Backend> make_engine_backend();

/// Modules that are loaded at present, by all backends of this engine; for tests of what destroying gives back.
int loaded_module_count();

}  // namespace tandem
