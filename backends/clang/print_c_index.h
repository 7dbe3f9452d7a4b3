#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backends/clang/c_prelude.h"
#include "core/index/index.h"
#include "core/kernel/kernel.h"

namespace tandem {

/// Prints index expressions as C arithmetic on `long`. Quotients, remainders, minima and maxima that a kernel uses more
/// than once become variables `x<number>`, declared where they are first met and known to the end of that block:
/// subscripts of neighbours repeat them, and the compiler would parse, look at and join every copy.
class CIndexPrinter {
 public:
  CIndexPrinter(CPrelude& prelude, const Kernel& kernel);

  /// The expression; in parentheses when it is a sum and `inside` says that an operator surrounds it. What
  /// `take_declarations` gives next must stand before it.
  std::string print(const Index& index, bool inside = false);
  /// Declarations of the variables that were met since the last call, in order.
  std::vector<std::string> take_declarations();

  void open_block() { blocks_.emplace_back(); }
  void close_block();

 private:
  void count(const Index& index);
  std::string leaf(const Index& index);
  std::string sum(const Index& index);
  std::string division(const Index& index);
  std::string extremum(const Index& index);
  std::string operation(const Index& index);

  CPrelude& prelude_;
  const std::vector<Index>& variables_;
  struct Hash {
    size_t operator()(const Index& index) const { return index.hash(); }
  };
  std::unordered_map<Index, int, Hash> uses_;  ///< Of what may become a variable.
  std::unordered_map<Index, std::string, Hash> names_;
  std::vector<std::vector<Index>> blocks_ = {{}};  ///< What has a name since a block was opened.
  std::vector<std::string> declarations_;
  int next_ = 0;
};

/// A whole number as a C literal of type int or long.
std::string integer_literal(int64_t value);

}  // namespace tandem
