#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/clang/compile_options.h"
#include "core/base/error.h"

namespace tandem {

enum class CompilerOutput : uint8_t { kObject, kAssembly };

/// Compiles C with the compiler plugin `tandem_compiler.so`, which the first call loads. Looked for at `plugin` when
/// that isn't empty, else beside the program, beside the library that holds this code, and in their ../lib/tandem;
/// kDevice names all places when it is in none of them. Errors of the compiler have code kDevice and clang's text. May
/// be called from several threads at once.
Result<std::vector<uint8_t>> compile_c(const std::string& source, const std::string& file_name,
                                       const CompileOptions& options, CompilerOutput output, const std::string& plugin);

/// Has any call loaded the plugin? A warm start must not.
bool compiler_loaded();

/// Gives the system back what the compiler holds between two compilations: heap that is free, and pages of its code,
/// which come from the page cache when they are wanted again. About 70 MB, which packing large weights can then have.
/// May be called while other threads compile.
void rest_compiler();

}  // namespace tandem
