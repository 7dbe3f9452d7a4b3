#pragma once

#include <cstdint>

#include "core/kernel/kernel.h"

namespace tandem {

/// One register: up to 16 lanes of one type. A mask's lanes are integers of its width: all ones or 0.
union alignas(64) Lanes {
  int64_t i64[16];
  uint64_t u64[16];
  int32_t i32[16];
  uint32_t u32[16];
  float f32[16];
  double f64[16];
};

/// Computes `lanes` lanes of a result. Operands that the opcode doesn't have are not looked at; the result may not be
/// one of the operands.
using LaneFunction = void (*)(Lanes& result, const Lanes& a, const Lanes& b, const Lanes& c, int lanes);

/// The meaning of an opcode in C++, the only one: constant folding and the interpreter use it. `operand` is the type of
/// the values worked on (for select: of its second operand, for dot_bf16: of its first). Null for opcodes that aren't
/// computed lane by lane (memory, control, splat, insert, ...) and for types that the opcode doesn't take.
LaneFunction lane_function(Opcode opcode, Scalar operand, Scalar result);

/// May kToIntExact be applied to this number? It must be an integer that the integer type of its width holds.
bool is_exact_integer(float value);
bool is_exact_integer(double value);

/// Raw f16 bits to f32, exact; and back, rounding to nearest even, denormals kept. NaN gives a quiet NaN.
float half_bits_to_float(uint32_t bits);
uint32_t float_to_half_bits(float value);

}  // namespace tandem
