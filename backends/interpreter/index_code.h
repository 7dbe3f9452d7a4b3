#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/index/index.h"

namespace tandem {

/// An index expression as steps over an array of numbers, in which leaves, constants and results have fixed places.
struct IndexExpression {
  uint32_t first = 0, last = 0;  ///< Steps to execute.
  uint32_t result = 0;           ///< The number that holds the value afterwards.
};

/// All index expressions of a kernel or a call.
class IndexCode {
 public:
  /// Reserves a number.
  uint32_t add_number(int64_t initial = 0);
  /// The number of a constant.
  uint32_t add_constant(int64_t value);
  /// Translates an expression; `leaf_number` gives the number of each leaf. With `check_values` the bounds that value
  /// leaves promise are checked at each evaluation.
  IndexExpression add(const Index& index, const std::function<uint32_t(const Index& leaf)>& leaf_number,
                      bool check_values = false);

  /// The present value; nothing when a promise is broken, which `fault()` then tells.
  bool evaluate(const IndexExpression& expression, int64_t& value) {
    for (uint32_t i = expression.first; i < expression.last; i++)
      if (!execute(steps_[i])) return false;
    value = numbers_[expression.result];
    return true;
  }
  void set(uint32_t number, int64_t value) { numbers_[number] = value; }
  int64_t get(uint32_t number) const { return numbers_[number]; }
  std::string fault() const;

 private:
  enum class Kind : uint8_t { kSum, kProduct, kFloorDiv, kMod, kMin, kMax, kCheck };
  struct Term {
    int64_t coefficient;
    uint32_t number;
  };
  struct Step {
    Kind kind;
    uint32_t destination;
    uint32_t first_term, last_term;
    int64_t offset;  // kSum: the constant part; kCheck: the smallest value.
    int64_t limit;   // kCheck: the largest value.
  };

  uint32_t translate(const Index& index, const std::function<uint32_t(const Index& leaf)>& leaf_number);
  bool execute(const Step& step);

  std::vector<int64_t> numbers_;
  std::vector<Step> steps_;
  std::vector<Term> terms_;
  std::map<int64_t, uint32_t> constants_;
  Step fault_{};
  int64_t fault_value_ = 0;
};

}  // namespace tandem
