#include "core/weights/weight_file.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/weights/onnx.h"
#include "core/weights/safetensors.h"

namespace tandem {

ByteSource ByteSource::own(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {*owner, owner, {}};
}

std::string WeightTensor::type_text() const { return concat(name_of(dtype), " [", join(shape), "]"); }

tl::unexpected<JitError> WeightTensor::dtype_error(DType wanted) const {
  return fail(ErrorCode::kDtypeMismatch,
              concat("tensor \"", name, "\" is ", type_text(), " and cannot be read as ", name_of(wanted)));
}

Result<uint64_t> tensor_bytes(std::string_view name, DType dtype, std::span<const int64_t> shape) {
  const uint64_t limit = uint64_t{1} << 63;
  uint64_t size = size_of(dtype);
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      return fail(ErrorCode::kInvalidFormat,
                  concat("tensor \"", name, "\" has a negative dimension in its shape [", join(shape), "]"));
    }
    if (extent == 0) {
      empty = true;
    } else if (size > limit / static_cast<uint64_t>(extent)) {
      return fail(ErrorCode::kInvalidFormat,
                  concat("tensor \"", name, "\": the size of shape [", join(shape), "] does not fit 63 bits"));
    } else {
      size *= static_cast<uint64_t>(extent);
    }
  }
  return empty ? 0 : size;
}

Result<void> WeightFile::add(WeightTensor tensor) {
  TANDEM_TRY(size, tensor_bytes(tensor.name, tensor.dtype, tensor.shape));
  if (tensor.bytes.size() != size) {
    return fail(ErrorCode::kInvalidFormat, concat("tensor \"", tensor.name, "\" is ", tensor.type_text(), " and needs ",
                                                  size, " bytes, but has ", tensor.bytes.size()));
  }
  if (!index_.emplace(tensor.name, tensors_.size()).second) {
    return fail(ErrorCode::kInvalidFormat, concat("two tensors have the name \"", tensor.name, "\""));
  }
  tensors_.push_back(std::move(tensor));
  return {};
}

void WeightFile::keep(std::shared_ptr<const void> owner) {
  Holder held = *holder_;
  held.owners.push_back(std::move(owner));
  holder_ = std::make_shared<const Holder>(std::move(held));
}

void WeightFile::keep(ByteSource source) {
  Holder held = *holder_;
  held.owners.push_back(std::move(source.owner));
  if (source.release) held.release.push_back(std::move(source.release));
  holder_ = std::make_shared<const Holder>(std::move(held));
}

void WeightFile::keep_all_of(const WeightFile& other) {
  Holder held = *holder_;
  held.owners.push_back(other.holder_);
  held.release.insert(held.release.end(), other.holder_->release.begin(), other.holder_->release.end());
  holder_ = std::make_shared<const Holder>(std::move(held));
}

std::function<void()> WeightFile::release_of(std::span<const std::byte> bytes) const {
  if (holder_->release.empty()) return {};
  return [held = holder_.get(), bytes] {
    for (const auto& release : held->release) release(bytes);
  };
}

const WeightTensor* WeightFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

Result<const WeightTensor*> WeightFile::get(std::string_view name) const {
  if (const WeightTensor* tensor = find(name)) return tensor;
  if (const auto reason = unreadable_.find(name); reason != unreadable_.end()) {
    return fail(ErrorCode::kUnsupported, concat(origin_, ": tensor \"", name, "\" cannot be read: ", reason->second));
  }
  return fail(ErrorCode::kNotFound, concat(origin_, ": there is no tensor \"", name, "\"; the file has ", listing()));
}

std::string WeightFile::listing(size_t limit) const {
  std::string text = concat(tensors_.size(), tensors_.size() == 1 ? " tensor" : " tensors");
  for (size_t i = 0; i < std::min(limit, tensors_.size()); ++i) {
    // A name can be as long as the file: only its beginning helps a reader.
    text += concat(i == 0 ? ": " : ", ", std::string_view(tensors_[i].name).substr(0, 120));
  }
  if (tensors_.size() > limit) text += concat(" and ", tensors_.size() - limit, " more");
  return text;
}

Result<WeightFile> read_weights(ByteSource source, std::string origin) {
  if (looks_like_safetensors(source.bytes)) return read_safetensors(std::move(source), std::move(origin));
  const std::string beginning = safetensors_beginning(source.bytes);
  const bool named_onnx = std::string_view(origin).ends_with(".onnx");
  const bool named_safetensors = std::string_view(origin).ends_with(".safetensors");
  auto file = read_onnx(std::move(source), origin);
  if (file || named_onnx || file.error().code != ErrorCode::kInvalidFormat) return file;
  // The bytes of neither format: the name says what was meant, if anything does.
  if (named_safetensors)
    return fail(ErrorCode::kInvalidFormat,
                concat(origin, " is not a usable safetensors file: ", beginning, ", and it is no ONNX file either"));
  return fail(ErrorCode::kInvalidFormat,
              concat(file.error().message, "; it is no safetensors file either: ", beginning));
}

}  // namespace tandem
