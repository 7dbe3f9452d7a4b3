#include "core/jit/input_spec.h"

#include "core/base/text.h"

namespace tandem {

int64_t InputSpec::numel() const {
  constexpr int64_t kLimit = int64_t{1} << 60;
  int64_t product = 1;
  for (const int64_t dim : shape) {
    if (dim < 1 || dim > kLimit / product) return 0;
    product *= dim;
  }
  return product;
}

std::string InputSpec::text() const { return concat(name_of(dtype), "[", join(shape), "]"); }

Result<void> check_input_spec(const std::string& input, const InputSpec& spec) {
  for (size_t axis = 0; axis < spec.shape.size(); axis++)
    if (spec.shape[axis] < 1)
      return fail(ErrorCode::kTensor, concat("input \"", input, "\": the InputSpec ", spec.text(), " has dimension ",
                                             axis, " = ", spec.shape[axis], "; every dimension must be at least 1"));
  if (spec.numel() == 0)
    return fail(ErrorCode::kTensor, concat("input \"", input, "\": the InputSpec ", spec.text(),
                                           " has more elements than can be addressed; lower its dimensions"));
  return {};
}

}  // namespace tandem
