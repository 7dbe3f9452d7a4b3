#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/program_builder.h"

namespace tandem {

/// Everything that lowering a group looks at, in terms that don't depend on where in the graph it stands: nodes count
/// from the smallest one that is looked at, buffers in the order of their nodes. Groups with equal keys are lowered to
/// the same kernels, called with their own `slots`.
struct GroupKey {
  std::vector<uint64_t> words;
  std::vector<Index> expressions;
  std::vector<uint32_t> slots;  ///< Of the buffers that the group may touch; not part of the identity.

  friend bool operator==(const GroupKey& a, const GroupKey& b) {
    return a.words == b.words && a.expressions == b.expressions;
  }
};
struct GroupKeyHash {
  size_t operator()(const GroupKey& key) const;
};

/// Makes keys of groups whose operands have their buffers.
class GroupKeys {
 public:
  explicit GroupKeys(const ProgramBuilder& program);
  GroupKey key_of(const Group& group);

 private:
  void reach(NodeId id);
  bool is_looked_into(NodeId id) const;
  bool is_view(NodeId id) const;
  void add(const std::vector<Index>& expressions);
  void add_buffer(const BufferRef& buffer);
  void add_node(NodeId id);
  void add_demand(const Group& group);
  void reach_demand(const Group& group);
  void add_strip(const Group& group);

  const ProgramBuilder& program_;
  const Graph& graph_;
  GroupKey key_;
  NodeId root_ = kNoNode;
  std::vector<NodeId> nodes_;      ///< What the group looks at.
  std::vector<NodeId> computed_;   ///< Those of them that are no views.
  std::vector<uint32_t> numbers_;  ///< Per node of the graph: its place in `nodes_`; kUnreached: not there.
};

}  // namespace tandem
