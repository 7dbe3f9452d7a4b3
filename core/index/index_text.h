#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/index/index.h"

namespace tandem {

/// Reads what `Index::text` writes: numbers, leaves, `+ - * / %` with the usual binding (`/` and `%` round down),
/// parentheses, `min(a, b, ...)` and `max(a, b, ...)`.
///
/// `leaf_of` gives the leaf for a name as it stands in the text ("t", "i0" for a loop, "v3" for a value, "lane"); a
/// variable whose name isn't a plain word, or looks like another leaf, stands in backquotes and is looked up with them.
/// Errors: kInvalidFormat with the position, for bad syntax, an unknown name, a divisor that is not positive or a
/// number of more than 64 bits.
Result<Index> parse_index(std::string_view text,
                          const std::function<std::optional<Index>(std::string_view name)>& leaf_of);
/// The same with the leaves that may occur.
Result<Index> parse_index(std::string_view text, const std::vector<Index>& leaves);

}  // namespace tandem
