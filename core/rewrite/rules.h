#pragma once

#include <vector>

#include "core/rewrite/pattern.h"

namespace tandem::rewriting {

/// One identity: where `pattern` fits and `condition` holds, the root becomes what `replacement` makes of the match.
///
/// Both sides have the same bits for every value of every dtype that the condition lets through, all NaNs being one
/// value: a rule never looks at a machine, and a constant dimension never gives other bits than a symbolic one. Only
/// rules of `fast_rules()` may reorder a sum.
struct Rule {
  const char* name;      ///< "algebra.multiply_one": theme and what it is about.
  const char* identity;  ///< "x * 1 == x": for readers and traces.
  Pattern pattern;
  bool (*condition)(const Match&);      ///< Null: none.
  NodeId (*replacement)(const Match&);  ///< kNoNode: does not apply after all.
};

using RuleSet = std::vector<Rule>;
RuleSet operator+(RuleSet first, const RuleSet& second);

/// What the rule makes of this node, or nothing where it doesn't apply. Throws InternalError when the result has
/// another dtype or shape.
std::optional<NodeId> apply(const Rule& rule, Graph& graph, NodeId root);

// Themes, one file each.
RuleSet algebra_rules();   ///< Neutral elements, idempotence, signs.
RuleSet logic_rules();     ///< Comparisons, bool, bit operations, where.
RuleSet cast_rules();      ///< Casts, and roundings of what is whole already.
RuleSet scalar_rules();    ///< Operations on numbers.
RuleSet movement_rules();  ///< Reshape, permute, expand, stride, flip, pad.
RuleSet shrink_rules();    ///< A part of something becomes something of parts.
RuleSet join_rules();      ///< Concat, window, gather.
RuleSet reduce_rules();    ///< Reductions.
RuleSet contract_rules();  ///< Contractions: axes of size 1, taps that meet only padding.
RuleSet fast_rules();      ///< What changes the order of a sum.

/// Every rule that changes no bit.
const RuleSet& exact_rules();
/// Those and `fast_rules()`.
const RuleSet& all_rules();

}  // namespace tandem::rewriting
