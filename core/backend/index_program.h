#pragma once

#include <cstdint>
#include <vector>

#include "core/index/index.h"

namespace tandem {

/// An index expression over a program's variables, flattened so that a step can evaluate it without allocating or
/// looking anything up.
class IndexProgram {
 public:
  IndexProgram() = default;
  /// `variables` are the kVariable leaves in the order of the values given to `evaluate`. Throws InternalError when
  /// another leaf occurs.
  IndexProgram(const Index& index, const std::vector<Index>& variables);

  int64_t evaluate(const int64_t* variables) const noexcept {
    return steps_.empty() ? constant_ : evaluate_steps(variables);
  }

 private:
  enum class Kind : uint8_t { kConstant, kVariable, kAdd, kMultiply, kFloorDiv, kMod, kMin, kMax };
  /// One step of a stack machine.
  struct Step {
    Kind kind;
    int64_t operand;
  };
  static constexpr int kMaxDepth = 64;

  void flatten(const Index& index, const std::vector<Index>& variables, int depth);
  void push(const Step& step, int depth);
  void join(const std::vector<Index>& operands, Kind kind, const std::vector<Index>& variables, int depth);
  int64_t evaluate_steps(const int64_t* variables) const noexcept;

  std::vector<Step> steps_;
  int64_t constant_ = 0;
};

}  // namespace tandem
