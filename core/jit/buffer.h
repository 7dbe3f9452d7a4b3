#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/half.h"
#include "core/index/index.h"

namespace tandem {

/// What a prepared wrapper knows about one of its buffers; owned by the wrapper.
struct BufferRecord {
  const char* kind = "input";  ///< "input", "state" or "output", for messages.
  std::string name;
  DType dtype = DType::kF32;
  Shape dims;                  ///< As declared, with variables.
  std::vector<int64_t> shape;  ///< Now: the maximum of an input or state, the live shape of an output.
  int64_t elements = 0;        ///< Product of `shape`.
  uint32_t slot = 0;           ///< Number of the buffer in the plan.
};

/// Read access to a buffer of a prepared wrapper: a cheap value, valid while the wrapper lives. An output's contents
/// and shape stand until the next execute.
class BufferView {
 public:
  BufferView(const BufferRecord& record, std::byte* data) : record_(&record), data_(data) {}

  const std::string& name() const { return record_->name; }
  DType dtype() const { return record_->dtype; }
  /// Inputs and states: the maximum. Outputs: the live shape of the last execute.
  std::span<const int64_t> shape() const { return record_->shape; }
  /// Number of elements in `shape()`; they are dense.
  size_t size() const { return static_cast<size_t>(record_->elements); }
  size_t size_bytes() const { return size() * size_of(record_->dtype); }
  const std::byte* data() const { return data_; }

  /// The elements. kDtypeMismatch when T isn't the buffer's element type.
  template <typename T>
  Result<std::span<const T>> span() const {
    if (dtype_of<T> != record_->dtype) return dtype_mismatch(dtype_of<T>);
    return std::span<const T>(reinterpret_cast<const T*>(data_), size());
  }
  /// `count` elements from `offset` on. kViewOutOfBounds when they are not all inside.
  template <typename T>
  Result<std::span<const T>> span(size_t offset, size_t count) const {
    if (dtype_of<T> != record_->dtype) return dtype_mismatch(dtype_of<T>);
    if (auto inside = check_range(offset, count); !inside) return tl::unexpected<JitError>(inside.error());
    return std::span<const T>(reinterpret_cast<const T*>(data_) + offset, count);
  }
  /// kViewOutOfBounds unless `count` elements from `offset` on are all inside.
  Result<void> check_range(size_t offset, size_t count) const;
  /// A copy of the elements.
  template <typename T>
  Result<std::vector<T>> to_vector() const {
    auto view = span<T>();
    if (!view) return tl::unexpected<JitError>(view.error());
    return std::vector<T>(view->begin(), view->end());
  }

 protected:
  tl::unexpected<JitError> dtype_mismatch(DType asked) const;

  const BufferRecord* record_;
  std::byte* data_;
};

/// Write access to an input or state.
class Buffer : public BufferView {
 public:
  using BufferView::BufferView;
  using BufferView::data;
  std::byte* data() { return data_; }

  /// The elements. kDtypeMismatch when T isn't the buffer's element type.
  template <typename T>
  Result<std::span<T>> span() {
    if (dtype_of<T> != record_->dtype) return dtype_mismatch(dtype_of<T>);
    return std::span<T>(reinterpret_cast<T*>(data_), size());
  }
  /// `count` elements from `offset` on. kViewOutOfBounds when they are not all inside.
  template <typename T>
  Result<std::span<T>> span(size_t offset, size_t count) {
    if (dtype_of<T> != record_->dtype) return dtype_mismatch(dtype_of<T>);
    if (auto inside = check_range(offset, count); !inside) return tl::unexpected<JitError>(inside.error());
    return std::span<T>(reinterpret_cast<T*>(data_) + offset, count);
  }

  /// Fills the whole buffer from a contiguous range of its element type. kDtypeMismatch, kViewOutOfBounds for another
  /// number of elements.
  template <typename Range>
  Result<void> copy_from(const Range& values) {
    return write(element_type<Range>(), std::data(values), std::size(values), record_->shape);
  }
  /// Writes a row-major tensor of this live shape to where the kernels look for it: the leading window of an input that
  /// was declared by InputSpec, a dense tensor for an input with variables in its shape. kViewOutOfBounds when a
  /// dimension is beyond its bounds or the number of elements isn't the shape's.
  template <typename Range>
  Result<void> copy_from(const Range& values, std::span<const int64_t> live_shape) {
    return write(element_type<Range>(), std::data(values), std::size(values), live_shape);
  }
  template <typename Range>
  Result<void> copy_from(const Range& values, std::initializer_list<int64_t> live_shape) {
    return copy_from(values, std::span<const int64_t>(live_shape.begin(), live_shape.size()));
  }
  /// Copies `count` elements of another buffer, from `from` on, to here, from `to` on. kDtypeMismatch when the element
  /// types differ, kViewOutOfBounds when they are not all inside.
  Result<void> copy_elements(size_t to, const BufferView& source, size_t from, size_t count);
  /// The same for callers that know the element type at run time only.
  Result<void> write(DType dtype, const void* values, size_t count, std::span<const int64_t> live_shape);
  /// All bytes 0.
  void fill_zero();

 private:
  template <typename Range>
  static constexpr DType element_type() {
    return dtype_of<std::remove_cv_t<std::remove_reference_t<decltype(*std::data(std::declval<const Range&>()))>>>;
  }
};

}  // namespace tandem
