#include "core/graph/graph.h"

#include <algorithm>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/infer.h"

namespace tandem {

namespace {

uint64_t hash_text(uint64_t seed, const std::string& value) {
  // FNV-1a: std::hash differs between standard libraries, and node order must not.
  uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : value) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3ull;
  return hash_mix(seed, hash);
}

uint64_t hash_list(uint64_t seed, const std::vector<Index>& list) {
  seed = hash_mix(seed, list.size());
  for (const Index& entry : list) seed = hash_mix(seed, entry.hash());
  return seed;
}

uint64_t hash_of(const Node& node) {
  uint64_t hash = hash_mix(static_cast<uint64_t>(node.op) << 8, static_cast<uint64_t>(node.dtype));
  hash = hash_list(hash, node.shape);
  for (const NodeId operand : node.operands) hash = hash_mix(hash, operand);
  const Attributes& a = node.attributes;
  hash = hash_mix(hash, static_cast<uint64_t>(a.axis));
  hash = hash_mix(hash, static_cast<uint64_t>(a.count));
  hash = hash_mix(hash, bit_cast<uint64_t>(a.value));
  hash = hash_mix(hash, static_cast<uint64_t>(a.integer));
  for (const int32_t entry : a.order) hash = hash_mix(hash, static_cast<uint64_t>(entry));
  hash = hash_list(hash, a.begin);
  hash = hash_list(hash, a.size);
  hash = hash_text(hash, a.name);
  return a.data ? hash_mix(hash, a.data->content_hash) : hash;
}

bool equal_data(const ConstantData* a, const ConstantData* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  if (a->content_hash != b->content_hash || a->size != b->size) return false;
  return a->bytes == b->bytes || a->size == 0 || std::memcmp(a->bytes, b->bytes, a->size) == 0;
}

bool equal(const Node& x, const Node& y) {
  const Attributes& a = x.attributes;
  const Attributes& b = y.attributes;
  return x.op == y.op && x.dtype == y.dtype && x.operands == y.operands && x.shape == y.shape && a.axis == b.axis &&
         a.count == b.count && bit_cast<uint64_t>(a.value) == bit_cast<uint64_t>(b.value) && a.integer == b.integer &&
         a.order == b.order && a.begin == b.begin && a.size == b.size && a.name == b.name &&
         equal_data(a.data.get(), b.data.get());
}

}  // namespace

NodeId Graph::make(Op op, std::span<const NodeId> operands, Attributes attributes, DType dtype, Shape shape) {
  for (const NodeId operand : operands)
    TANDEM_CHECK(operand < nodes_.size(), concat("operand ", operand, " of ", name_of(op), " is not in the graph"));
  Node node = infer_node(*this, op, operands, std::move(attributes), dtype, std::move(shape));

  std::vector<NodeId>& candidates = by_hash_[hash_of(node)];
  for (const NodeId candidate : candidates)
    if (equal(nodes_[candidate], node)) return candidate;

  TANDEM_CHECK(nodes_.size() < kNoNode, "too many nodes");
  node.has_input = op == Op::kInput;
  for (const NodeId operand : node.operands) node.has_input |= nodes_[operand].has_input;
  if (!origins_.empty()) node.origin = join(origins_, " / ");
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(node));
  candidates.push_back(id);
  return id;
}

void Graph::push_origin(std::string scope) { origins_.push_back(std::move(scope)); }

void Graph::pop_origin() {
  TANDEM_CHECK(!origins_.empty(), "pop_origin without push_origin");
  origins_.pop_back();
}

std::vector<NodeId> reachable_nodes(const Graph& graph, std::span<const NodeId> outputs) {
  std::vector<bool> needed(graph.size(), false);
  for (const NodeId output : outputs) {
    TANDEM_CHECK(output < graph.size(), concat("output ", output, " is not in the graph"));
    needed[output] = true;
  }
  for (size_t id = graph.size(); id-- > 0;)
    if (needed[id])
      for (const NodeId operand : graph.node(static_cast<NodeId>(id)).operands) needed[operand] = true;
  std::vector<NodeId> nodes;
  for (size_t id = 0; id < graph.size(); id++)
    if (needed[id]) nodes.push_back(static_cast<NodeId>(id));
  return nodes;
}

NodeId import_node(Graph& target, const Graph& source, NodeId id) {
  std::unordered_map<NodeId, NodeId> copies;
  for (const NodeId original : reachable_nodes(source, std::span(&id, 1))) {
    const Node& node = source.node(original);
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(copies.at(operand));
    copies[original] = target.make(node.op, operands, node.attributes, node.dtype, node.shape);
  }
  return copies.at(id);
}

}  // namespace tandem
