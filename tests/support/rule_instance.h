#pragma once

#include <string>

#include "core/rewrite/rules.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/random.h"

namespace tandem::test {

/// A graph that a rule's pattern fits: random shapes (some with a symbolic variable `t`), dtypes and attributes, built
/// from the pattern alone. Some rules have conditions that random graphs hardly ever meet; those are built by hand.
struct RuleInstance {
  GraphModule module;  ///< One output: the root.
  NodeId root() const { return module.outputs[0]; }
};

/// Throws TensorError when the pieces do not fit: try the next random number.
RuleInstance make_instance(const rewriting::Rule& rule, reference::Random& random);

/// Inputs for a module with the variable `t` at a value: ordinary numbers and special ones (signed zeros, infinities,
/// NaN, denormals, the ends of the range), or ordinary ones only.
reference::Options random_inputs(const GraphModule& module, reference::Random& random, int64_t t, bool special);

/// The bounds of `t`.
inline constexpr int64_t kSmallestT = 2;
inline constexpr int64_t kLargestT = 6;

}  // namespace tandem::test
