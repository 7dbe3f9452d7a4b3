#include "core/jit/prepare_config.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/backend/registry.h"
#include "core/base/byte_size.h"
#include "core/base/text.h"

namespace tandem {
namespace {

/// What machines have; the interpreter has one of its own name, which nobody needs to ask for.
constexpr const char* kIsaNames = "avx512, avx2, sse+fma, sse, wasm-simd128, wasm-relaxed";
constexpr int64_t kWasmMemory = int64_t{4} << 30;

tl::unexpected<JitError> bad(const char* variable, std::string_view value, std::string_view allowed) {
  return fail(ErrorCode::kInvalidArgument, concat(variable, " is \"", value, "\"; allowed: ", allowed));
}

}  // namespace

Result<PrepareConfig> PrepareConfig::from_env() {
  return from([](const char* name) -> const char* { return std::getenv(name); });
}

Result<PrepareConfig> PrepareConfig::from(const std::function<const char*(const char*)>& look_up) {
  PrepareConfig config;
  const auto word = [&](const char* name) {
    const char* value = look_up(name);
    return std::string(value ? value : "");
  };
  config.backend_name = word("TANDEM_BACKEND");
  if (!config.backend_name.empty()) {
    const std::vector<std::string> names = backend_names();
    if (std::find(names.begin(), names.end(), config.backend_name) == names.end())
      return bad("TANDEM_BACKEND", config.backend_name, join(names));
  }
  if (const std::string value = word("TANDEM_NUMERICS"); !value.empty()) {
    if (value != "fast" && value != "reproducible") return bad("TANDEM_NUMERICS", value, "fast, reproducible");
    config.numerics = value == "fast" ? Numerics::kFast : Numerics::kReproducible;
  }
  config.isa = word("TANDEM_ISA");
  if (!config.isa.empty() && !capabilities_named(config.isa)) return bad("TANDEM_ISA", config.isa, kIsaNames);
  for (const auto& [name, wanted] :
       {std::pair("TANDEM_BF16_DOT", &config.bfloat16_dot), std::pair("TANDEM_TUNE", &config.tune)}) {
    const std::string value = word(name);
    if (!value.empty() && value != "0" && value != "1") return bad(name, value, "0, 1");
    *wanted = value == "1";
  }
  if (const std::string value = word("TANDEM_THREADS"); !value.empty()) {
    const int64_t number = parse_number(value);
    if (number < 0 || number > 1024) return bad("TANDEM_THREADS", value, "0 (as many as there are) to 1024");
    config.threads = static_cast<int>(number);
  }
  if (const std::string value = word("TANDEM_MEMORY_LIMIT"); !value.empty()) {
    config.memory_limit = parse_bytes(value);
    if (config.memory_limit < 0) return bad("TANDEM_MEMORY_LIMIT", value, concat(kByteSizes, "; 0 for no limit"));
  }
  if (const std::string value = word("TANDEM_DEBUG"); !value.empty()) {
    const int64_t level = parse_number(value);
    if (level < 0 || level > kMaxDebugLevel) return bad("TANDEM_DEBUG", value, concat("0 to ", kMaxDebugLevel));
    config.debug.level = static_cast<int>(level);
  }
  config.debug.folder = word("TANDEM_DUMP");
  return config;
}

Result<ResolvedConfig> resolve(const PrepareConfig& config) {
  ResolvedConfig resolved;
  resolved.backend = config.backend;
  if (!resolved.backend) {
    auto found = find_backend(config.backend_name, {config.threads});
    if (!found) return tl::unexpected<JitError>(found.error());
    resolved.backend = *found;
  }
  if (config.isa.empty()) {
    resolved.capabilities = resolved.backend->capabilities();
  } else {
    const auto forced = capabilities_named(config.isa);
    if (!forced)
      return fail(ErrorCode::kInvalidArgument,
                  concat("the instruction set \"", config.isa, "\" is unknown; there are ", kIsaNames));
    resolved.capabilities = *forced;
  }
  if (config.bfloat16_dot && config.numerics == Numerics::kReproducible)
    return fail(ErrorCode::kInvalidArgument,
                "bf16 dot products (bfloat16_dot, --bf16-dot, TANDEM_BF16_DOT) and reproducible numerics (--numerics, "
                "TANDEM_NUMERICS) exclude each other, since only some machines have the former: leave one of them out");
  // A forced instruction set says what its machines may have, the backend what this one has.
  resolved.bfloat16_dot =
      config.bfloat16_dot && resolved.capabilities.bfloat16_dot && resolved.backend->capabilities().bfloat16_dot;
  resolved.memory_limit = config.memory_limit;
  if (config.memory_limit < 0) {
    resolved.memory_limit = available_memory();
    if (resolved.capabilities.wasm)
      resolved.memory_limit = resolved.memory_limit ? std::min(resolved.memory_limit, kWasmMemory) : kWasmMemory;
  }
  return resolved;
}

}  // namespace tandem
