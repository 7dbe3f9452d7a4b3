#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/jit/session.h"

namespace tandem::web {

/// Variables by name, for reading dimensions.
using NamedDims = std::vector<std::pair<std::string, Dim>>;

/// A dimension as JavaScript holds it: the text of an index expression. Throws TensorError for a text that is none and
/// for an unknown variable.
Dim parse_dim(std::string_view text, const NamedDims& variables);
/// Several with ';' between them.
Shape parse_shape(std::string_view text, const NamedDims& variables);

/// What a build function in JavaScript works on while it runs; they may nest, and the innermost one counts.
class BuildScope {
 public:
  explicit BuildScope(NamedDims variables);
  /// Gives back the tensors that were made meanwhile.
  ~BuildScope();
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;

  /// Throws TensorError (InvalidArgument) when no build function runs.
  static BuildScope& current();

  const NamedDims& variables() const { return variables_; }
  /// Holds a tensor until the build function returns; gives its description.
  std::string add(Tensor tensor);

  std::vector<NamedTensor> results;

 private:
  NamedDims variables_;
  std::vector<uint32_t> tensors_;
  BuildScope* outer_;
};

/// Holds a tensor and gives its number. Numbers start at 1 and are not used again; 0 is the empty Tensor.
uint32_t hold_tensor(Tensor tensor);
void drop_tensor(uint32_t number);
/// Throws TensorError (NotFound) for a number that is not in use.
const Tensor& held_tensor(uint32_t number);
/// Number, dtype and dimensions ("7", "f32", "1;64;t") with tabs between.
std::string describe_tensor(uint32_t number);

/// Keeps a text where JavaScript can read it until the next answer.
const char* answer(std::string text);

}  // namespace tandem::web
