#include "core/schedule/group_key.h"

#include <algorithm>

#include "core/base/bits.h"
#include "core/graph/movement_index.h"
#include "core/schedule/access.h"
#include "core/schedule/storage.h"

namespace tandem {
namespace {

constexpr uint32_t kUnreached = UINT32_MAX;

}  // namespace

size_t GroupKeyHash::operator()(const GroupKey& key) const {
  uint64_t hash = 0;
  for (const uint64_t word : key.words) hash = hash_mix(hash, word);
  for (const Index& expression : key.expressions) hash = hash_mix(hash, expression.hash());
  return static_cast<size_t>(hash);
}

GroupKeys::GroupKeys(const ProgramBuilder& program)
    : program_(program), graph_(*program.module.graph), numbers_(graph_.size(), kUnreached) {}

GroupKey GroupKeys::key_of(const Group& group) {
  key_ = {};
  root_ = group.root;
  nodes_.clear();
  computed_.clear();
  reach(group.root);
  reach_demand(group);
  for (const Group& strip : group.strips) reach_demand(strip);
  // What is computed counts in the order of the graph: lowerings choose the later of two nodes, or begin with the
  // earlier. What is loaded, numbers, and views of them may have been made for another group long before.
  std::sort(computed_.begin(), computed_.end());
  nodes_.insert(nodes_.end(), computed_.begin(), computed_.end());
  for (size_t i = 0; i < nodes_.size(); i++) numbers_[nodes_[i]] = static_cast<uint32_t>(i);
  key_.words = {static_cast<uint64_t>(group.form) | static_cast<uint64_t>(group.prepare) << 8 |
                    static_cast<uint64_t>(group.row_statistics) << 9 |
                    static_cast<uint64_t>(group.reason == "output") << 10,
                numbers_[group.root], group.anchor == kNoNode ? uint64_t{kNoNode} : numbers_[group.anchor]};
  for (const NodeId id : nodes_) add_node(id);
  add_demand(group);
  key_.words.push_back(group.strips.size());
  for (const Group& strip : group.strips) add_strip(strip);
  for (const NodeId id : nodes_) numbers_[id] = kUnreached;
  return std::move(key_);
}

void GroupKeys::reach(NodeId id) {
  std::vector<NodeId> pending = {id};
  while (!pending.empty()) {
    const NodeId next = pending.back();
    pending.pop_back();
    if (numbers_[next] != kUnreached) continue;
    numbers_[next] = 0;
    const std::vector<NodeId>& operands = graph_.node(next).operands;
    (is_view(next) ? nodes_ : computed_).push_back(next);
    if (is_looked_into(next)) pending.insert(pending.end(), operands.begin(), operands.end());
  }
}

/// A leaf, a node that is loaded, or what only rearranges one.
bool GroupKeys::is_view(NodeId id) const {
  while (is_looked_into(id) && is_rearrangement(graph_.node(id).op)) id = graph_.node(id).operands[0];
  return !is_looked_into(id) || graph_.node(id).operands.empty();
}

/// A node with a buffer is loaded, and what made it does not matter: except that packing computes in place what was
/// made at prepare, and that an axis ends early below what shows a limit whether that has buffers or not.
bool GroupKeys::is_looked_into(NodeId id) const {
  const auto buffer = program_.buffers.find(id);
  if (id == root_ || buffer == program_.buffers.end()) return true;
  if (program_.program.slots[buffer->second.slot].role == SlotRole::kPacked) return true;
  const bool rearranges = is_rearrangement(graph_.node(id).op);
  while (shows_limit(graph_, graph_.node(id))) id = graph_.node(id).operands[0];
  return rearranges || graph_.node(id).op == Op::kLimit;
}

void GroupKeys::add(const std::vector<Index>& expressions) {
  key_.words.push_back(expressions.size());
  key_.expressions.insert(key_.expressions.end(), expressions.begin(), expressions.end());
}

void GroupKeys::add_buffer(const BufferRef& buffer) {
  key_.words.push_back(static_cast<uint64_t>(program_.program.slots[buffer.slot].role) |
                       static_cast<uint64_t>(buffer.dtype) << 8 | static_cast<uint64_t>(buffer.partial) << 16);
  key_.words.push_back(static_cast<uint64_t>(program_.slot_elements[buffer.slot]));
  add(buffer.strides);
  const auto known = std::find(key_.slots.begin(), key_.slots.end(), buffer.slot);
  key_.words.push_back(static_cast<uint64_t>(known - key_.slots.begin()));
  if (known == key_.slots.end()) key_.slots.push_back(buffer.slot);
}

void GroupKeys::add_node(NodeId id) {
  const Node& node = graph_.node(id);
  const auto buffer = program_.buffers.find(id);
  const bool inside = is_looked_into(id);
  const bool loaded = buffer != program_.buffers.end();
  // Where numbers come from a narrower dtype their products may need no rounding, whatever buffers lie between.
  key_.words.push_back(static_cast<uint64_t>(node.op) | static_cast<uint64_t>(node.dtype) << 8 |
                       static_cast<uint64_t>(loaded) << 16 | static_cast<uint64_t>(inside) << 17 |
                       static_cast<uint64_t>(storage_dtype(graph_, id)) << 24);
  add(node.shape);
  if (loaded) add_buffer(buffer->second);
  const auto widened = program_.widened.find(id);
  key_.words.push_back(widened != program_.widened.end());
  if (widened != program_.widened.end()) add_buffer(widened->second);
  // What an input or a constant is beyond its buffer is nothing to a kernel.
  if (!inside || (loaded && node.operands.empty())) return;
  const Attributes& attributes = node.attributes;
  key_.words.push_back(static_cast<uint64_t>(static_cast<uint32_t>(attributes.axis)) << 32 |
                       static_cast<uint32_t>(attributes.count));
  key_.words.push_back(bit_cast<uint64_t>(attributes.value));
  key_.words.push_back(static_cast<uint64_t>(attributes.integer));
  key_.words.push_back(attributes.order.size());
  for (const int32_t place : attributes.order) key_.words.push_back(static_cast<uint32_t>(place));
  add(attributes.begin);
  add(attributes.size);
  key_.words.push_back(node.operands.size());
  for (const NodeId operand : node.operands) key_.words.push_back(numbers_[operand]);
}

void GroupKeys::reach_demand(const Group& group) {
  for (const AxisDemand& demand : group.demand)
    for (const LaneEnd& end : demand) reach(end.lengths);
}

void GroupKeys::add_strip(const Group& group) {
  key_.words.push_back(static_cast<uint64_t>(group.form) | static_cast<uint64_t>(group.tile_rows) << 8);
  key_.words.push_back(numbers_[group.root]);
  add_demand(group);
}

void GroupKeys::add_demand(const Group& group) {
  key_.words.push_back(group.demand.size());
  for (const AxisDemand& demand : group.demand) {
    key_.words.push_back(demand.size());
    for (const LaneEnd& end : demand) {
      key_.words.push_back(numbers_[end.lengths]);
      add(end.lanes);
      add({end.size, end.end});
    }
  }
}

}  // namespace tandem
