#pragma once

#include <string>
#include <vector>

#include "core/kernel/capabilities.h"

namespace tandem {

/// How generated C becomes an object. All of it is part of the cache key.
struct CompileOptions {
  std::vector<std::string> arguments;  ///< Of clang's -cc1, in order; the file name is added by the plugin.
  std::string passes;                  ///< The optimiser's pipeline in the notation of `opt -passes`.
  int codegen_level = 2;               ///< 0 to 3.
};

/// The options for an instruction set. CPU names are those of the psABI levels, never the host's, so that one cached
/// object serves every machine of that level. `debug` adds line tables and unwind tables.
CompileOptions compile_options_for(const Capabilities& capabilities, bool debug);

}  // namespace tandem
