#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/detail.h"

namespace tandem {

using tensor_detail::apply;
using tensor_detail::fail;
using tensor_detail::identity_order;

namespace {

bool is_none(const DimPair& amount) { return amount.first.is(0) && amount.second.is(0); }

Attributes pad_attributes(const std::vector<DimPair>& amounts) {
  Attributes attributes;
  for (const auto& [before, after] : amounts) {
    attributes.begin.push_back(before);
    attributes.size.push_back(after);
  }
  return attributes;
}

/// Replaces the one -1 of a new shape by what the other dimensions leave.
void fill_in(Shape& shape, const Shape& from) {
  size_t open = shape.size();
  Index known = 1;
  for (size_t i = 0; i < shape.size(); i++) {
    if (!shape[i].is(-1)) {
      known *= shape[i];
      continue;
    }
    if (open != shape.size()) fail("reshape", concat("the new shape ", text(shape), " has two -1; one is possible"));
    open = i;
  }
  if (open == shape.size()) return;
  const Index total = element_count(from);
  if (less(0, known) != Truth::kAlways) fail("reshape", concat("-1 in ", text(shape), " beside a size that may be 0"));
  shape[open] = floor_div(total, known);
  if (!same(shape[open] * known, total))
    fail("reshape", concat("shape ", text(from), " with ", total.text(), " elements is not divisible by ", known.text(),
                           ", which the other dimensions of the new shape ask for"));
}

}  // namespace

Tensor Tensor::reshape(Shape to) const {
  fill_in(to, shape());
  if (same(to, shape())) return *this;
  return apply(Op::kReshape, {*this}, {}, DType::kF32, std::move(to));
}

Tensor Tensor::permute(const std::vector<int>& order) const {
  Attributes attributes;
  for (const int entry : order) attributes.order.push_back(axis(entry));
  if (order.size() == shape().size() && std::is_sorted(attributes.order.begin(), attributes.order.end()) &&
      std::adjacent_find(attributes.order.begin(), attributes.order.end()) == attributes.order.end())
    return *this;
  return apply(Op::kPermute, {*this}, std::move(attributes));
}

Tensor Tensor::transpose(int a, int b) const {
  std::vector<int> order = identity_order(rank());
  std::swap(order[static_cast<size_t>(axis(a))], order[static_cast<size_t>(axis(b))]);
  return permute(order);
}

Tensor Tensor::unsqueeze(int at) const {
  const int count = rank() + 1;
  if (at < -count || at >= count)
    fail("unsqueeze",
         concat("axis ", at, " cannot be added to shape ", text(shape()), "; use ", -count, " .. ", count - 1));
  Shape to = shape();
  to.insert(to.begin() + (at < 0 ? at + count : at), Dim(1));
  return reshape(std::move(to));
}

Tensor Tensor::squeeze(int at) const {
  if (!dim(at).is(1)) fail("squeeze", concat("axis ", at, " of shape ", text(shape()), " is not of size 1"));
  Shape to = shape();
  to.erase(to.begin() + axis(at));
  return reshape(std::move(to));
}

Tensor Tensor::flatten(int first, int last) const {
  if (rank() == 0) return reshape({1});
  const int begin = axis(first);
  const int end = axis(last);
  if (begin > end) fail("flatten", concat("axis ", first, " comes after axis ", last, " in shape ", text(shape())));
  Shape to(shape().begin(), shape().begin() + begin);
  to.push_back(element_count(Shape(shape().begin() + begin, shape().begin() + end + 1)));
  to.insert(to.end(), shape().begin() + end + 1, shape().end());
  return reshape(std::move(to));
}

Tensor Tensor::expand(const Shape& to) const {
  const Shape& from = shape();
  if (to.size() < from.size())
    fail("expand", concat("shape ", text(from), " has more axes than ", text(to), "; squeeze or flatten it first"));
  Shape padded(to.size() - from.size(), Dim(1));
  padded.insert(padded.end(), from.begin(), from.end());
  if (same(padded, to)) return reshape(to);
  return apply(Op::kExpand, {reshape(std::move(padded))}, {}, DType::kF32, to);
}

Tensor Tensor::pad(const std::vector<DimPair>& amounts, Number value) const {
  if (amounts.size() == shape().size() && std::all_of(amounts.begin(), amounts.end(), is_none)) return *this;
  const auto meeting = tensor_detail::meet({*this}, "pad");
  const Tensor fill(meeting.graph, value.make(*meeting.graph, dtype()));
  return apply(Op::kPad, {Tensor(meeting.graph, meeting.nodes[0]), fill}, pad_attributes(amounts));
}

Tensor Tensor::reflect_pad(const std::vector<DimPair>& amounts) const {
  if (amounts.size() == shape().size() && std::all_of(amounts.begin(), amounts.end(), is_none)) return *this;
  return apply(Op::kReflectPad, {*this}, pad_attributes(amounts));
}

Tensor Tensor::shrink(const std::vector<DimPair>& ranges) const {
  Attributes attributes;
  bool whole = ranges.size() == shape().size();
  for (size_t i = 0; i < ranges.size(); i++) {
    attributes.begin.push_back(ranges[i].first);
    attributes.size.push_back(ranges[i].second - ranges[i].first);
    whole = whole && ranges[i].first.is(0) && same(ranges[i].second, shape()[i]);
  }
  return whole ? *this : apply(Op::kShrink, {*this}, std::move(attributes));
}

Tensor Tensor::slice(int at, Dim begin, Dim end, int64_t step) const {
  const int along = axis(at);
  const Dim& size = dim(along);
  if (begin.is_constant() && begin.constant() < 0) begin = size + begin;
  if (end.is(kEnd))
    end = size;
  else if (end.is_constant() && end.constant() < 0)
    end = size + end;
  if (step < 1) fail("slice", concat("step ", step, " is not positive; use flip() for the reverse order"));
  std::vector<DimPair> ranges;
  for (const Dim& whole : shape()) ranges.emplace_back(0, whole);
  ranges[static_cast<size_t>(along)] = {begin, end};
  Tensor part = shrink(ranges);
  if (step == 1) return part;
  Attributes attributes;
  attributes.size.assign(shape().size(), 1);
  attributes.size[static_cast<size_t>(along)] = step;
  return apply(Op::kStride, {part}, std::move(attributes));
}

Tensor Tensor::flip(const std::vector<int>& axes) const {
  if (axes.empty()) return *this;
  Attributes attributes;
  attributes.order.assign(shape().size(), 0);
  for (const int entry : axes) attributes.order[static_cast<size_t>(axis(entry))] = 1;
  return apply(Op::kFlip, {*this}, std::move(attributes));
}

Tensor Tensor::window(int at, const Dim& size, const Dim& step, const Dim& dilation) const {
  Attributes attributes;
  attributes.axis = axis(at);
  attributes.size = {size};
  attributes.begin = {step, dilation};
  return apply(Op::kWindow, {*this}, std::move(attributes));
}

std::vector<Tensor> Tensor::split(int at, const std::vector<Dim>& sizes) const {
  std::vector<Tensor> parts;
  Dim begin = 0;
  for (const Dim& size : sizes) {
    parts.push_back(slice(at, begin, begin + size));
    begin = begin + size;
  }
  if (!same(begin, dim(at)))
    fail("split", concat("sizes ", text(sizes), " add up to ", begin.text(), ", axis ", at, " of shape ", text(shape()),
                         " has ", dim(at).text()));
  return parts;
}

std::vector<Tensor> Tensor::chunk(int at, int64_t parts) const {
  if (parts < 1) fail("chunk", concat(parts, " parts; at least 1 is needed"));
  const Dim size = floor_div(dim(at), parts);
  if (!same(size * parts, dim(at)))
    fail("chunk", concat("axis ", at, " of shape ", text(shape()), " cannot be cut into ", parts, " equal parts"));
  return split(at, std::vector<Dim>(static_cast<size_t>(parts), size));
}

Tensor Tensor::gather(int at, const Tensor& indices) const {
  Attributes attributes;
  attributes.axis = axis(at);
  return apply(Op::kGather, {*this, indices}, std::move(attributes));
}

Tensor Tensor::limit(int at, const Tensor& lengths, Number fill) const {
  Attributes attributes;
  attributes.axis = axis(at);
  const auto meeting = tensor_detail::meet({*this, lengths}, "limit");
  const Tensor value(meeting.graph, fill.make(*meeting.graph, dtype()));
  return apply(Op::kLimit, {Tensor(meeting.graph, meeting.nodes[0]), Tensor(meeting.graph, meeting.nodes[1]), value},
               std::move(attributes));
}

Tensor embedding(const Tensor& indices, const Tensor& table) { return table.gather(0, indices); }

Tensor concat(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) fail("concat", "no tensors given");
  if (tensors.size() == 1) return tensors[0];
  Attributes attributes;
  attributes.axis = tensors[0].axis(axis);
  return apply(Op::kConcat, tensors, std::move(attributes));
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) fail("stack", "no tensors given");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(tensor.unsqueeze(axis));
  return concat(parts, axis);
}

}  // namespace tandem
