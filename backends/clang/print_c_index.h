#pragma once

#include <string>
#include <vector>

#include "backends/clang/c_prelude.h"
#include "core/index/index.h"

namespace tandem {

/// Prints index expressions as C arithmetic on `long`.
class CIndexPrinter {
 public:
  CIndexPrinter(CPrelude& prelude, const std::vector<Index>& variables) : prelude_(prelude), variables_(variables) {}

  /// The expression; in parentheses when it is a sum and `inside` says that an operator surrounds it.
  std::string print(const Index& index, bool inside = false);

 private:
  std::string leaf(const Index& index);
  std::string sum(const Index& index);
  std::string division(const Index& index);

  CPrelude& prelude_;
  const std::vector<Index>& variables_;
};

/// A whole number as a C literal of type int or long.
std::string integer_literal(int64_t value);

}  // namespace tandem
