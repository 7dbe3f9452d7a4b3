#pragma once

// Internal to the emitter, like code.h: what the module is before it becomes bytes or text.

#include <exception>

#include "core/backend/backend.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "wasm.h"

namespace tandem::wasm_emitter {

/// Fills an empty module with a program. `names`: also name the parameters of its functions. Throws TensorError for
/// what WebAssembly can't hold.
void build_module(wasm::Module& module, const Program& program, const Capabilities& capabilities, bool names);

/// Runs a part of the emitter; what it throws becomes the error of the Result.
template <typename Function>
auto guarded(const Function& function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const TensorError& error) {
    return tl::unexpected<JitError>(error.to_error());
  } catch (const std::exception& error) {
    return fail(ErrorCode::kDevice, concat("the WebAssembly emitter failed: ", error.what()));
  }
}

}  // namespace tandem::wasm_emitter
