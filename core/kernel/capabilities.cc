#include "core/kernel/capabilities.h"

#include "core/base/text.h"

namespace tandem {

std::string_view name_of(Numerics numerics) { return numerics == Numerics::kFast ? "fast" : "reproducible"; }

std::string Capabilities::text() const {
  return concat("isa=", isa, " vector_bytes=", vector_bytes, " vector_registers=", vector_registers, " fma=", fma,
                " broadcast_loads=", broadcast_loads, " half_conversion=", half_conversion,
                " bfloat16_dot=", bfloat16_dot, " wasm=", wasm);
}

std::optional<Capabilities> capabilities_named(std::string_view isa) {
  Capabilities result;
  result.isa = std::string(isa);
  if (isa == "avx512") {
    result.vector_bytes = 64;
    result.vector_registers = 32;
    result.fma = result.half_conversion = result.bfloat16_dot = true;
  } else if (isa == "avx2") {
    result.vector_bytes = 32;
    result.fma = result.half_conversion = true;
  } else if (isa == "sse+fma") {
    result.fma = true;
  } else if (isa == "wasm-simd128" || isa == "wasm-relaxed") {
    result.wasm = true;
    result.fma = isa == "wasm-relaxed";
    result.vector_registers = 15;  // V8 keeps one of x86's 16 for itself.
  } else if (isa == "interpreter") {
    result.vector_bytes = 64;
    result.vector_registers = 32;
    result.fma = result.bfloat16_dot = true;
  } else if (isa == "sse") {
    result.broadcast_loads = false;
  } else {
    return std::nullopt;
  }
  return result;
}

}  // namespace tandem
