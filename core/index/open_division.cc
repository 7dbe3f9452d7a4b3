#include "core/index/open_division.h"

#include <algorithm>

namespace tandem {

bool has_open_division(const Index& index) {
  switch (index.kind()) {
    case IndexKind::kSum:
      return std::any_of(index.terms().begin(), index.terms().end(),
                         [](const Index::Term& term) { return has_open_division(term.factor); });
    case IndexKind::kFloorDiv:
    case IndexKind::kMod:
      if (!index.operands()[1].is_constant()) return true;
      return has_open_division(index.operands()[0]);
    case IndexKind::kProduct:
    case IndexKind::kMin:
    case IndexKind::kMax:
      return std::any_of(index.operands().begin(), index.operands().end(), has_open_division);
    default:
      return false;
  }
}

}  // namespace tandem
