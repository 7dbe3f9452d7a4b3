#pragma once

#include <stdexcept>
#include <utility>

#include "core/base/error.h"

namespace tandem::testing {

/// The result, or std::runtime_error with the engine's message.
template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

}  // namespace tandem::testing
