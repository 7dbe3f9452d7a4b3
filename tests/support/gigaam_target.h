#pragma once

#include "core/models/gigaam.h"
#include "tests/support/gigaam_golden.h"
#include "tests/support/value_or_throw.h"

namespace tandem::testing {

/// The configuration that prepares a wrapper for a target.
inline PrepareConfig config_for(const test::Target& target, Numerics numerics = Numerics::kFast) {
  PrepareConfig config;
  config.backend = target.backend;
  config.numerics = numerics;
  const std::string native = "native ";
  if (target.name.rfind(native, 0) == 0) config.isa = target.name.substr(native.size());
  return config;
}

inline std::shared_ptr<const GigaAmModel> model_of(const GigaAmGolden& golden) {
  return value_or_throw(GigaAmModel::make(golden.file, golden.config));
}

/// Tokens and frames of the file as sequences.
inline std::vector<TokenSequence> expected_sequences(const GigaAmGolden& golden) {
  const auto counts = golden.values<int32_t>("expected.token_counts");
  const auto tokens = golden.values<int32_t>("expected.tokens");
  const auto frames = golden.values<int32_t>("expected.frames");
  const auto longest = static_cast<size_t>(golden.shape("expected.tokens")[1]);
  std::vector<TokenSequence> sequences;
  for (size_t lane = 0; lane < counts.size(); ++lane) {
    const auto begin = static_cast<ptrdiff_t>(lane * longest), end = begin + counts[lane];
    sequences.push_back(
        {{tokens.begin() + begin, tokens.begin() + end}, {frames.begin() + begin, frames.begin() + end}});
  }
  return sequences;
}

}  // namespace tandem::testing
