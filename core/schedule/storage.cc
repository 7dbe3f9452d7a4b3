#include "core/schedule/storage.h"

#include <algorithm>
#include <cmath>

#include "core/base/half.h"
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

bool is_bfloat16_number(const Node& node) {
  if (node.op != Op::kScalar || node.dtype != DType::kF32) return false;
  const auto number = static_cast<float>(node.attributes.value);
  return f32_from_bf16(bf16_from_f32(number)) == number;
}

/// Are all values of an f32 expression bf16 ones, by what moves them and where they come from?
bool is_bfloat16(const ProgramBuilder& program, NodeId id) {
  const Graph& graph = *program.module.graph;
  const Node& node = graph.node(id);
  const auto buffer = program.buffers.find(id);
  if (buffer != program.buffers.end()) return buffer->second.dtype == DType::kBF16;
  if (shows_bfloat16(graph, id)) return true;
  const auto first = [&] { return is_bfloat16(program, node.operands[0]); };
  switch (node.op) {
    case Op::kPad:
      return is_bfloat16_number(graph.node(node.operands[1])) && first();
    case Op::kLimit:
      return is_bfloat16_number(graph.node(node.operands[2])) && first();
    case Op::kReflectPad:
      return first();
    case Op::kConcat:
      return std::all_of(node.operands.begin(), node.operands.end(),
                         [&](NodeId operand) { return is_bfloat16(program, operand); });
    default:
      return is_rearrangement(node.op) && first();
  }
}

}  // namespace

bool is_widening_cast(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kCast) return false;
  const DType from = graph.node(node.operands[0]).dtype;
  return size_of(from) < size_of(node.dtype) && holds(node.dtype, from);
}

DType storage_dtype(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool passes = is_rearrangement(node.op) || is_widening_cast(graph, id) || pads_with_zeros(graph, node);
  if (!passes && node.op != Op::kConcat) return node.dtype;
  const DType first = storage_dtype(graph, node.operands[0]);
  if (node.op == Op::kConcat)
    for (const NodeId operand : node.operands)
      if (storage_dtype(graph, operand) != first) return node.dtype;
  return first;
}

bool multiplies_exactly(DType a, DType b, DType product) {
  const NumberRange x = range_of(a), y = range_of(b), whole = range_of(product);
  return x.bits + y.bits <= whole.bits && x.lowest + y.lowest >= whole.lowest && x.highest + y.highest <= whole.highest;
}

DType buffer_dtype(const ProgramBuilder& program, NodeId id) {
  const DType dtype = program.module.graph->node(id).dtype;
  return dtype == DType::kF32 && is_bfloat16(program, id) ? DType::kBF16 : dtype;
}

}  // namespace tandem
