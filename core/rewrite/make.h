#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/rewrite/pattern.h"

namespace tandem::rewriting {

// What replacements are written with. All of them throw TensorError like Graph::make.

NodeId make(Graph& graph, Op op, std::initializer_list<NodeId> operands, DType dtype = DType::kF32);
NodeId make(Graph& graph, Op op, const std::vector<NodeId>& operands, Attributes attributes, DType dtype = DType::kF32,
            Shape shape = {});

// Movement; a movement that moves nothing makes no node.
NodeId reshape(Graph& graph, NodeId x, const Shape& shape);
NodeId permute(Graph& graph, NodeId x, const std::vector<int32_t>& order);
NodeId expand(Graph& graph, NodeId x, const Shape& shape);
NodeId shrink(Graph& graph, NodeId x, const std::vector<Index>& begin, const std::vector<Index>& size);
NodeId stride(Graph& graph, NodeId x, const std::vector<Index>& step);
NodeId flip(Graph& graph, NodeId x, const std::vector<int32_t>& flags);
NodeId pad(Graph& graph, NodeId x, NodeId fill, const std::vector<Index>& before, const std::vector<Index>& after);
NodeId concat_of(Graph& graph, const std::vector<NodeId>& parts, int32_t axis);
/// A reduction or contraction over the last `count` axes.
NodeId accumulate(Graph& graph, Op op, const std::vector<NodeId>& operands, int32_t count);

/// A scalar node in every place of a shape.
NodeId filled(Graph& graph, NodeId scalar, const Shape& shape);
/// A number in every place of a shape; -1 sets all bits of an unsigned integer.
NodeId filled(Graph& graph, DType dtype, double number, const Shape& shape);

/// [0, size) as a list, the whole of an axis.
std::vector<Index> zeros(size_t rank);
/// A provably positive size: what may be empty is left alone by rules that would lose it.
bool is_positive(const Dim& dim);

/// A run of axes of one shape that holds the same elements, in the same order, as a run of axes of another.
struct AxisGroup {
  size_t from_begin, from_end;
  size_t to_begin, to_end;
};
/// The smallest runs that a reshape keeps together; axes of size 1 stand alone where they can. Nothing when a size may
/// be 0 or the runs cannot be told for all values of the variables.
std::optional<std::vector<AxisGroup>> axis_groups(const Shape& from, const Shape& to);

}  // namespace tandem::rewriting
