#pragma once

#include "core/base/error.h"

// A field with another wire type than the schema says is damage in the file, not a bug of the program: it must give an
// error and neither abort (protozero's default in debug builds) nor be read as something else (its default otherwise).
#define protozero_assert(condition) \
  ((condition) ? (void)0            \
               : throw ::tandem::TensorError("a field has the wrong wire type", ::tandem::ErrorCode::kInvalidFormat))

#include <protozero/pbf_reader.hpp>  // IWYU pragma: export

namespace tandem {

/// The value of a bool field. protozero's get_bool() looks at its first byte before it looks for the end of the data.
inline bool get_flag(protozero::pbf_reader& message) { return message.get_uint64() != 0; }

}  // namespace tandem
