#include "core/base/text.h"
#include "core/index/index.h"

namespace tandem {

std::string text(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + shape[i].text();
  return out + "]";
}

Index element_count(const Shape& shape) {
  Index count = 1;
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size());
  Index stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * shape[i];
  }
  return strides;
}

bool is_constant(const Shape& shape) {
  for (const Dim& dim : shape) {
    if (!dim.is_constant()) return false;
  }
  return true;
}

std::vector<int64_t> maximum(const Shape& shape) {
  std::vector<int64_t> largest;
  largest.reserve(shape.size());
  for (const Dim& dim : shape) largest.push_back(dim.upper());
  return largest;
}

bool same(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace tandem
