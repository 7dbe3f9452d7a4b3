#include <algorithm>

#include "core/index/node.h"

namespace tandem {
namespace {

using namespace index_detail;

void append_operands(std::vector<Index>& operands, const Index& a, IndexKind kind) {
  if (a.kind() == kind) {
    operands.insert(operands.end(), a.operands().begin(), a.operands().end());
  } else {
    operands.push_back(a);
  }
}

/// Is `a` never needed beside `b` under the minimum (or maximum)?  rule: covered-operand
bool covered(const Index& a, const Index& b, IndexKind kind) {
  return kind == IndexKind::kMin ? provably_at_least(a - b, 0) : provably_at_least(b - a, 0);
}

Index extreme(const Index& a, const Index& b, IndexKind kind) {
  std::vector<Index> candidates;
  append_operands(candidates, a, kind);
  append_operands(candidates, b, kind);
  std::sort(candidates.begin(), candidates.end(), [](const Index& x, const Index& y) { return compare(x, y) < 0; });
  std::vector<Index> kept;
  for (const Index& candidate : candidates) {
    if (std::any_of(kept.begin(), kept.end(), [&](const Index& k) { return covered(candidate, k, kind); })) continue;
    kept.erase(std::remove_if(kept.begin(), kept.end(), [&](const Index& k) { return covered(k, candidate, kind); }),
               kept.end());
    kept.push_back(candidate);
  }
  if (kept.size() == 1) return kept[0];
  auto node = std::make_shared<IndexNode>();
  node->kind = kind;
  node->lower = kept[0].lower();
  node->upper = kept[0].upper();
  node->multiple = 0;
  for (const Index& operand : kept) {
    const bool smaller = kind == IndexKind::kMin;
    node->lower = smaller ? std::min(node->lower, operand.lower()) : std::max(node->lower, operand.lower());
    node->upper = smaller ? std::min(node->upper, operand.upper()) : std::max(node->upper, operand.upper());
    node->multiple = greatest_common_divisor(node->multiple, operand.multiple());
  }
  node->operands = std::move(kept);
  return IndexBuilder::finish(std::move(node));
}

}  // namespace

Index min(const Index& a, const Index& b) { return extreme(a, b, IndexKind::kMin); }
Index max(const Index& a, const Index& b) { return extreme(a, b, IndexKind::kMax); }

}  // namespace tandem
