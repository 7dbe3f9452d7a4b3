#pragma once

#include <string>
#include <string_view>

#include "core/base/text.h"

namespace tandem {

/// "1 byte", "2 bytes": a number with its noun, which takes an s.
template <typename Number>
std::string counted(Number n, std::string_view noun) {
  return concat(n, " ", noun, n == Number{1} ? "" : "s");
}

}  // namespace tandem
