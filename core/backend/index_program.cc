#include "core/backend/index_program.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

IndexProgram::IndexProgram(const Index& index, const std::vector<Index>& variables) {
  if (index.is_constant()) {
    constant_ = index.constant();
  } else {
    flatten(index, variables, 0);
  }
}

void IndexProgram::push(const Step& step, int depth) {
  TANDEM_CHECK(depth < kMaxDepth, "an index expression is nested too deeply");
  steps_.push_back(step);
}

void IndexProgram::join(const std::vector<Index>& operands, Kind kind, const std::vector<Index>& variables, int depth) {
  for (size_t i = 0; i < operands.size(); i++) {
    flatten(operands[i], variables, depth + (i == 0 ? 0 : 1));
    if (i > 0) push({kind, 0}, depth);
  }
}

void IndexProgram::flatten(const Index& index, const std::vector<Index>& variables, int depth) {
  switch (index.kind()) {
    case IndexKind::kConstant:
      return push({Kind::kConstant, index.constant()}, depth);
    case IndexKind::kVariable: {
      auto found = std::find(variables.begin(), variables.end(), index);
      if (found == variables.end())
        found = std::find_if(variables.begin(), variables.end(),
                             [&](const Index& variable) { return variable.name() == index.name(); });
      TANDEM_CHECK(found != variables.end(), concat("variable \"", index.name(), "\" is not one of the program's"));
      return push({Kind::kVariable, found - variables.begin()}, depth);
    }
    case IndexKind::kSum:
      push({Kind::kConstant, index.offset()}, depth);
      for (const Index::Term& term : index.terms()) {
        flatten(term.factor, variables, depth + 1);
        push({Kind::kConstant, term.coefficient}, depth + 2);
        push({Kind::kMultiply, 0}, depth);
        push({Kind::kAdd, 0}, depth);
      }
      return;
    case IndexKind::kProduct:
      return join(index.operands(), Kind::kMultiply, variables, depth);
    case IndexKind::kFloorDiv:
      return join(index.operands(), Kind::kFloorDiv, variables, depth);
    case IndexKind::kMod:
      return join(index.operands(), Kind::kMod, variables, depth);
    case IndexKind::kMin:
      return join(index.operands(), Kind::kMin, variables, depth);
    case IndexKind::kMax:
      return join(index.operands(), Kind::kMax, variables, depth);
    case IndexKind::kLoop:
    case IndexKind::kLane:
    case IndexKind::kValue:
      break;
  }
  throw InternalError(concat("the call argument ", index.text(), " depends on more than the program's variables"));
}

int64_t IndexProgram::evaluate_steps(const int64_t* variables) const noexcept {
  int64_t stack[kMaxDepth] = {};
  size_t size = 0;
  for (const Step& step : steps_) {
    if (step.kind == Kind::kConstant || step.kind == Kind::kVariable) {
      stack[size++] = step.kind == Kind::kConstant ? step.operand : variables[step.operand];
      continue;
    }
    const int64_t b = stack[--size];
    int64_t& top = stack[size - 1];
    const int64_t a = top;
    // Divisors are at least 1 for all values within the variables' bounds, and those are checked before.
    const int64_t quotient = b < 1 ? 0 : a / b - (a % b < 0 ? 1 : 0);
    switch (step.kind) {
      case Kind::kAdd:
        top = a + b;
        break;
      case Kind::kMultiply:
        top = a * b;
        break;
      case Kind::kFloorDiv:
        top = quotient;
        break;
      case Kind::kMod:
        top = a - b * quotient;
        break;
      case Kind::kMin:
        top = std::min(a, b);
        break;
      default:
        top = std::max(a, b);
        break;
    }
  }
  return stack[0];
}

}  // namespace tandem
