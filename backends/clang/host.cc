#include <cpuid.h>

#include <cstring>

#include "backends/clang/clang_backend.h"

namespace tandem {

namespace {

// The psABI levels, as the compiler's run time sees them: processor and operating system both.
bool has_level(int vector_bytes) {
  if (vector_bytes >= 64) return __builtin_cpu_supports("x86-64-v4");
  if (vector_bytes >= 32) return __builtin_cpu_supports("x86-64-v3");
  return __builtin_cpu_supports("x86-64-v2");
}

Capabilities find_host_capabilities() {
  __builtin_cpu_init();
  for (const char* isa : {"avx512", "avx2", "sse+fma"}) {
    Capabilities capabilities = *capabilities_named(isa);
    if (!host_supports(capabilities)) continue;
    capabilities.bfloat16_dot = capabilities.bfloat16_dot && __builtin_cpu_supports("avx512bf16");
    return capabilities;
  }
  return *capabilities_named("sse");
}

// Three leaves of cpuid with 16 characters each.
std::string find_host_processor() {
  constexpr unsigned kFirst = 0x80000002, kLast = 0x80000004;
  unsigned words[4];
  char name[3 * sizeof words + 1] = {};
  for (unsigned leaf = kFirst; leaf <= kLast; leaf++) {
    if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) == 0) return "unknown";
    std::memcpy(name + (leaf - kFirst) * sizeof words, words, sizeof words);
  }
  return name;
}

}  // namespace

bool host_supports(const Capabilities& capabilities) {
  const bool native = capabilities.isa == "avx512" || capabilities.isa == "avx2" || capabilities.isa == "sse+fma" ||
                      capabilities.isa == "sse";
  if (!native || capabilities.wasm) return false;
  return has_level(capabilities.vector_bytes) && (!capabilities.fma || __builtin_cpu_supports("fma")) &&
         (!capabilities.half_conversion || __builtin_cpu_supports("f16c"));
}

const std::string& host_processor() {
  static const std::string name = find_host_processor();
  return name;
}

const Capabilities& host_capabilities() {
  static const Capabilities capabilities = find_host_capabilities();
  return capabilities;
}

}  // namespace tandem
