#include "tests/reference/value.h"

namespace tandem::reference {

int64_t count_of(const Extents& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

int64_t Value::count() const { return count_of(shape); }

Extents dense_strides(const Extents& shape) {
  Extents strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Value dense(DType dtype, Extents shape, std::shared_ptr<const Elements> elements) {
  Extents strides = dense_strides(shape);
  return Value{dtype, std::move(shape), std::move(strides), 0, std::move(elements)};
}

Value materialise(const Value& value) {
  auto out = std::make_shared<Elements>();
  const Elements& in = *value.elements;
  for (Walker walker(value.shape, {&value}); !walker.done(); walker.next()) {
    const auto at = static_cast<size_t>(walker.offset(0));
    if (is_float(value.dtype))
      out->values.push_back(in.values[at]);
    else
      out->integers.push_back(in.integers[at]);
    if (!in.error.empty()) out->error.push_back(in.error[at]);
    if (!in.magnitude.empty()) out->magnitude.push_back(in.magnitude[at]);
  }
  return dense(value.dtype, value.shape, std::move(out));
}

namespace {

/// Strides of the same elements under a new shape, when every new axis lies inside a run of old axes that is evenly
/// strided.
bool view_strides(const Value& value, const Extents& shape, Extents& strides) {
  Extents old_shape, old_strides;
  for (size_t i = 0; i < value.shape.size(); i++) {
    if (value.shape[i] == 1) continue;
    old_shape.push_back(value.shape[i]);
    old_strides.push_back(value.strides[i]);
  }
  strides.assign(shape.size(), 0);
  size_t from = 0, to = 0;
  while (from < old_shape.size() && to < shape.size()) {
    size_t from_end = from + 1, to_end = to + 1;
    int64_t have = old_shape[from], want = shape[to];
    while (have != want) {
      if (have < want) {
        if (from_end == old_shape.size()) return false;
        have *= old_shape[from_end++];
      } else {
        if (to_end == shape.size()) return false;
        want *= shape[to_end++];
      }
    }
    for (size_t i = from; i + 1 < from_end; i++)
      if (old_strides[i] != old_strides[i + 1] * old_shape[i + 1]) return false;
    int64_t stride = old_strides[from_end - 1];
    for (size_t i = to_end; i-- > to;) {
      strides[i] = stride;
      stride *= shape[i];
    }
    from = from_end;
    to = to_end;
  }
  return from == old_shape.size();
}

}  // namespace

Value reshape(const Value& value, const Extents& shape) {
  Extents strides;
  if (value.count() > 0 && view_strides(value, shape, strides))
    return Value{value.dtype, shape, std::move(strides), value.offset, value.elements};
  return dense(value.dtype, shape, materialise(value).elements);
}

Walker::Walker(const Extents& shape, const std::vector<const Value*>& operands)
    : shape_(shape), position_(shape.size(), 0), left_(count_of(shape)) {
  for (const Value* operand : operands) {
    strides_.push_back(&operand->strides);
    offsets_.push_back(operand->offset);
  }
}

void Walker::next() {
  left_--;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    position_[axis]++;
    for (size_t i = 0; i < offsets_.size(); i++) offsets_[i] += (*strides_[i])[axis];
    if (position_[axis] < shape_[axis]) return;
    for (size_t i = 0; i < offsets_.size(); i++) offsets_[i] -= (*strides_[i])[axis] * shape_[axis];
    position_[axis] = 0;
  }
}

}  // namespace tandem::reference
