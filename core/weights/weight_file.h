#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"

namespace tandem {

/// Bytes that come from a file or from the network, and whatever keeps them alive: a vector, a mapped file, or nothing
/// when the caller promises that they outlive every reader.
struct ByteSource {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  /// Gives memory back that bytes (of this source or of others) need while they are in use; see ConstantData::release.
  /// Empty: the source can't.
  std::function<void(std::span<const std::byte>)> release = {};

  /// Takes the bytes over.
  static ByteSource own(std::vector<std::byte> bytes);
  /// Views bytes that outlive every file made from them.
  static ByteSource view(std::span<const std::byte> bytes) { return {bytes, nullptr, {}}; }
};

/// A named tensor of a weight file: little-endian elements in row-major order, of any alignment.
struct WeightTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  /// Number of elements.
  size_t numel() const { return bytes.size() / size_of(dtype); }
  /// "f32 [128, 129, 3]"
  std::string type_text() const;
  /// The elements as a vector; kDtypeMismatch when T is not their type.
  template <typename T>
  Result<std::vector<T>> values() const {
    if (dtype != dtype_of<T>) return dtype_error(dtype_of<T>);
    std::vector<T> result(numel());
    if (!bytes.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

 private:
  tl::unexpected<JitError> dtype_error(DType wanted) const;
};

/// Bytes of a tensor with this dtype and shape; kInvalidFormat that names the tensor when a dimension is negative or
/// the size does not fit 63 bits.
Result<uint64_t> tensor_bytes(std::string_view name, DType dtype, std::span<const int64_t> shape);

/// Named tensors with the bytes behind them. Copies are cheap and share the bytes.
class WeightFile {
 public:
  WeightFile() = default;
  /// `origin` names the file in error texts.
  explicit WeightFile(std::string origin) : origin_(std::move(origin)) {}

  /// Adds a tensor; the name must be new and the bytes as many as dtype and shape say, else kInvalidFormat, with a
  /// message that names the tensor but not the file.
  Result<void> add(WeightTensor tensor);
  /// Keeps `owner` alive as long as this file or a copy of it.
  void keep(std::shared_ptr<const void> owner);
  /// Keeps a source's owner, and its way to give memory back.
  void keep(ByteSource source);
  /// Keeps everything that another file keeps.
  void keep_all_of(const WeightFile& other);
  /// Whatever keeps the bytes of all tensors alive.
  std::shared_ptr<const void> holder() const { return holder_; }
  /// Something that gives back the memory of bytes of this file that won't be read for a while; empty when none of its
  /// sources can. It may outlive the file, but not `holder()`.
  std::function<void()> release_of(std::span<const std::byte> bytes) const;
  /// Remembers a tensor that cannot be read, so that asking for it gives the reason.
  void add_unreadable(std::string name, std::string reason) { unreadable_[std::move(name)] = std::move(reason); }

  /// The tensor, or null. Pointers stay valid until the file is changed or destroyed.
  const WeightTensor* find(std::string_view name) const;
  /// The tensor; kNotFound lists what is there instead, kUnsupported says why it could not be read.
  Result<const WeightTensor*> get(std::string_view name) const;
  /// All tensors, in the order of the file.
  const std::vector<WeightTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& unreadable() const { return unreadable_; }
  /// Free texts that came with the tensors.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }
  const std::string& origin() const { return origin_; }
  /// "24 tensors: a, b, c and 21 more" (at most `limit` names), for error texts.
  std::string listing(size_t limit = 8) const;

 private:
  std::string origin_;
  std::vector<WeightTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string, std::less<>> unreadable_;
  std::map<std::string, std::string> metadata_;
  struct Holder {
    std::vector<std::shared_ptr<const void>> owners;
    std::vector<std::function<void(std::span<const std::byte>)>> release;
  };
  std::shared_ptr<const Holder> holder_ =
      std::make_shared<const Holder>();  ///< Shared by copies: replaced, not changed.
};

/// Reads a weight file of either kind, told apart by content: safetensors (length and '{' of its header) or else ONNX.
Result<WeightFile> read_weights(ByteSource source, std::string origin);

}  // namespace tandem
