#pragma once

#include "core/graph/graph.h"

namespace tandem {

/// Checks what every stage may rely on: operands come before their users, each node is what the op table's rules make
/// of its operands and attributes, every output exists, has a name of its own and the inputs that share a number agree.
/// Throws InternalError that names the stage and the node. `stage` is where the module comes from, for the text.
void verify(const GraphModule& module, const char* stage);

}  // namespace tandem
