#pragma once

#include <string>
#include <vector>

#include "core/rewrite/rules.h"

namespace tandem {

/// What rewriting did, step by step.
struct RewriteTrace {
  struct Step {
    const char* rule;
    std::string before;  ///< The node as one line; %n counts nodes of the rewriter's own graph.
    std::string after;
  };
  std::vector<Step> steps;
  /// One step a line: "algebra.multiply_one: mul f32[4] %0, %3 -> input f32[4] \"x\"".
  std::string text() const;
};

struct RewriteOptions {
  /// Allows rules that reorder sums (fast numerics). The others change no bit.
  bool reorder_sums = false;
  /// Another set of rules, for tests; null: the project's own.
  const rewriting::RuleSet* rules = nullptr;
  /// Receives the steps when it isn't null.
  RewriteTrace* trace = nullptr;
};

/// Brings a module into its normal form: a new graph, with the nodes that the outputs need and no others, in which no
/// rule applies anywhere. Outputs keep their order, names, shapes and dtypes; nodes keep their origins. An input that
/// stops mattering (x * 0 of integers) is gone: who wants to report inputs that a model ignores looks before.
///
/// Time is near linear in the nodes and the steps. Rules that undo each other, or grow without end, are an
/// InternalError that names them.
GraphModule rewrite(const GraphModule& module, const RewriteOptions& options = {});

}  // namespace tandem
