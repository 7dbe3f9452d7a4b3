#include "backends/interpreter/index_code.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {
namespace {

// Wraps instead of overflowing: a wrong subscript is then found at the access.
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

uint32_t IndexCode::add_number(int64_t initial) {
  numbers_.push_back(initial);
  return static_cast<uint32_t>(numbers_.size() - 1);
}

uint32_t IndexCode::add_constant(int64_t value) {
  const auto [place, added] = constants_.emplace(value, 0);
  if (added) place->second = add_number(value);
  return place->second;
}

IndexExpression IndexCode::add(const Index& index, const std::function<uint32_t(const Index& leaf)>& leaf_number,
                               bool check_values) {
  IndexExpression expression;
  expression.first = static_cast<uint32_t>(steps_.size());
  if (check_values) {
    index.for_each_leaf([&](const Index& leaf) {
      if (leaf.kind() != IndexKind::kValue) return;
      const uint32_t term = static_cast<uint32_t>(terms_.size());
      terms_.push_back(Term{1, leaf_number(leaf)});
      steps_.push_back(Step{Kind::kCheck, 0, term, term + 1, leaf.lower(), leaf.upper()});
    });
  }
  expression.result = translate(index, leaf_number);
  expression.last = static_cast<uint32_t>(steps_.size());
  return expression;
}

uint32_t IndexCode::translate(const Index& index, const std::function<uint32_t(const Index& leaf)>& leaf_number) {
  Step step{Kind::kSum, 0, 0, 0, 0, 0};
  std::vector<Term> terms;
  switch (index.kind()) {
    case IndexKind::kConstant:
      return add_constant(index.constant());
    case IndexKind::kVariable:
    case IndexKind::kLoop:
    case IndexKind::kLane:
    case IndexKind::kValue:
      return leaf_number(index);
    case IndexKind::kSum:
      step.offset = index.offset();
      for (const Index::Term& term : index.terms())
        terms.push_back(Term{term.coefficient, translate(term.factor, leaf_number)});
      break;
    case IndexKind::kProduct:
      step.kind = Kind::kProduct;
      break;
    case IndexKind::kFloorDiv:
      step.kind = Kind::kFloorDiv;
      break;
    case IndexKind::kMod:
      step.kind = Kind::kMod;
      break;
    case IndexKind::kMin:
      step.kind = Kind::kMin;
      break;
    case IndexKind::kMax:
      step.kind = Kind::kMax;
      break;
  }
  if (step.kind != Kind::kSum)
    for (const Index& operand : index.operands()) terms.push_back(Term{1, translate(operand, leaf_number)});
  step.first_term = static_cast<uint32_t>(terms_.size());
  terms_.insert(terms_.end(), terms.begin(), terms.end());
  step.last_term = static_cast<uint32_t>(terms_.size());
  step.destination = add_number();
  steps_.push_back(step);
  return step.destination;
}

bool IndexCode::execute(const Step& step) {
  const Term* term = terms_.data() + step.first_term;
  const Term* const end = terms_.data() + step.last_term;
  int64_t result = step.offset;
  if (step.kind == Kind::kSum) {
    for (; term != end; ++term)
      result = wrapping_add(result, wrapping_multiply(term->coefficient, numbers_[term->number]));
    numbers_[step.destination] = result;
    return true;
  }
  result = numbers_[term->number];
  if (step.kind == Kind::kCheck) {
    if (result >= step.offset && result <= step.limit) return true;
    fault_ = step;
    fault_value_ = result;
    return false;
  }
  for (++term; term != end; ++term) {
    const int64_t operand = numbers_[term->number];
    switch (step.kind) {
      case Kind::kProduct:
        result = wrapping_multiply(result, operand);
        break;
      case Kind::kMin:
        result = std::min(result, operand);
        break;
      case Kind::kMax:
        result = std::max(result, operand);
        break;
      default: {
        if (operand < 1) {
          fault_ = step;
          fault_value_ = operand;
          return false;
        }
        int64_t quotient = result / operand, remainder = result % operand;
        if (remainder < 0) {
          quotient--;
          remainder += operand;
        }
        result = step.kind == Kind::kMod ? remainder : quotient;
      }
    }
  }
  numbers_[step.destination] = result;
  return true;
}

std::string IndexCode::fault() const {
  if (fault_.kind == Kind::kCheck)
    return concat("uses the value ", fault_value_, " as an index that is promised to be in ", fault_.offset, " .. ",
                  fault_.limit);
  return concat("divides an index by ", fault_value_);
}

}  // namespace tandem
