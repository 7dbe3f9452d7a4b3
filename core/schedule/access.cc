#include "core/schedule/access.h"

#include "core/base/bits.h"

namespace tandem {

void AccessWalk::walk(NodeId id, const std::vector<Index>& index) {
  uint64_t key = hash_mix(0, id);
  for (const Index& expression : index) key = hash_mix(key, expression.hash());
  if (!seen_.insert(key).second) return;
  if (!visit(id, index)) return;
  const Node& node = graph_.node(id);
  const Attributes& attributes = node.attributes;
  const auto announce = [&](const Index& position, const Index& bound) {
    if (choose) choose({position, bound});
  };
  if (is_rearrangement(node.op)) return walk(node.operands[0], operand_index(graph_, node, index));
  switch (node.op) {
    case Op::kPad:
    case Op::kReflectPad: {
      const Shape& inner = graph_.node(node.operands[0]).shape;
      std::vector<Index> below = index;
      for (size_t axis = 0; axis < index.size(); axis++) {
        const Index& before = attributes.begin[axis];
        if (before.is(0) && attributes.size[axis].is(0)) continue;
        announce(index[axis], before);
        announce(index[axis], before + inner[axis]);
        below[axis] = index[axis] - before;
      }
      walk(node.operands[0], below);
      if (node.op == Op::kPad) walk(node.operands[1], {});
      return;
    }
    case Op::kLimit: {
      if (end) end(id, index);
      const auto rank = static_cast<std::ptrdiff_t>(graph_.node(node.operands[1]).shape.size());
      walk(node.operands[0], inside ? inside(id, index) : index);
      walk(node.operands[1], std::vector<Index>(index.begin(), index.begin() + rank));
      walk(node.operands[2], {});
      return;
    }
    case Op::kConcat: {
      Index begin = 0;
      for (NodeId operand : node.operands) {
        std::vector<Index> below = index;
        below[attributes.axis] = index[attributes.axis] - begin;
        begin += graph_.node(operand).shape[attributes.axis];
        announce(index[attributes.axis], begin);
        walk(operand, below);
      }
      return;
    }
    case Op::kGather: {
      const size_t axis = static_cast<size_t>(attributes.axis);
      const Node& data = graph_.node(node.operands[0]);
      const size_t rank = graph_.node(node.operands[1]).shape.size();
      walk(node.operands[1], std::vector<Index>(index.begin() + axis, index.begin() + axis + rank));
      std::vector<Index> below(index.begin(), index.begin() + axis);
      below.push_back(Index::value(next_loop++, 0, data.shape[axis].upper() - 1));
      below.insert(below.end(), index.begin() + axis + rank, index.end());
      walk(node.operands[0], below);
      return;
    }
    default:
      break;
  }
  const OpClass op_class = info(node.op).op_class;
  std::vector<Index> below = index;
  if (op_class == OpClass::kReduce || op_class == OpClass::kContract) {
    const Shape& inner = graph_.node(node.operands[0]).shape;
    for (size_t axis = index.size(); axis < inner.size(); axis++)
      below.push_back(Index::loop(next_loop++, inner[axis]));
  }
  for (NodeId operand : node.operands) walk(operand, below);
}

bool fills_with(const Graph& graph, const Node& limit, double value, int64_t integer) {
  const Node& fill = graph.node(limit.operands[2]);
  if (fill.op != Op::kScalar) return false;
  return is_float(fill.dtype) ? fill.attributes.value == value : fill.attributes.integer == integer;
}

bool shows_limit(const Graph& graph, const Node& node) {
  if (is_rearrangement(node.op)) return true;
  return node.op == Op::kCast && is_float(node.dtype) && is_float(graph.node(node.operands[0]).dtype);
}

int cost_of(const Node& node) {
  switch (node.op) {
    case Op::kExp:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kErf:
    case Op::kPow:
      return 20;
    case Op::kSqrt:
    case Op::kDiv:
    case Op::kMod:
      return 5;
    case Op::kReflectPad:  // Its subscripts turn round: lanes are loaded one by one.
      return 3;
    default:
      return is_elementwise(info(node.op).op_class) ? 1 : 0;
  }
}

}  // namespace tandem
