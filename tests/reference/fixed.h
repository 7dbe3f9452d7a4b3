#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/graph/graph.h"

namespace tandem::reference {

/// The same graph with numbers in place of variables. Variables that are not named stay.
GraphModule with_variables_fixed(const GraphModule& module, const std::map<std::string, int64_t>& values);

}  // namespace tandem::reference
