#pragma once

#include "core/kernel/kernel.h"
#include "wasm.h"

namespace tandem::wasm_emitter {

// The WebAssembly instruction that does exactly what an opcode means, by the scalar it works on. An opcode without one
// is an internal error: the emitter makes it of several.
wasm::UnaryOp scalar_unary(Opcode opcode, Scalar scalar);
wasm::BinaryOp scalar_binary(Opcode opcode, Scalar scalar);
wasm::UnaryOp vector_unary(Opcode opcode, Scalar scalar);
wasm::BinaryOp vector_binary(Opcode opcode, Scalar scalar);

}  // namespace tandem::wasm_emitter
