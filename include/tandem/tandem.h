#pragma once

/// The public interface: tensors, wrappers, recurrent steps, configuration, errors.

#include "core/base/error.h"
#include "core/jit/recurrent.h"
#include "core/jit/wrapper.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"

#ifndef __EMSCRIPTEN__
#include "native/native_backends.h"

namespace tandem::registration {
/// Whoever includes this header can prepare by backend names.
inline const bool done = (register_native_backends(), true);
}  // namespace tandem::registration
#endif
