#pragma once

#include "core/kernel/builder.h"
#include "core/kernel/capabilities.h"

namespace tandem {

/// Mathematical functions as kernel instructions, for f32 and f64 values of any number of lanes: the same polynomials
/// on every target. With `fused` a * b + c is one fma, otherwise two roundings; the bits without `fused` are the
/// reproducible ones. Bounds, in units in the last place against a higher-precision reference over the full range,
/// stand at each function and are held by tests; infinities, NaN and signed zeros are exact as in the op table.
struct MathContext {
  KernelBuilder& builder;
  bool fused = false;
  bool half_conversion = false;
  bool fused_scalars = true;  ///< Whether one-lane values fuse too; false for Wasm.
};
/// The context for a machine: fuses when the machine can and numerics is fast.
MathContext math_context(KernelBuilder& builder, const Capabilities& capabilities, Numerics numerics);

/// a * b + c by the context's rule; a one-lane value never fuses on a machine without scalar FMA.
ValueId multiply_add(MathContext context, ValueId a, ValueId b, ValueId c);

// Largest errors, in ulps: f32 with separate roundings / fused; f64 the same. Denormal results have the same bounds, in
// smallest denormals. All code is straight-line and the same in every lane.

/// f32 1.2 / 0.9; f64 1.2 / 0.9.
ValueId exponential(MathContext context, ValueId x);
/// f32 0.9 / 0.9; f64 0.9 / 0.9.
ValueId logarithm(MathContext context, ValueId x);
/// f32 1.6 / 1.6, reduced in f64; f64 0.9 / 0.9. Both over the whole range of the type.
ValueId sine(MathContext context, ValueId x);
/// As sine.
ValueId cosine(MathContext context, ValueId x);
/// f32 2.6 / 2.6; f64 2.6 / 2.6. Odd, and never beyond +-1.
ValueId hyperbolic_tangent(MathContext context, ValueId x);
/// f32 2.6 / 2.6; f64 2.6 / 2.6. Never beyond [0, 1]; one division.
ValueId sigmoid(MathContext context, ValueId x);
/// f32 2.5 / 2; f64 2.5 / 2. Odd, and never beyond +-1.
ValueId error_function(MathContext context, ValueId x);
/// f32 0.51 / 0.51, computed in f64; f64 1.5 / 1.5. The special values of IEEE 754.
ValueId power(MathContext context, ValueId x, ValueId y);

/// Raw f16 or bf16 bits in i32 to f32, exact.
ValueId half_to_float(MathContext context, ValueId bits);
ValueId bfloat16_to_float(MathContext context, ValueId bits);
/// f32 to raw bits in i32: one rounding to nearest even, denormals kept, NaN stays NaN. bfloat16 is integer arithmetic.
ValueId float_to_half(MathContext context, ValueId value);
ValueId float_to_bfloat16(MathContext context, ValueId value);

}  // namespace tandem
