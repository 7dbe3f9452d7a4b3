// Arrays of inputs, states and outputs: elements are ordinary ones that share a name and are found by index.

#include "core/base/text.h"
#include "core/jit/session.h"
#include "core/jit/session_state.h"

namespace tandem {
namespace {

std::string element_name(const std::string& array, size_t index) { return concat(array, "[", index, "]"); }

}  // namespace

NamedTensors::NamedTensors(const std::string& name, const std::vector<Tensor>& elements) {
  for (size_t i = 0; i < elements.size(); i++) all_.push_back({element_name(name, i), elements[i]});
}

const Tensor& TensorArray::operator[](size_t index) const {
  if (index >= elements_.size())
    throw TensorError(
        concat("element ", index, " of \"", name_, "\" was asked for; the array has ", elements_.size(), " elements"));
  return elements_[index];
}

TensorArray Trace::tensors(std::string_view name) const {
  for (const auto& [array, count] : arrays_) {
    if (array != name) continue;
    std::vector<Tensor> elements;
    for (size_t i = 0; i < count; i++) elements.push_back(tensor(element_name(array, i)));
    return TensorArray(array, std::move(elements));
  }
  throw TensorError(concat("\"", name, "\" is no declared array of inputs or states"));
}

size_t Session::declare_array(const char* kind, std::string name, int64_t count, size_t first, bool own) {
  declared_->arrays.push_back({kind, std::move(name), count, first, own});
  return declared_->arrays.size() - 1;
}

size_t Session::declare_input_array(std::string name, int64_t count) {
  const size_t array = declare_array("input", std::move(name), count, declared_->inputs.size(), false);
  for (size_t i = 0; i < element_count(array); i++) declare_input(element_name(declared_->arrays[array].name, i));
  return array;
}

size_t Session::declare_input_array(std::string name, int64_t count, DType dtype, const Shape& shape) {
  const size_t array = declare_array("input", std::move(name), count, declared_->inputs.size(), true);
  for (size_t i = 0; i < element_count(array); i++)
    declare_input(element_name(declared_->arrays[array].name, i), dtype, shape);
  return array;
}

size_t Session::declare_state_array(std::string name, int64_t count, DType dtype, const Shape& shape) {
  const size_t array = declare_array("state", std::move(name), count, declared_->states.size(), true);
  for (size_t i = 0; i < element_count(array); i++)
    declare_state(element_name(declared_->arrays[array].name, i), dtype, shape);
  return array;
}

size_t Session::declare_output_array(std::string name, int64_t count, std::optional<DType> dtype) {
  const size_t array = declare_array("output", std::move(name), count, declared_->outputs.size(), true);
  for (size_t i = 0; i < element_count(array); i++)
    declare_output(element_name(declared_->arrays[array].name, i), dtype);
  return array;
}

size_t Session::element_count(size_t array) const { return declared_->arrays[array].size(); }

Result<size_t> Session::element_number(size_t array, size_t index) const {
  const Declarations::Array& found = declared_->arrays[array];
  if (index < found.size()) return found.first + index;
  const ErrorCode code =
      found.kind == std::string_view("output") ? ErrorCode::kRuntime : ErrorCode::kInputBufferNotFound;
  return fail(code, concat(found.kind, " \"", element_name(found.name, index), "\" of \"", name(),
                           "\" was asked for; \"", found.name, "\" has ", found.size(), " elements"));
}

Result<Buffer> Session::input_element(size_t array, size_t index) {
  TANDEM_TRY(number, element_number(array, index));
  return input(number);
}

Result<Buffer> Session::state_element(size_t array, size_t index) {
  TANDEM_TRY(number, element_number(array, index));
  return state(number);
}

Result<BufferView> Session::output_element(size_t array, size_t index) const {
  TANDEM_TRY(number, element_number(array, index));
  return output(number);
}

Result<std::vector<InputSpec>> Session::flattened(std::span<const InputSpecs> specs) const {
  std::vector<InputSpec> all;
  size_t next = 0;
  const auto take = [&](const std::string& name, size_t count, bool array) -> Result<void> {
    // What is missing is reported by prepare(), which knows what comes without a shape.
    if (next == specs.size()) return {};
    const InputSpecs& given = specs[next++];
    if (given.is_list() && !array)
      return fail(ErrorCode::kTensor, concat("input \"", name, "\" of \"", this->name(), "\" got a list of ",
                                             given.specs().size(), " InputSpecs; it is one input, not an array"));
    if (given.is_list() && given.specs().size() != count)
      return fail(ErrorCode::kTensor,
                  concat("the array \"", name, "\" of \"", this->name(), "\" got ", given.specs().size(),
                         " InputSpecs for ", count, " elements; give one for each, or one alone for all"));
    for (size_t i = 0; i < count; i++) all.push_back(given.specs()[given.is_list() ? i : 0]);
    return {};
  };
  size_t input = 0;
  for (const Declarations::Array& array : declared_->arrays) {
    if (array.kind != std::string_view("input")) continue;
    for (; input < array.first; input++)
      if (!declared_->inputs[input].own)
        if (auto taken = take(declared_->inputs[input].name, 1, false); !taken)
          return tl::unexpected<JitError>(taken.error());
    if (!array.own)
      if (auto taken = take(array.name, array.size(), true); !taken) return tl::unexpected<JitError>(taken.error());
    input += array.size();
  }
  for (; input < declared_->inputs.size(); input++)
    if (!declared_->inputs[input].own)
      if (auto taken = take(declared_->inputs[input].name, 1, false); !taken)
        return tl::unexpected<JitError>(taken.error());
  for (; next < specs.size(); next++) all.insert(all.end(), specs[next].specs().begin(), specs[next].specs().end());
  return all;
}

}  // namespace tandem
