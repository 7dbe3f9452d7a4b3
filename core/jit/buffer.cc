#include "core/jit/buffer.h"

#include <algorithm>
#include <cstring>

#include "core/base/text.h"

namespace tandem {
namespace {

std::string subject(const BufferRecord& record) {
  return concat(record.kind, " \"", record.name, "\" (", name_of(record.dtype), "[", join(record.shape), "])");
}

/// Copies a dense tensor into the leading window of a larger dense one.
void copy_window(std::byte* to, const std::byte* from, std::span<const int64_t> live, std::span<const int64_t> full,
                 size_t element) {
  if (live.empty()) {
    std::memcpy(to, from, element);
    return;
  }
  size_t to_step = element, from_step = element;
  for (size_t axis = 1; axis < live.size(); axis++) {
    to_step *= static_cast<size_t>(full[axis]);
    from_step *= static_cast<size_t>(live[axis]);
  }
  // Equal inner sizes: the rows follow each other in both.
  if (to_step == from_step) {
    std::memcpy(to, from, from_step * static_cast<size_t>(live[0]));
    return;
  }
  for (int64_t i = 0; i < live[0]; i++)
    copy_window(to + static_cast<size_t>(i) * to_step, from + static_cast<size_t>(i) * from_step, live.subspan(1),
                full.subspan(1), element);
}

}  // namespace

tl::unexpected<JitError> BufferView::dtype_mismatch(DType asked) const {
  return fail(ErrorCode::kDtypeMismatch, concat(subject(*record_), " was accessed as ", tandem::name_of(asked),
                                                "; its elements are ", tandem::name_of(record_->dtype)));
}

Result<void> BufferView::check_range(size_t offset, size_t count) const {
  if (offset <= size() && count <= size() - offset) return {};
  return fail(ErrorCode::kViewOutOfBounds, concat(subject(*record_), ": elements ", offset, " to ", offset + count,
                                                  " were asked for, it has ", record_->elements));
}

void Buffer::fill_zero() { std::memset(data_, 0, size_bytes()); }

Result<void> Buffer::copy_elements(size_t to, const BufferView& source, size_t from, size_t count) {
  if (source.dtype() != dtype())
    return fail(ErrorCode::kDtypeMismatch, concat(subject(*record_), " can't take elements of \"", source.name(),
                                                  "\", which are ", tandem::name_of(source.dtype())));
  if (auto inside = source.check_range(from, count); !inside) return inside;
  if (auto inside = check_range(to, count); !inside) return inside;
  const size_t element = size_of(dtype());
  std::memmove(data_ + to * element, source.data() + from * element, count * element);
  return {};
}

Result<void> Buffer::write(DType dtype, const void* values, size_t count, std::span<const int64_t> live_shape) {
  const BufferRecord& record = *record_;
  if (dtype != record.dtype) return dtype_mismatch(dtype);
  if (live_shape.size() != record.dims.size())
    return fail(ErrorCode::kViewOutOfBounds,
                concat(subject(record), " has ", record.dims.size(), " axes, the live shape [", join(live_shape),
                       "] has ", live_shape.size()));
  size_t need = 1;
  bool symbolic = false;
  for (size_t axis = 0; axis < live_shape.size(); axis++) {
    // A declared shape with variables fixes its constant axes; an InputSpec only limits each axis.
    symbolic = symbolic || !record.dims[axis].is_constant();
    const int64_t high = record.shape[axis];
    if (live_shape[axis] < 0 || live_shape[axis] > high)
      return fail(ErrorCode::kViewOutOfBounds, concat(subject(record), ": the live shape [", join(live_shape), "] has ",
                                                      live_shape[axis], " in axis ", axis, ", the limit is ", high));
    need *= static_cast<size_t>(live_shape[axis]);
  }
  if (symbolic)
    for (size_t axis = 0; axis < live_shape.size(); axis++)
      if (live_shape[axis] < record.dims[axis].lower())
        return fail(
            ErrorCode::kViewOutOfBounds,
            concat(subject(record), ": the live shape [", join(live_shape), "] has ", live_shape[axis], " in axis ",
                   axis, ", ", record.dims[axis].text(), " is at least ", record.dims[axis].lower()));
  if (count != need)
    return fail(ErrorCode::kViewOutOfBounds, concat(subject(record), ": ", count, " elements were given, the shape [",
                                                    join(live_shape), "] has ", need));
  if (need == 0) return {};
  const std::byte* from = static_cast<const std::byte*>(values);
  if (symbolic)
    std::memcpy(data_, from, need * size_of(dtype));
  else
    copy_window(data_, from, live_shape, record.shape, size_of(dtype));
  return {};
}

}  // namespace tandem
