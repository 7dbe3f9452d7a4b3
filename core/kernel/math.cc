#include "core/kernel/math.h"

#include "core/kernel/math_value.h"

namespace tandem {

MathContext math_context(KernelBuilder& builder, const Capabilities& capabilities, Numerics numerics) {
  MathContext context{builder};
  context.fused = numerics == Numerics::kFast && capabilities.fma;
  context.fused_scalars = !capabilities.wasm;
  context.half_conversion = capabilities.half_conversion;
  return context;
}

ValueId multiply_add(MathContext context, ValueId a, ValueId b, ValueId c) {
  KernelBuilder& builder = context.builder;
  if (context.fused && (context.fused_scalars || builder.type(a).lanes > 1)) return builder.fma(a, b, c);
  return builder.binary(Opcode::kAdd, builder.binary(Opcode::kMul, a, b), c);
}

}  // namespace tandem
