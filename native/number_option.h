#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "core/audio/option_check.h"

namespace tandem {

/// Adds an option that takes a number in `range`, "inf" too where the range allows it. Everything else (no number, nan,
/// too many digits for a double) is refused with the option's name, the text as it was typed, and the range.
CLI::Option* add_number(CLI::App& command, const std::string& name, double& value, OptionRange range,
                        const std::string& help);

/// The same for a whole number; `take` gets it.
CLI::Option* add_whole_number(CLI::App& command, const std::string& name, const std::function<void(int64_t)>& take,
                              int64_t low, int64_t high, const std::string& help);
CLI::Option* add_whole_number(CLI::App& command, const std::string& name, int64_t& value, int64_t low, int64_t high,
                              const std::string& help);

}  // namespace tandem
