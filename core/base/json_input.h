#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace tandem {

/// Parses JSON that comes from outside. Nothing in the result is nested deeper than 64 levels, so that printing and
/// copying it, which recurse, cannot exhaust the stack. `origin` names the text in errors: kInvalidFormat (no JSON, or
/// nested deeper), kMemoryLimit.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& origin);

/// What the parser found wrong, for an error.
std::string json_reason(const nlohmann::json::exception& error);

/// A value as JSON text for an error; of a long one the beginning, at most 60 bytes and "...".
std::string json_excerpt(const nlohmann::json& value);

}  // namespace tandem
