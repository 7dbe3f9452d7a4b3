#include "core/tensor/tensor.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/detail.h"

namespace tandem {

namespace tensor_detail {

void fail(const char* operation, const std::string& problem) { throw TensorError(concat(operation, ": ", problem)); }

namespace {

bool reaches_input(const Tensor& tensor) {
  const auto graph = tensor.graph();
  return graph->node(tensor.node_in(graph)).has_input;
}

}  // namespace

Meeting meet(const std::vector<Tensor>& tensors, const char* operation) {
  Meeting meeting;
  for (const Tensor& tensor : tensors)
    if (tensor.empty()) fail(operation, "an operand is an empty Tensor; assign it first");
  const bool one_graph = std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
    return tensor.is_in_graph() && tensor.graph() == tensors[0].graph();
  });
  if (one_graph) {
    meeting.graph = tensors[0].graph();
  } else {
    for (const Tensor& tensor : tensors) {
      if (!tensor.is_in_graph() || tensor.graph() == meeting.graph || !reaches_input(tensor)) continue;
      if (meeting.graph)
        fail(operation, "the operands depend on inputs of two different graphs; build one graph at a time");
      meeting.graph = tensor.graph();
    }
    for (const Tensor& tensor : tensors)
      if (!meeting.graph && tensor.is_in_graph()) meeting.graph = tensor.graph();
    if (!meeting.graph) meeting.graph = std::make_shared<Graph>();
  }
  for (const Tensor& tensor : tensors) meeting.nodes.push_back(tensor.node_in(meeting.graph));
  return meeting;
}

Tensor apply(Op op, const std::vector<Tensor>& operands, Attributes attributes, DType dtype, Shape shape) {
  const Meeting meeting = meet(operands, name_of(op));
  const NodeId node = meeting.graph->make(op, meeting.nodes, std::move(attributes), dtype, std::move(shape));
  return Tensor(meeting.graph, node);
}

Shape broadcast_shape(const char* operation, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); i++) {
    Dim& dim = out[offset + i];
    if (shorter[i].is(1) || same(dim, shorter[i])) continue;
    if (!dim.is(1))
      fail(operation, concat("shapes ", text(a), " and ", text(b), " do not broadcast: ", dim.text(), " meets ",
                             shorter[i].text(), "; equal sizes or 1 are needed, aligned at the last axis"));
    dim = shorter[i];
  }
  return out;
}

std::vector<int> identity_order(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace tensor_detail

NodeId Number::make(Graph& graph, DType dtype) const {
  return whole_ ? make_integer_scalar(graph, dtype, integer_) : make_scalar(graph, dtype, value_);
}

Tensor Tensor::input(std::shared_ptr<Graph> graph, int32_t number, std::string name, DType dtype, Shape shape,
                     std::vector<Dim> strides) {
  Attributes attributes;
  attributes.count = number;
  attributes.name = std::move(name);
  attributes.size = std::move(strides);
  const NodeId node = graph->make(Op::kInput, {}, std::move(attributes), dtype, std::move(shape));
  return Tensor(std::move(graph), node);
}

Tensor Tensor::constant(DType dtype, Shape shape, std::shared_ptr<const ConstantData> data) {
  // Checked here, where the weight is named, rather than where it is first used.
  Graph checker;
  make_constant(checker, dtype, shape, data);
  auto constant = std::make_shared<tensor_detail::FreeConstant>();
  constant->dtype = dtype;
  constant->shape = std::move(shape);
  constant->data = std::move(data);
  Tensor tensor;
  tensor.free_ = std::move(constant);
  return tensor;
}

const Shape& Tensor::shape() const {
  if (empty()) tensor_detail::fail("shape()", "the Tensor is empty; assign it first");
  return graph_ ? graph_->node(node_).shape : free_->shape;
}

DType Tensor::dtype() const {
  if (empty()) tensor_detail::fail("dtype()", "the Tensor is empty; assign it first");
  return graph_ ? graph_->node(node_).dtype : free_->dtype;
}

int Tensor::axis(int axis) const {
  const int count = rank();
  if (axis < -count || axis >= count)
    throw TensorError(
        concat("axis ", axis, " does not exist in shape ", text(shape()), "; use ", -count, " .. ", count - 1));
  return axis < 0 ? axis + count : axis;
}

const Dim& Tensor::dim(int i) const { return shape()[static_cast<size_t>(axis(i))]; }

std::shared_ptr<Graph> Tensor::graph() const { return graph_ ? graph_ : std::make_shared<Graph>(); }

NodeId Tensor::node_in(const std::shared_ptr<Graph>& graph) const {
  if (empty()) tensor_detail::fail("node_in()", "the Tensor is empty; assign it first");
  if (free_) return make_constant(*graph, free_->dtype, free_->shape, free_->data);
  return graph == graph_ ? node_ : import_node(*graph, *graph_, node_);
}

Scope::Scope(const Tensor& x, std::string name) : graph_(x.is_in_graph() ? x.graph() : nullptr) {
  if (graph_) graph_->push_origin(std::move(name));
}

Scope::~Scope() {
  if (graph_) graph_->pop_origin();
}

Tensor full(const Shape& shape, Number value, DType dtype) {
  auto graph = std::make_shared<Graph>();
  const NodeId node = value.make(*graph, dtype);
  return Tensor(std::move(graph), node).expand(shape);
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }

Tensor arange(const Dim& n, DType dtype) {
  auto graph = std::make_shared<Graph>();
  const NodeId node = graph->make(Op::kIota, {}, {}, DType::kI64, {n});
  return Tensor(std::move(graph), node).cast(dtype);
}

Tensor size_tensor(const Dim& dim, DType dtype) {
  auto graph = std::make_shared<Graph>();
  Attributes attributes;
  attributes.size = {dim};
  const NodeId node = graph->make(Op::kSize, {}, std::move(attributes), DType::kI64);
  return Tensor(std::move(graph), node).cast(dtype);
}

}  // namespace tandem
