#include "web/engine.h"

#include <emscripten/heap.h>
#include <malloc.h>

#include <string>
#include <string_view>

#include "backends/wasm/engine/host.h"
#include "core/base/text.h"
#include "web/boundary.h"

namespace tandem::web {

namespace {

double maximum_memory = 0;

/// Bytes that are handed out at present.
double allocated_bytes() { return static_cast<double>(static_cast<size_t>(mallinfo().uordblks)); }

}  // namespace

const std::shared_ptr<Backend>& engine_backend() {
  static const std::shared_ptr<Backend> backend = make_engine_backend();
  return backend;
}

Capabilities capabilities_for(const char* isa) {
  const std::string_view name = isa;
  if (name.empty()) return engine_backend()->capabilities();
  const auto named = capabilities_named(name);
  if (!named || !named->wasm)
    throw TensorError(concat("the instruction set is \"", name, "\"; use wasm-simd128 or wasm-relaxed"),
                      ErrorCode::kInvalidArgument);
  return *named;
}

int64_t plan_memory_limit() {
  const double left = maximum_memory - allocated_bytes();
  return left > 1 ? static_cast<int64_t>(left) : 1;
}

PrepareConfig prepare_config(const char* isa, int mode) {
  PrepareConfig config;
  config.backend = engine_backend();
  config.isa = capabilities_for(isa).isa;
  config.numerics = (mode & kReproducible) != 0 ? Numerics::kReproducible : Numerics::kFast;
  config.tune = (mode & kTune) != 0;
  config.memory_limit = plan_memory_limit();
  return config;
}

}  // namespace tandem::web

/// `bytes`: what the engine's memory may grow to.
TANDEM_EXPORT void tandem_start(double bytes) { tandem::web::maximum_memory = bytes; }

/// Name of the instruction set that plans are made for unless another one is asked for.
TANDEM_EXPORT const char* tandem_isa() {
  static const std::string name = tandem::web::engine_backend()->capabilities().isa;
  return name.c_str();
}

TANDEM_EXPORT double tandem_allocated_bytes() { return tandem::web::allocated_bytes(); }
TANDEM_EXPORT int tandem_loaded_modules() { return tandem::loaded_module_count(); }

// What tuning found, for the next visit.

/// How many tiles are known.
TANDEM_EXPORT int tandem_tile_count() {
  return static_cast<int>(tandem::web::engine_backend()->measurements()->count());
}
/// All of them; stands until the next call of this function.
TANDEM_EXPORT const char* tandem_tiles() {
  static std::string text;
  text = tandem::web::engine_backend()->measurements()->text();
  return text.c_str();
}
/// Adds what `tandem_tiles` gave at another time to what is known.
TANDEM_EXPORT void tandem_read_tiles(const char* text) { tandem::web::engine_backend()->measurements()->read(text); }
