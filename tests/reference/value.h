#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/dtype.h"

namespace tandem::reference {

using Extents = std::vector<int64_t>;

/// The elements of one evaluated tensor. Floats are in `values`, integers and bool in `integers` (u64 by its bits).
struct Elements {
  std::vector<double> values;
  std::vector<int64_t> integers;
  /// How far from `values` a correct engine may be (absolute); infinite when an inexact operand decides a comparison or
  /// a rounding. Empty means 0 everywhere.
  std::vector<double> error;
  /// Sum of the absolute terms of the contraction or sum that made the element; |value| otherwise. Empty like `error`.
  std::vector<double> magnitude;
};

/// A strided window on elements: movement costs nothing, so a convolution's windows are never written out.
struct Value {
  DType dtype = DType::kF32;
  Extents shape;
  Extents strides;
  int64_t offset = 0;
  std::shared_ptr<const Elements> elements;

  int64_t count() const;
  double value_at(int64_t position) const { return elements->values[static_cast<size_t>(position)]; }
  int64_t integer_at(int64_t position) const { return elements->integers[static_cast<size_t>(position)]; }
  double error_at(int64_t position) const {
    return elements->error.empty() ? 0 : elements->error[static_cast<size_t>(position)];
  }
};

int64_t count_of(const Extents& shape);
Extents dense_strides(const Extents& shape);
/// A dense value over new elements.
Value dense(DType dtype, Extents shape, std::shared_ptr<const Elements> elements);
/// Row-major copy of a view.
Value materialise(const Value& value);
/// The elements under another shape of equal count: a view when the strides allow it.
Value reshape(const Value& value, const Extents& shape);

/// Walks over all positions of a shape in row-major order, keeping the offset of several strided operands up to date.
class Walker {
 public:
  Walker(const Extents& shape, const std::vector<const Value*>& operands);
  bool done() const { return left_ == 0; }
  int64_t offset(size_t operand) const { return offsets_[operand]; }
  /// The position along each axis.
  const Extents& position() const { return position_; }
  void next();

 private:
  const Extents& shape_;
  std::vector<const Extents*> strides_;
  std::vector<int64_t> offsets_;
  Extents position_;
  int64_t left_;
};

}  // namespace tandem::reference
