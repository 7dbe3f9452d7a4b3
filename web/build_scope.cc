#include "web/build_scope.h"

#include <unordered_map>

#include "core/base/text.h"
#include "core/index/index_text.h"

namespace tandem::web {

namespace {

struct HeldTensors {
  std::unordered_map<uint32_t, Tensor> all;
  uint32_t last = 0;
};

HeldTensors& held() {
  static HeldTensors tensors;
  return tensors;
}

BuildScope* innermost = nullptr;

}  // namespace

Dim parse_dim(std::string_view text, const NamedDims& variables) {
  auto dim = parse_index(text, [&](std::string_view name) -> std::optional<Index> {
    // A name that is no plain word stands in backquotes.
    if (name.size() > 2 && name[0] == '`') name = name.substr(1, name.size() - 2);
    for (const auto& [variable, value] : variables)
      if (variable == name) return value;
    return std::nullopt;
  });
  if (!dim) throw TensorError(dim.error().message);
  return *dim;
}

Shape parse_shape(std::string_view text, const NamedDims& variables) {
  Shape shape;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    shape.push_back(parse_dim(text.substr(0, end), variables));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

BuildScope::BuildScope(NamedDims variables) : variables_(std::move(variables)), outer_(innermost) { innermost = this; }

BuildScope::~BuildScope() {
  innermost = outer_;
  for (const uint32_t tensor : tensors_) drop_tensor(tensor);
}

BuildScope& BuildScope::current() {
  if (!innermost)
    throw TensorError("a tensor operation was used outside of a build function; graphs are made inside it",
                      ErrorCode::kInvalidArgument);
  return *innermost;
}

std::string BuildScope::add(Tensor tensor) {
  tensors_.push_back(hold_tensor(std::move(tensor)));
  return describe_tensor(tensors_.back());
}

uint32_t hold_tensor(Tensor tensor) {
  held().all.emplace(++held().last, std::move(tensor));
  return held().last;
}

void drop_tensor(uint32_t number) { held().all.erase(number); }

const Tensor& held_tensor(uint32_t number) {
  static const Tensor none;
  if (number == 0) return none;
  const auto found = held().all.find(number);
  if (found == held().all.end())
    throw TensorError("a tensor outlived its build function or its weights; make a new one", ErrorCode::kNotFound);
  return found->second;
}

std::string describe_tensor(uint32_t number) {
  const Tensor& tensor = held_tensor(number);
  std::string dims;
  for (size_t axis = 0; axis < tensor.shape().size(); axis++)
    dims += (axis == 0 ? "" : ";") + tensor.shape()[axis].text();
  return concat(number, "\t", name_of(tensor.dtype()), "\t", dims);
}

const char* answer(std::string text) {
  static std::string last;
  last = std::move(text);
  return last.c_str();
}

}  // namespace tandem::web
