#include "core/schedule/storage.h"

#include <cmath>

#include "core/graph/movement_index.h"

namespace tandem {
namespace {

/// The numbers of a dtype: integers of up to `bits` bits times a power of two; nonzero ones lie from 2^lowest to
/// 2^highest.
struct NumberRange {
  int bits, lowest, highest;
};

NumberRange range_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {11, -24, 16};
    case DType::kBF16:
      return {8, -133, 128};
    case DType::kF32:
      return {24, -149, 128};
    case DType::kF64:
      return {53, -1074, 1024};
    case DType::kBool:
      return {1, 0, 1};
    default: {
      const int bits = 8 * static_cast<int>(size_of(dtype));
      return {bits, 0, bits};
    }
  }
}

/// Does the node put zeros beside its operand, without a sign?
bool pads_with_zeros(const Graph& graph, const Node& node) {
  if (node.op != Op::kPad) return false;
  const Node& fill = graph.node(node.operands[1]);
  return fill.op == Op::kScalar && fill.attributes.value == 0 && !std::signbit(fill.attributes.value) &&
         fill.attributes.integer == 0;
}

}  // namespace

bool is_widening_cast(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kCast) return false;
  const DType from = graph.node(node.operands[0]).dtype;
  return size_of(from) < size_of(node.dtype) && holds(node.dtype, from);
}

DType storage_dtype(const Graph& graph, NodeId id) {
  DType smallest = graph.node(id).dtype;
  while (is_rearrangement(graph.node(id).op) || is_widening_cast(graph, id) || pads_with_zeros(graph, graph.node(id))) {
    id = graph.node(id).operands[0];
    smallest = graph.node(id).dtype;
  }
  return smallest;
}

bool multiplies_exactly(DType a, DType b, DType product) {
  const NumberRange x = range_of(a), y = range_of(b), whole = range_of(product);
  return x.bits + y.bits <= whole.bits && x.lowest + y.lowest >= whole.lowest && x.highest + y.highest <= whole.highest;
}

}  // namespace tandem
