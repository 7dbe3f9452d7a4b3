#pragma once

#include <string>

#include "core/backend/backend.h"
#include "core/base/error.h"

namespace tandem {

/// The module that `emit_module` writes for the program, as WebAssembly text with the names of kernels and parameters:
/// `$NAME#NUMBER` is a kernel, `$b0`, `$b1` are the addresses of its buffers. Errors as for `emit_module`.
Result<std::string> module_text(const Program& program, const Capabilities& capabilities);

}  // namespace tandem
