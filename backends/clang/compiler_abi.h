#pragma once

#include <stddef.h>

// The C interface between the program and the compiler plugin (tandem_compiler.so). The plugin holds everything that
// needs libclang-cpp and is loaded at the first cache miss.

#ifdef __cplusplus
extern "C" {
#endif

/// Changes whenever anything below, or what the plugin does with it, changes. Part of every cache key.
#define TANDEM_COMPILER_ABI 1

enum tandem_compiler_output { TANDEM_OUTPUT_OBJECT = 0, TANDEM_OUTPUT_ASSEMBLY = 1 };

struct tandem_compiler_request {
  const char* source;  ///< C text, `source_size` bytes and a 0.
  size_t source_size;
  const char* file_name;         ///< For messages and line tables.
  const char* const* arguments;  ///< Of -cc1.
  size_t argument_count;
  const char* passes;
  int codegen_level;
  enum tandem_compiler_output output;
};

/// Takes the result: bytes of the object or assembly, or, when `ok` is 0, the text of the error. Called exactly once.
typedef void (*tandem_compiler_sink)(void* context, int ok, const char* bytes, size_t size);

/// Returns TANDEM_COMPILER_ABI of the plugin.
int tandem_compiler_abi(void);

/// Compiles; may be called from several threads at once. Never throws, prints or exits.
void tandem_compiler_compile(const struct tandem_compiler_request* request, tandem_compiler_sink sink, void* context);

#ifdef __cplusplus
}
#endif
