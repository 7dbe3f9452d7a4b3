#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// How strictly floating-point results are fixed.
enum class Numerics : uint8_t {
  kFast,  ///< Host vector width, FMA, relaxed SIMD, reassociated reductions; bounds per op. Denormals are flushed.
  kReproducible,  ///< The same bits on every instruction set, in Wasm and in the interpreter. Denormals are kept.
};
std::string_view name_of(Numerics numerics);

/// What the machine that runs the kernels can do: data that the scheduler reads and that is part of every cache key.
/// Can be forced below what the host has, so that a plan for a smaller machine is testable on a larger one.
struct Capabilities {
  std::string isa;               ///< "avx512", "avx2", "sse+fma", "sse", "wasm-simd128", "wasm-relaxed", "interpreter".
  int vector_bytes = 16;         ///< Width of a vector register: 16, 32 or 64.
  int vector_registers = 16;     ///< How many there are.
  bool fma = false;              ///< Fused multiply-add instructions (relaxed_madd in Wasm).
  bool broadcast_loads = true;   ///< One instruction fills a vector with an f32 of memory; else a load and a shuffle.
  bool half_conversion = false;  ///< f16 <-> f32 instructions.
  bool bfloat16_dot = false;     ///< bf16 dot products with f32 accumulation (dot_bf16).
  bool wasm = false;             ///< 32-bit addresses; scalar code has no FMA.
  /// Lanes of a vector register for elements of `bytes`.
  int lanes(int bytes) const { return vector_bytes / bytes; }
  /// Every field as text: for keys and for people.
  std::string text() const;
};

/// The capabilities of a forced instruction set by name; nothing for an unknown name. Native: avx512, avx2, sse+fma,
/// sse (x86-64-v2). Wasm: wasm-simd128, wasm-relaxed. Also "interpreter".
std::optional<Capabilities> capabilities_named(std::string_view isa);

}  // namespace tandem
