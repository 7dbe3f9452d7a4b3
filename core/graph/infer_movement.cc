#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/infer.h"

namespace tandem::infer_detail {

namespace {

void infer_reshape(Inference& inference, Shape shape) {
  const Shape& from = inference.operand(0).shape;
  const Index have = element_count(from);
  const Index want = element_count(shape);
  for (const Dim& dim : shape)
    if (dim.lower() < 0) inference.require_at_least(dim, 0, "a dimension of the new shape ", text(shape));
  if (!same(have, want))
    inference.fail(concat("the new shape ", text(shape), " has ", want.text(), " elements, the operand ", have.text(),
                          "; give a shape with as many elements"));
  inference.node.shape = std::move(shape);
}

void infer_expand(Inference& inference, Shape shape) {
  const Shape& from = inference.operand(0).shape;
  if (shape.size() != from.size())
    inference.fail(concat("the new shape ", text(shape), " has ", shape.size(), " axes, the operand ", from.size(),
                          "; add axes of size 1 with reshape first"));
  for (size_t i = 0; i < shape.size(); i++) {
    if (!from[i].is(1) && !same(from[i], shape[i]))
      inference.fail(concat("axis ", i, " has size ", from[i].text(), " and cannot become ", shape[i].text(),
                            "; only axes of size 1 are repeated"));
    inference.require_at_least(shape[i], 0, "axis ", i, " of the new shape");
  }
  inference.node.shape = std::move(shape);
}

void infer_permute(Inference& inference, std::vector<int32_t> order) {
  const Shape& from = inference.operand(0).shape;
  inference.require_per_axis(order.size(), "order");
  std::vector<bool> seen(from.size(), false);
  for (const int32_t axis : order) {
    inference.require_axis(axis, from.size());
    if (seen[static_cast<size_t>(axis)])
      inference.fail(concat("order [", join(order), "] names axis ", axis, " twice"));
    seen[static_cast<size_t>(axis)] = true;
    inference.node.shape.push_back(from[static_cast<size_t>(axis)]);
  }
  inference.node.attributes.order = std::move(order);
}

void infer_pad(Inference& inference, std::vector<Index> before, std::vector<Index> after) {
  const Shape& from = inference.operand(0).shape;
  const bool reflect = inference.node.op == Op::kReflectPad;
  if (!reflect) {
    const Node& fill = inference.operand(1);
    inference.require(fill.shape.empty(), "the second operand is the value to fill with, of shape []");
    inference.require(fill.dtype == inference.operand(0).dtype,
                      "the value to fill with needs the operand's dtype; cast it");
  }
  inference.require_per_axis(before.size(), "before");
  inference.require_per_axis(after.size(), "after");
  for (size_t i = 0; i < from.size(); i++) {
    inference.require_at_least(before[i], 0, "the padding before axis ", i);
    inference.require_at_least(after[i], 0, "the padding after axis ", i);
    const bool none = before[i].is(0) && after[i].is(0);
    if (reflect && !none) {
      for (const Index& padding : {before[i], after[i]})
        inference.require_at_least(from[i] - padding, 1, "the size of axis ", i, " less its reflected padding");
    }
    inference.node.shape.push_back(from[i] + before[i] + after[i]);
  }
  inference.node.attributes.begin = std::move(before);
  inference.node.attributes.size = std::move(after);
}

void infer_shrink(Inference& inference, std::vector<Index> begin, std::vector<Index> size) {
  const Shape& from = inference.operand(0).shape;
  inference.require_per_axis(begin.size(), "begin");
  inference.require_per_axis(size.size(), "size");
  for (size_t i = 0; i < from.size(); i++) {
    inference.require_at_least(begin[i], 0, "the begin on axis ", i);
    inference.require_at_least(size[i], 0, "the size on axis ", i);
    if (less_equal(begin[i] + size[i], from[i]) != Truth::kAlways)
      inference.fail(concat("elements ", begin[i].text(), " .. ", (begin[i] + size[i] - 1).text(), " of axis ", i,
                            " are not all inside its ", from[i].text(),
                            (begin[i] + size[i] - from[i]).is_constant()
                                ? ""
                                : " for all values of the variables; tighten their bounds or use min()"));
    inference.node.shape.push_back(size[i]);
  }
  inference.node.attributes.begin = std::move(begin);
  inference.node.attributes.size = std::move(size);
}

void infer_stride(Inference& inference, std::vector<Index> step) {
  const Shape& from = inference.operand(0).shape;
  inference.require_per_axis(step.size(), "step");
  for (size_t i = 0; i < from.size(); i++) {
    inference.require_at_least(step[i], 1, "the step on axis ", i);
    inference.node.shape.push_back(ceil_div(from[i], step[i]));
  }
  inference.node.attributes.size = std::move(step);
}

void infer_flip(Inference& inference, std::vector<int32_t> flags) {
  inference.require_per_axis(flags.size(), "flags");
  for (const int32_t flag : flags)
    if (flag != 0 && flag != 1) inference.fail(concat("flag ", flag, " is neither 0 (keep) nor 1 (reverse)"));
  inference.node.shape = inference.operand(0).shape;
  inference.node.attributes.order = std::move(flags);
}

void infer_window(Inference& inference, const Attributes& given) {
  const Shape& from = inference.operand(0).shape;
  const auto axis = static_cast<size_t>(inference.require_axis(given.axis, from.size()));
  inference.require(given.size.size() == 1 && given.begin.size() == 2, "takes size = {size}, begin = {step, dilation}");
  const Index& size = given.size[0];
  const Index& step = given.begin[0];
  const Index& dilation = given.begin[1];
  inference.require_at_least(size, 1, "the size of a window");
  inference.require_at_least(step, 1, "the step between windows");
  inference.require_at_least(dilation, 1, "the dilation of a window");
  const Index reach = (size - 1) * dilation + 1;
  if (less_equal(reach, from[axis]) != Truth::kAlways)
    inference.fail(concat("a window reaches over ", reach.text(), " elements, axis ", axis, " has ", from[axis].text(),
                          "; pad the axis or raise the variable's minimum"));
  inference.node.shape = from;
  inference.node.shape[axis] = floor_div(from[axis] - reach, step) + 1;
  inference.node.shape.push_back(size);
  inference.node.attributes.axis = given.axis;
  inference.node.attributes.size = given.size;
  inference.node.attributes.begin = given.begin;
}

}  // namespace

void infer_movement(Inference& inference, Shape shape) {
  Node& node = inference.node;
  Attributes given = std::move(node.attributes);
  node.attributes = {};
  node.dtype = inference.operand(0).dtype;
  switch (node.op) {
    case Op::kReshape:
      return infer_reshape(inference, std::move(shape));
    case Op::kExpand:
      return infer_expand(inference, std::move(shape));
    case Op::kPermute:
      return infer_permute(inference, std::move(given.order));
    case Op::kPad:
    case Op::kReflectPad:
      return infer_pad(inference, std::move(given.begin), std::move(given.size));
    case Op::kShrink:
      return infer_shrink(inference, std::move(given.begin), std::move(given.size));
    case Op::kStride:
      return infer_stride(inference, std::move(given.size));
    case Op::kFlip:
      return infer_flip(inference, std::move(given.order));
    default:
      return infer_window(inference, given);
  }
}

void infer_concat(Inference& inference) {
  Node& node = inference.node;
  const int32_t axis = node.attributes.axis;
  node.attributes = {};
  node.attributes.axis = axis;
  const Node& first = inference.operand(0);
  node.dtype = first.dtype;
  node.shape = first.shape;
  const auto along = static_cast<size_t>(inference.require_axis(axis, first.shape.size()));
  for (size_t i = 1; i < node.operands.size(); i++) {
    const Node& next = inference.operand(i);
    if (next.dtype != first.dtype)
      inference.fail(
          concat("operand ", i, " is ", name_of(next.dtype), ", the first ", name_of(first.dtype), "; cast it"));
    if (next.shape.size() != first.shape.size())
      inference.fail(
          concat("operand ", i, " has ", next.shape.size(), " axes, the first ", first.shape.size(), "; reshape it"));
    for (size_t j = 0; j < next.shape.size(); j++)
      if (j != along && !same(next.shape[j], first.shape[j]))
        inference.fail(concat("operand ", i, " has size ", next.shape[j].text(), " on axis ", j, ", the first ",
                              first.shape[j].text(), "; only axis ", axis, " may differ"));
    node.shape[along] = node.shape[along] + next.shape[along];
  }
}

void infer_gather(Inference& inference) {
  Node& node = inference.node;
  const int32_t axis = node.attributes.axis;
  node.attributes = {};
  node.attributes.axis = axis;
  const Node& from = inference.operand(0);
  const Node& indices = inference.operand(1);
  const auto along = inference.require_axis(axis, from.shape.size());
  if (!is_integer(indices.dtype))
    inference.fail(concat("indices are ", name_of(indices.dtype), "; cast them to an integer dtype"));
  node.dtype = from.dtype;
  node.shape.assign(from.shape.begin(), from.shape.begin() + along);
  node.shape.insert(node.shape.end(), indices.shape.begin(), indices.shape.end());
  node.shape.insert(node.shape.end(), from.shape.begin() + along + 1, from.shape.end());
}

void infer_limit(Inference& inference) {
  Node& node = inference.node;
  const int32_t axis = node.attributes.axis;
  node.attributes = {};
  node.attributes.axis = axis;
  const Node& from = inference.operand(0);
  const Node& lengths = inference.operand(1);
  const Node& fill = inference.operand(2);
  const auto along = static_cast<size_t>(inference.require_axis(axis, from.shape.size()));
  if (lengths.dtype != DType::kI32 && lengths.dtype != DType::kI64)
    inference.fail(concat("lengths are ", name_of(lengths.dtype), "; cast them to i32 or i64"));
  inference.require(fill.shape.empty() && fill.dtype == from.dtype,
                    "the third operand is the value beyond a length, of shape [] and the operand's dtype");
  if (lengths.shape.size() > along ||
      !same(lengths.shape, Shape(from.shape.begin(), from.shape.begin() + static_cast<int64_t>(lengths.shape.size()))))
    inference.fail(concat("lengths of shape ", text(lengths.shape), " do not fit the axes before axis ", axis,
                          " of shape ", text(from.shape),
                          "; permute the operand so that the axes of lengths come first"));
  node.dtype = from.dtype;
  node.shape = from.shape;
}

}  // namespace tandem::infer_detail
