#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"

namespace tandem {

/// What an input can hold at most: its shape at the upper bounds of all variables, and its element type. `prepare()`
/// makes a zeroed buffer of it.
struct InputSpec {
  std::vector<int64_t> shape;
  DType dtype = DType::kF32;

  /// Number of elements; 0 when a dimension is below 1 or the product does not fit.
  int64_t numel() const;
  /// "f32[1, 512]".
  std::string text() const;
};

inline InputSpec f32(std::vector<int64_t> shape) { return {std::move(shape), DType::kF32}; }
inline InputSpec f16(std::vector<int64_t> shape) { return {std::move(shape), DType::kF16}; }
inline InputSpec bf16(std::vector<int64_t> shape) { return {std::move(shape), DType::kBF16}; }
inline InputSpec i32(std::vector<int64_t> shape) { return {std::move(shape), DType::kI32}; }
inline InputSpec i64(std::vector<int64_t> shape) { return {std::move(shape), DType::kI64}; }
inline InputSpec u8(std::vector<int64_t> shape) { return {std::move(shape), DType::kU8}; }
inline InputSpec boolean(std::vector<int64_t> shape) { return {std::move(shape), DType::kBool}; }

/// What prepare() gets for one TANDEM_INPUT or TANDEM_INPUT_ARRAY: one InputSpec, or a list for the elements of an
/// array. One InputSpec for an array holds for all of its elements.
class InputSpecs {
 public:
  InputSpecs(InputSpec spec) : specs_{std::move(spec)} {}  // NOLINT: a spec is what most inputs take
  InputSpecs(std::initializer_list<InputSpec> each) : specs_(each), list_(true) {}
  InputSpecs(std::vector<InputSpec> each) : specs_(std::move(each)), list_(true) {}  // NOLINT: as above

  bool is_list() const { return list_; }
  /// One for all, or one for each element.
  const std::vector<InputSpec>& specs() const { return specs_; }

 private:
  std::vector<InputSpec> specs_;
  bool list_ = false;
};

/// kTensor when a dimension is below 1 or the buffer would not be addressable; `input` is named.
Result<void> check_input_spec(const std::string& input, const InputSpec& spec);

}  // namespace tandem
