#pragma once

#include <functional>
#include <vector>

#include "core/kernel/builder.h"
#include "core/kernel/evaluate.h"

namespace tandem::test {

/// A function of 16-lane values as the kernel that a builder makes of it, run with the meanings of
/// core/kernel/evaluate.h: no loops, one load per argument, one store.
class LaneProgram {
 public:
  static constexpr int kLanes = 16;
  using Make = std::function<ValueId(KernelBuilder& builder, const std::vector<ValueId>& arguments)>;

  LaneProgram(const std::vector<DType>& arguments, DType result, const Make& make);

  /// The result for 16 values of each argument.
  const Lanes& run(const std::vector<Lanes>& arguments);
  const Kernel& kernel() const { return kernel_; }
  /// Instructions that compute something: no constants, loads, stores, bit casts.
  int cost() const;

 private:
  struct Step {
    LaneFunction function;
    ValueId result;
    ValueId operands[3];
    int lanes;
  };
  Kernel kernel_;
  std::vector<Lanes> registers_;
  std::vector<Step> steps_;
  std::vector<std::pair<ValueId, uint32_t>> loads_;
  ValueId result_ = kNoValue;
};

}  // namespace tandem::test
