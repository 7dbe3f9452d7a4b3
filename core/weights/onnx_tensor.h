#pragma once

#include "core/weights/protobuf.h"
#include "core/weights/weight_file.h"

namespace tandem::onnx_detail {

/// One TensorProto: a tensor, or the reason why it cannot be read.
struct ParsedTensor {
  WeightTensor tensor;
  std::string unreadable;
};

/// Parses a TensorProto. Data in typed fields is copied into a vector that is kept alive by `file`; raw data is viewed.
/// `default_name` is used when the message has none or is not to be named by itself.
/// Throws TensorError (kInvalidFormat) when the contents contradict each other, protozero::exception when truncated.
ParsedTensor parse_tensor(protozero::pbf_reader message, const std::string& default_name, WeightFile& file);

/// Copies `values` into bytes that `file` keeps alive.
template <typename T>
std::span<const std::byte> keep_values(const std::vector<T>& values, WeightFile& file) {
  const auto owner = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(owner->data(), values.data(), owner->size());
  file.keep(owner);
  return *owner;
}

}  // namespace tandem::onnx_detail
