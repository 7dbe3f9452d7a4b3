#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/dtype.h"
#include "core/index/index.h"

namespace tandem {

/// Every operation of a tensor graph; see ops.def for names and meanings.
enum class Op : uint8_t {
#define TANDEM_OP(identifier, ...) identifier,
#include "core/graph/ops.def"
};

/// Number of operations, for tables indexed by them.
inline constexpr int kOpCount = 0
#define TANDEM_OP(identifier, ...) +1
#include "core/graph/ops.def"
    ;

enum class OpClass : uint8_t { kLeaf, kUnary, kBinary, kTernary, kMovement, kNary, kReduce, kContract };
enum class TypeRule : uint8_t { kSame, kCompare, kFloat, kInteger, kSelect, kGiven, kFirst };

/// One row of the op table.
struct OpInfo {
  const char* text;  ///< Name in printed graphs.
  OpClass op_class;
  int8_t arity;  ///< -1: one or more.
  TypeRule type_rule;
  const char* meaning;
};
const OpInfo& info(Op op);
inline const char* name_of(Op op) { return info(op).text; }
/// The op with this printed name, or nothing.
std::optional<Op> op_named(std::string_view text);
constexpr bool is_elementwise(OpClass c) {
  return c == OpClass::kUnary || c == OpClass::kBinary || c == OpClass::kTernary;
}

/// Number of a node in its graph. Operands always have smaller numbers than their users.
using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

/// The bytes of a constant, shared between graphs and plans. `owner` keeps whatever holds the bytes (a vector, a mapped
/// file) alive.
struct ConstantData {
  std::shared_ptr<const void> owner;
  const std::byte* bytes = nullptr;
  size_t size = 0;            ///< Bytes.
  uint64_t content_hash = 0;  ///< Of dtype, shape and bytes (of large constants a few): equal ones become one node.
  std::string name;           ///< Of the weight, for error texts and printed graphs; not part of the identity.
  /// Says that the bytes won't be read for a while, so that the owner may give memory back that it can have again: the
  /// pages of a mapped file. They can be read afterwards as before. Empty: there is nothing to give back.
  std::function<void()> release = {};
};

/// What an op needs beside its operands. Which fields an op uses:
///   input: count = number, name, size = strides in elements (empty: dense) | constant: data
///   scalar: value (floats) or integer | size: size = {the expression} | iota: axis
///   cast, bitcast: (the node's dtype) | reshape, expand: (the node's shape) | permute: order | pad, reflect_pad: begin
///   = before, size = after | shrink: begin, size | stride: size = step | flip: order = flags | window: axis, size =
///   {size}, begin = {step, dilation} | concat, gather, limit: axis | reduce, contract: count
struct Attributes {
  int32_t axis = 0;
  int32_t count = 0;    ///< Reduced axes; number of an input.
  double value = 0;     ///< Of a float scalar.
  int64_t integer = 0;  ///< Of an integer or bool scalar.
  std::vector<int32_t> order;
  std::vector<Index> begin;
  std::vector<Index> size;
  std::string name;  ///< Of an input.
  std::shared_ptr<const ConstantData> data;
};

/// One immutable node.
struct Node {
  Op op;
  DType dtype;
  Shape shape;
  std::vector<NodeId> operands;
  Attributes attributes;
  std::string origin;  ///< Where the model made it ("encoder.0 / conv1d"); first maker wins; not part of the identity.
  bool has_input = false;  ///< Is it an input, or is one under it?
};

/// A tensor graph: immutable, hash-consed nodes behind 32-bit numbers, in an order in which operands come first.
///
/// `make` is the only way to create a node: it infers shape and dtype by the op table's rules, throws TensorError with
/// the names and numbers of what does not fit, and returns the existing node when an equal one is there.
class Graph {
 public:
  /// Makes or finds a node. `dtype` and `shape` are read for ops whose rule needs them (leaves, cast, bitcast, reshape,
  /// expand) and inferred for all others.
  NodeId make(Op op, std::span<const NodeId> operands, Attributes attributes = {}, DType dtype = DType::kF32,
              Shape shape = {});

  /// The reference stays valid while the graph lives, whatever is made later.
  const Node& node(NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }

  /// Adds a scope to the origin of nodes made from now on; see OriginScope.
  void push_origin(std::string scope);
  void pop_origin();

 private:
  std::deque<Node> nodes_;
  std::unordered_map<uint64_t, std::vector<NodeId>> by_hash_;
  std::vector<std::string> origins_;
};

/// Names the part of a model that makes nodes while the scope lives: OriginScope scope(graph, "encoder.0").
class OriginScope {
 public:
  OriginScope(Graph& graph, std::string scope) : graph_(graph) { graph_.push_origin(std::move(scope)); }
  ~OriginScope() { graph_.pop_origin(); }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  Graph& graph_;
};

/// A graph with its named results: what rewriting and scheduling work on.
struct GraphModule {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<NodeId> outputs;
  std::vector<std::string> output_names;
};

/// The nodes that the outputs need, smallest number (operands) first.
std::vector<NodeId> reachable_nodes(const Graph& graph, std::span<const NodeId> outputs);
/// Copies a node, and all that it needs, into another graph; returns its number there.
NodeId import_node(Graph& target, const Graph& source, NodeId id);

}  // namespace tandem
