#pragma once

#include "core/schedule/value_lowerer.h"

namespace tandem {

/// How the products of a contraction are summed, by the op table: the values that go in, the register, and what comes
/// out.
class Accumulation {
 public:
  /// `dtype`: of the contraction. `fused`: a product and its sum are rounded once.
  Accumulation(ValueLowerer& lowerer, DType dtype, bool fused)
      : lowerer_(lowerer), builder_(lowerer.builder()), dtype_(dtype), fused_(fused) {}

  /// The dtype of a buffer that holds sums as they are in registers.
  DType held() const;
  /// A factor in the form in which it is multiplied: of truth values, numbers.
  ValueId to_factor(ValueId value);
  ValueId zero(int lanes);
  /// sum + a * b; one-lane operands are meant for all lanes.
  ValueId add_product(ValueId a, ValueId b, ValueId sum);
  /// A sum as a value of the contraction.
  ValueId result(ValueId sum);

 private:
  ValueLowerer& lowerer_;
  KernelBuilder& builder_;
  DType dtype_;
  bool fused_;
};

}  // namespace tandem
