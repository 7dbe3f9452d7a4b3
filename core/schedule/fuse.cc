// Which values get a buffer. Fusion is the default; each materialised node carries the reason that forced it.

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/movement_index.h"
#include "core/schedule/access.h"
#include "core/schedule/schedule.h"
#include "core/schedule/storage.h"

namespace tandem {

std::string_view name_of(Form form) {
  constexpr std::string_view names[] = {"map", "reduce", "contract"};
  return names[static_cast<int>(form)];
}

namespace {

/// An element computed in fewer instructions than this is computed again rather than kept.
constexpr int kCheap = 2;
/// Constants of so many bytes may become wider at prepare than they are stored, to be loaded without a conversion.
constexpr int64_t kFewBytes = 32 << 10;

bool is_leaf(const Node& node) { return info(node.op).op_class == OpClass::kLeaf; }
bool is_accumulation(const Node& node) {
  return info(node.op).op_class == OpClass::kReduce || info(node.op).op_class == OpClass::kContract;
}

class Fuser {
 public:
  explicit Fuser(const GraphModule& module) : module_(module), graph_(*module.graph), state_(graph_.size()) {}

  std::vector<Group> run() {
    survey();
    for (NodeId id = static_cast<NodeId>(graph_.size()); id-- > 0;)
      if (state_[id].reachable) decide(id);
    std::vector<Group> groups;
    for (NodeId id = 0; id < graph_.size(); id++)
      if (state_[id].group) groups.push_back(*state_[id].group);
    return groups;
  }

 private:
  struct State {
    bool reachable = false;
    bool dynamic = false;       // Depends on an input or on a variable.
    bool has_constant = false;  // Something under it has a buffer of its own, or is worth computing once.
    int cost = 0;
    std::vector<NodeId> users;
    std::vector<NodeId> roots;  // Groups that would compute it in place; more than two are not told apart.
    std::string forced;         // Reason to materialise, found at a user.
    std::optional<Group> group;
  };

  void survey() {
    std::vector<NodeId> pending = module_.outputs;
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (state_[id].reachable) continue;
      state_[id].reachable = true;
      for (NodeId operand : graph_.node(id).operands) pending.push_back(operand);
    }
    for (NodeId output : module_.outputs) state_[output].forced = "output";
    for (NodeId id = 0; id < graph_.size(); id++) {
      if (!state_[id].reachable) continue;
      const Node& node = graph_.node(id);
      State& state = state_[id];
      state.cost = cost_of(node);
      // Outputs are written at every step, even constant ones: what uses them can't run earlier.
      state.dynamic = !state.forced.empty() || node.op == Op::kInput ||
                      (node.op == Op::kSize && !node.attributes.size[0].is_constant());
      for (const Dim& dim : node.shape) state.dynamic |= !dim.is_constant();
      for (NodeId operand : node.operands) {
        State& below = state_[operand];
        if (std::find(below.users.begin(), below.users.end(), id) == below.users.end()) below.users.push_back(id);
        state.dynamic |= below.dynamic;
        if (!is_accumulation(graph_.node(operand))) state.cost += below.cost;
      }
      state.cost = std::min(state.cost, 1000);
    }
  }

  void add_root(State& state, NodeId root) {
    if (std::find(state.roots.begin(), state.roots.end(), root) == state.roots.end() && state.roots.size() < 3)
      state.roots.push_back(root);
  }

  void decide(NodeId id) {
    State& state = state_[id];
    const Node& node = graph_.node(id);
    const bool is_output = state.forced == "output";
    if ((node.op == Op::kInput || node.op == Op::kConstant) && !is_output) return;
    state.roots.clear();
    for (NodeId user : state.users) {
      if (state_[user].group)
        add_root(state, user);
      else
        for (NodeId root : state_[user].roots) add_root(state, root);
    }
    std::string reason = state.forced;
    if (reason.empty()) reason = reason_to_materialise(id);
    if (!reason.empty()) materialise(id, reason);
    if (info(node.op).op_class == OpClass::kContract) force_operands(node);
  }

  std::string reason_to_materialise(NodeId id) {
    State& state = state_[id];
    const Node& node = graph_.node(id);
    if (is_leaf(node)) return {};
    if (!state.dynamic && feeds_dynamic(id) && !is_rearrangement(node.op) && worth_folding(id)) return "constant";
    if (is_accumulation(node)) {
      if (state.roots.size() == 1 && take_as_anchor(state.roots[0], id)) return {};
      if (state.roots.size() == 1 && is_row_statistic(state.roots[0], id)) {
        state_[state.roots[0]].group->row_statistics = true;
        return {};
      }
      std::string reason = info(node.op).op_class == OpClass::kContract ? "contraction" : "reduction";
      const NodeId top = last_of_epilogue(id);
      if (top == id) return reason;
      materialise(top, reason);
      take_as_anchor(top, id);
      for (NodeId between = top; between-- > id + 1;)
        if (state_[between].reachable && !state_[between].group) decide(between);
      state.roots = {top};
      return {};
    }
    if (state.roots.size() > 1 && state.cost > kCheap && !is_rearrangement(node.op) && !only_widens_a_buffer(id))
      return "used by several kernels";
    return {};
  }

  /// What is below has a buffer of its own: loading that and widening it costs no more than another buffer.
  bool only_widens_a_buffer(NodeId id) const {
    if (!is_widening_cast(graph_, id)) return false;
    return !state_[below_rearrangements(graph_, graph_.node(id).operands[0])].forced.empty();
  }

  /// The last node above an accumulation up to which only elementwise ops and rearrangements follow and nothing leaves
  /// the chain: what the accumulation's kernel can do before it stores.
  NodeId last_of_epilogue(NodeId id) const {
    std::set<NodeId> chain = {id};
    std::set<NodeId> next(state_[id].users.begin(), state_[id].users.end());
    NodeId last = id;
    while (!next.empty()) {
      const NodeId candidate = *next.begin();
      const Node& node = graph_.node(candidate);
      const bool follows = is_elementwise(info(node.op).op_class) || node.op == Op::kPermute || node.op == Op::kReshape;
      if (!follows || state_[candidate].group || !state_[candidate].forced.empty()) break;
      if (element_count(node.shape) != element_count(graph_.node(id).shape) || follows_an_anchor(candidate)) break;
      chain.insert(candidate);
      next.erase(next.begin());
      for (NodeId user : state_[candidate].users)
        if (!chain.count(user)) next.insert(user);
      // Everything that the chain's earlier nodes feed is in the chain: a buffer here is enough.
      bool closed = true;
      for (NodeId member : chain)
        if (member != candidate)
          for (NodeId user : state_[member].users) closed &= chain.count(user) > 0;
      if (closed && maps_one_to_one(candidate, id)) last = candidate;
    }
    return last;
  }

  /// Is the node computed behind the accumulation of the kernel that it belongs to? Then it stays there.
  bool follows_an_anchor(NodeId id) const {
    for (NodeId root : state_[id].roots) {
      const NodeId anchor = state_[root].group->anchor;
      if (anchor != kNoNode && anchor < id && reaches(id, anchor, kNoNode)) return true;
    }
    return false;
  }

  bool maps_one_to_one(NodeId root, NodeId anchor) const {
    const Shape& shape = graph_.node(anchor).shape;
    std::vector<Index> index;
    for (size_t axis = 0; axis < shape.size(); axis++)
      index.push_back(Index::loop(static_cast<uint32_t>(axis), shape[axis]));
    return root_index_of_anchor(module_, root, anchor, index).has_value();
  }

  /// Is its value needed at every step? Users that cost nothing pass it on.
  bool feeds_dynamic(NodeId id) const {
    for (NodeId user : state_[id].users) {
      if (state_[user].dynamic) return true;
      const bool passes = is_rearrangement(graph_.node(user).op) || is_widening_cast(graph_, user);
      if (passes && !state_[user].group && feeds_dynamic(user)) return true;
    }
    return false;
  }

  /// Constant expressions that are only scalars stay where they are: the builder folds them. What only widens many
  /// numbers happens when they are loaded, so that weights stay as small as they are stored.
  bool worth_folding(NodeId id) const {
    const Node& node = graph_.node(id);
    const int64_t bytes = element_count(node.shape).upper() * static_cast<int64_t>(size_of(node.dtype));
    if (bytes > kFewBytes && is_widening_cast(graph_, id)) return false;
    return !element_count(node.shape).is(1) && (state_[id].cost > 0 || !is_elementwise(info(node.op).op_class));
  }

  void materialise(NodeId id, const std::string& reason) {
    const Node& node = graph_.node(id);
    Group group;
    group.root = id;
    group.reason = reason;
    group.prepare = !state_[id].dynamic && reason != "output";
    if (is_accumulation(node)) {
      group.anchor = id;
      group.form = info(node.op).op_class == OpClass::kReduce ? Form::kReduce : Form::kContract;
    }
    state_[id].group = group;
    state_[id].roots.clear();
  }

  /// Operands of a contraction are read many times: what isn't a plain view of a buffer gets one. Of bf16 values that
  /// are only shown as f32, that is one of bf16.
  void force_operands(const Node& contraction) {
    for (NodeId operand : contraction.operands) {
      NodeId base = operand;
      while (is_rearrangement(graph_.node(base).op) || shows_bfloat16(graph_, base) ||
             (!state_[base].dynamic && is_widening_cast(graph_, base)))
        base = graph_.node(base).operands[0];
      if (!is_leaf(graph_.node(base)) && state_[base].forced.empty()) state_[base].forced = "operand of a contraction";
    }
  }

  /// A kernel does one accumulation in its own loops, and what follows it on the way to the root.
  bool take_as_anchor(NodeId root, NodeId id) {
    Group& group = *state_[root].group;
    if (group.anchor == id) return true;
    if (group.anchor != kNoNode || group.row_statistics) return false;
    if (!maps_one_to_one(root, id)) return false;
    group.anchor = id;
    group.form = info(graph_.node(id).op).op_class == OpClass::kReduce ? Form::kReduce : Form::kContract;
    return true;
  }

  /// A reduction whose result belongs to a row of the kernel's loops is computed once per row, in the kernel. Never a
  /// contraction: its register tiles are a kernel of their own.
  bool is_row_statistic(NodeId root, NodeId id) {
    const Group& group = *state_[root].group;
    if (group.form == Form::kContract || info(graph_.node(id).op).op_class == OpClass::kContract) return false;
    const NodeId walked = group.anchor == kNoNode ? root : group.anchor;
    const Shape& shape = graph_.node(walked).shape;
    std::vector<Index> index;
    for (size_t axis = 0; axis < shape.size(); axis++)
      index.push_back(Index::loop(static_cast<uint32_t>(axis), shape[axis]));
    // Everything between the anchor and the root must not see the reduction in other ways.
    if (walked != root && reaches(root, id, walked)) return false;
    const bool reduced_inside = walked == group.anchor;
    bool fits = true;
    AccessWalk walk(graph_);
    walk.visit = [&](NodeId at, const std::vector<Index>& place) {
      if (at == id) {
        fits = fits && lies_inside(place, graph_.node(at).shape) &&
               depends_on_rows_only(place, index, shape, reduced_inside);
        return false;
      }
      return at > id && (at == walked || !state_[at].group);
    };
    walk.walk(walked, index);
    return fits;
  }

  /// A walk goes through paddings and parts of concatenations as if they had no ends: only what lies inside the node
  /// everywhere is the subscript that lowering comes to.
  static bool lies_inside(const std::vector<Index>& place, const Shape& shape) {
    for (size_t axis = 0; axis < place.size(); axis++)
      if (less_equal(0, place[axis]) != Truth::kAlways || less(place[axis], shape[axis]) != Truth::kAlways)
        return false;
    return true;
  }

  /// The subscript uses exactly a run of outermost axes: it is computed once for each of their values, and no more
  /// often. When the kernel reduces inside its loops, all of these may be rows.
  static bool depends_on_rows_only(const std::vector<Index>& place, const std::vector<Index>& loops, const Shape& shape,
                                   bool reduced_inside) {
    for (const Index& expression : place) {
      bool foreign = false;
      expression.for_each_leaf([&](const Index& leaf) {
        if (leaf.kind() == IndexKind::kVariable) return;
        foreign |= std::find(loops.begin(), loops.end(), leaf) == loops.end();
      });
      if (foreign) return false;
    }
    size_t used = 0;
    bool ended = false;
    for (size_t axis = 0; axis < loops.size(); axis++) {
      if (shape[axis].is(1)) continue;
      bool depends = false;
      for (const Index& expression : place) depends |= expression.depends_on(loops[axis]);
      if (depends && ended) return false;
      if (depends) used++;
      ended |= !depends;
    }
    // What depends on no row would be computed before the first loop opens, which only a kernel of one loop can do.
    const auto loops_open = std::count_if(shape.begin(), shape.end(), [](const Dim& dim) { return !dim.is(1); });
    if (used == 0) return loops_open <= (reduced_inside ? 0 : 1);
    return reduced_inside || ended;
  }

  /// Does a path lead from a node down to `target` that avoids `except`?
  bool reaches(NodeId from, NodeId target, NodeId except) const {
    std::vector<NodeId> pending = {from};
    std::set<NodeId> seen;
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (id == target) return true;
      if (id == except || id < target || !seen.insert(id).second) continue;
      for (NodeId operand : graph_.node(id).operands) pending.push_back(operand);
    }
    return false;
  }

  const GraphModule& module_;
  const Graph& graph_;
  std::vector<State> state_;
};

}  // namespace

std::vector<Group> choose_groups(const GraphModule& module) { return Fuser(module).run(); }

std::optional<std::vector<Index>> root_index_of_anchor(const GraphModule& module, NodeId root, NodeId anchor,
                                                       const std::vector<Index>& index) {
  const Graph& graph = *module.graph;
  // Other users of these nodes may stand between the two in the graph: only what the root uses counts.
  std::set<NodeId> under_root = {root};
  for (NodeId id = root; id > anchor; id--)
    if (under_root.count(id))
      for (NodeId operand : graph.node(id).operands) under_root.insert(operand);
  // Subscripts of all nodes between anchor and root that show the anchor's element, from the anchor upwards.
  std::map<NodeId, std::vector<Index>> place;
  place[anchor] = index;
  for (NodeId id = anchor + 1; id <= root; id++) {
    if (!under_root.count(id)) continue;
    const Node& node = graph.node(id);
    std::optional<std::vector<Index>> here;
    for (NodeId operand : node.operands) {
      const auto below = place.find(operand);
      if (below == place.end()) continue;
      std::vector<Index> mapped;
      if (is_elementwise(info(node.op).op_class))
        mapped = below->second;
      else if (node.op == Op::kPermute)
        for (int32_t axis : node.attributes.order) mapped.push_back(below->second[axis]);
      else if (node.op == Op::kReshape)
        mapped = reshape_index(below->second, graph.node(operand).shape, node.shape);
      else
        return std::nullopt;
      if (here && !(*here == mapped)) return std::nullopt;
      here = mapped;
    }
    if (here) place[id] = *here;
  }
  const auto found = place.find(root);
  if (found == place.end()) return std::nullopt;
  return found->second;
}

}  // namespace tandem
