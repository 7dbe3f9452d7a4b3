// Equal groups are lowered once: whatever two parts of a graph differ in, the schedule is the one that comes of
// lowering every group by itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/error.h"
#include "core/graph/text.h"
#include "core/rewrite/rewrite.h"
#include "core/schedule/schedule.h"
#include "core/tensor/nn.h"
#include "tests/reference/random_graph.h"

namespace tandem {
namespace {

std::string text_of(const Schedule& schedule, const GraphModule& module) {
  std::string all = schedule.text(module);
  for (const Kernel& kernel : schedule.program.kernels) all += text(kernel);
  for (const Work& work : schedule.step_work) all += work.flops.text() + " " + work.bytes.text() + "\n";
  return all;
}

/// Groups that repeat another one, in a schedule that must be the same with and without sharing.
size_t repeated_groups(const GraphModule& module, const char* isa = "avx512", Numerics numerics = Numerics::kFast) {
  ScheduleOptions options;
  options.capabilities = *capabilities_named(isa);
  options.numerics = numerics;
  options.bfloat16_dot = options.capabilities.bfloat16_dot = std::string_view(isa) == "avx512";
  const Schedule shared = make_schedule(module, options);
  options.share_lowering = false;
  const Schedule alone = make_schedule(module, options);
  EXPECT_EQ(alone.repeated_groups, 0u);
  EXPECT_EQ(text_of(shared, module), text_of(alone, module)) << print_graph(module);
  // The same with other tiles than the heuristic's: what a tile is chosen by must be alike in equal groups.
  options.tiles = std::make_shared<TileTable>();
  TileTable others;
  for (const ScheduledContraction& contraction : make_schedule(module, options).contractions)
    others[contraction.key] = contraction.candidates.back();
  options.tiles = std::make_shared<TileTable>(std::move(others));
  const Schedule alone_in_others = make_schedule(module, options);
  options.share_lowering = true;
  EXPECT_EQ(text_of(make_schedule(module, options), module), text_of(alone_in_others, module)) << print_graph(module);
  return shared.repeated_groups;
}

/// x [3, 20], its lane lengths [3], and weights [20, 20].
struct Operands {
  Tensor x, lengths, weight;
};
/// As what is made of bf16 weights.
Tensor rounded(const Tensor& weight) { return weight.cast(DType::kBF16).cast(DType::kF32); }
using Part = std::function<Tensor(const Operands&)>;

/// How much of what the parts compute, each of operands of its own, is lowered once for both.
size_t shared_by(const Part& first, const Part& second, Numerics numerics = Numerics::kFast) {
  GraphModule module;
  int32_t number = 0;
  for (const Part& part : {first, second}) {
    const float scale = number == 0 ? 1.0f : 2.0f;
    Operands operands;
    operands.x = Tensor::input(module.graph, number++, "x", DType::kF32, {3, 20});
    operands.lengths = Tensor::input(module.graph, number++, "lengths", DType::kI32, {3});
    operands.weight = Tensor::constant({20, 20}, std::vector<float>(400, scale));
    module.outputs.push_back(part(operands).node_in(module.graph));
    module.output_names.push_back("y" + std::to_string(number));
  }
  return repeated_groups(module, "avx512", numerics);
}

TEST(SharedLowering, EqualPartsOfAGraphAreLoweredOnce) {
  const auto feed_forward = [](const Operands& in) {
    return in.x +
           linear(relu(linear(layer_norm(in.x, in.weight.slice(0, 0, 1).reshape({20}), {}), in.weight)), in.weight);
  };
  EXPECT_GE(shared_by(feed_forward, feed_forward), 2u);
  const auto attention = [](const Operands& in) {
    const Tensor scores = matmul(in.x, in.weight).limit(0, in.lengths.slice(0, 0, 0 + 1).reshape({}));
    return matmul(softmax(scores, 1, in.lengths), in.weight);
  };
  EXPECT_GE(shared_by(attention, attention), 2u);
}

// Products of two f32 need no rounding in f64 and are fused with their sum in every numerics; those of i32 and f32 do.
TEST(SharedLowering, WhatABufferWasWidenedFromCounts) {
  const auto product = [](const Tensor& rows, const Operands& in) { return matmul(rows, in.weight.cast(DType::kF64)); };
  const Part widened = [&](const Operands& in) { return product(in.x.cast(DType::kF64), in); };
  const Part whole = [&](const Operands& in) { return product(in.x.cast(DType::kI32).cast(DType::kF64), in); };
  EXPECT_GE(shared_by(widened, widened, Numerics::kReproducible), 1u);
  shared_by(widened, whole, Numerics::kReproducible);
  shared_by(whole, widened, Numerics::kReproducible);
}

TEST(SharedLowering, PartsThatDifferInOneThingAreNot) {
  const std::vector<std::pair<Part, Part>> pairs = {
      // A number, an op, a dtype on the way.
      {[](const Operands& in) { return in.x * 2; }, [](const Operands& in) { return in.x * 3; }},
      {[](const Operands& in) { return in.x * -0.0; }, [](const Operands& in) { return in.x * 0.0; }},
      {[](const Operands& in) { return exp(in.x); }, [](const Operands& in) { return log(in.x); }},
      {[](const Operands& in) { return in.x.sum({1}); }, [](const Operands& in) { return in.x.max({1}); }},
      {[](const Operands& in) { return in.x.cast(DType::kF16).cast(DType::kF32); },
       [](const Operands& in) { return in.x.cast(DType::kBF16).cast(DType::kF32); }},
      // Which operand is which, and whether they are the same.
      {[](const Operands& in) { return in.x - in.x.flip({1}); },
       [](const Operands& in) { return in.x.flip({1}) - in.x; }},
      {[](const Operands& in) { return in.x.slice(0, 0, 1) * in.x.slice(0, 1, 2); },
       [](const Operands& in) { return in.x.slice(0, 0, 1) * in.x.slice(0, 0, 1); }},
      // Bounds of movements.
      {[](const Operands& in) { return in.x.pad({{0, 0}, {1, 2}}); },
       [](const Operands& in) { return in.x.pad({{0, 0}, {2, 1}}); }},
      {[](const Operands& in) { return in.x.pad({{0, 0}, {1, 2}}); },
       [](const Operands& in) { return in.x.pad({{0, 0}, {1, 2}}, 1); }},
      {[](const Operands& in) { return exp(in.x.slice(1, 3, 9)); },
       [](const Operands& in) { return exp(in.x.slice(1, 4, 10)); }},
      {[](const Operands& in) { return exp(in.x.slice(1, 0, 16, 2)); },
       [](const Operands& in) { return exp(in.x.slice(1, 0, 8)); }},
      {[](const Operands& in) { return exp(in.x.flip({0})); }, [](const Operands& in) { return exp(in.x.flip({1})); }},
      {[](const Operands& in) { return exp(in.x.reshape({20, 3})); },
       [](const Operands& in) { return exp(in.x.transpose(0, 1)); }},
      {[](const Operands& in) { return concat({in.x, in.x * 2}, 1); },
       [](const Operands& in) { return concat({in.x * 2, in.x}, 1); }},
      {[](const Operands& in) { return in.x.gather(1, in.lengths); },
       [](const Operands& in) { return in.x.slice(0, 0, 3).gather(1, in.lengths + 1); }},
      // Axes that end early: the number beyond the end, and the axis.
      {[](const Operands& in) { return in.x.limit(1, in.lengths); },
       [](const Operands& in) { return in.x.limit(1, in.lengths, 1); }},
      {[](const Operands& in) { return exp(in.x).limit(1, in.lengths).sum({1}); },
       [](const Operands& in) { return exp(in.x).limit(1, in.lengths + 1).sum({1}); }},
      // What is seen of a value that is the same.
      {[](const Operands& in) { return matmul(exp(in.x), in.weight).limit(0, in.lengths.slice(0, 0, 1).reshape({})); },
       [](const Operands& in) { return matmul(exp(in.x), in.weight); }},
      // Which of two values came first: the later one is kept for the elements of the row.
      {[](const Operands& in) {
         const Tensor first = exp(in.x), second = exp(in.x * 2);
         return (first - second) / (first + second).sum({1}, true);
       },
       [](const Operands& in) {
         const Tensor second = exp(in.x * 2), first = exp(in.x);
         return (first - second) / (first + second).sum({1}, true);
       }},
      // What a contraction's operand is: weights, which are packed once, or not.
      {[](const Operands& in) { return matmul(in.x, in.weight); },
       [](const Operands& in) { return matmul(in.x, in.weight.transpose(0, 1)); }},
      {[](const Operands& in) { return matmul(in.x, in.weight); },
       [](const Operands& in) { return matmul(in.x, in.weight + in.x.slice(0, 0, 1)); }},
      {[](const Operands& in) { return matmul(in.x, in.weight); },
       [](const Operands& in) { return matmul(in.x, in.weight.cast(DType::kF16).cast(DType::kF32)); }},
      {[](const Operands& in) { return matmul(in.x.cast(DType::kBF16).cast(DType::kF32), rounded(in.weight)); },
       [](const Operands& in) { return matmul(in.x.cast(DType::kF16).cast(DType::kF32), rounded(in.weight)); }},
      {[](const Operands& in) { return matmul(in.x, in.weight * 2); },
       [](const Operands& in) { return matmul(in.x, in.weight * 3); }},
  };
  for (size_t i = 0; i < pairs.size(); i++) {
    SCOPED_TRACE(i);
    const size_t same = shared_by(pairs[i].first, pairs[i].first);
    EXPECT_GT(same, 0u);
    EXPECT_LT(shared_by(pairs[i].first, pairs[i].second), same);
  }
}

TEST(SharedLowering, BuffersOfOtherLayoutsAreNotShared) {
  GraphModule module;
  const Tensor dense = Tensor::input(module.graph, 0, "dense", DType::kF32, {4, 8});
  const Tensor window = Tensor::input(module.graph, 1, "window", DType::kF32, {4, 8}, {16, 1});
  const Tensor other = Tensor::input(module.graph, 2, "other", DType::kF32, {4, 8}, {16, 1});
  for (const Tensor& x : {dense, window, other}) module.outputs.push_back(exp(x).node_in(module.graph));
  module.output_names = {"a", "b", "c"};
  EXPECT_EQ(repeated_groups(module), 1u);
}

TEST(SharedLowering, BuffersThatAreNotWrittenAsAWholeAreNotShared) {
  for (const bool whole : {false, true}) {
    GraphModule module;
    int32_t number = 0;
    for (const bool second : {false, true}) {
      const Tensor x = Tensor::input(module.graph, number++, "x", DType::kF32, {3, 20});
      const Tensor length = Tensor::input(module.graph, number++, "length", DType::kI32, {});
      const Tensor product = matmul(x, Tensor::constant({20, 20}, std::vector<float>(400, number)));
      module.outputs.push_back(exp(product.limit(0, length)).node_in(module.graph));
      module.output_names.push_back("y" + std::to_string(number));
      if (!second || !whole) continue;
      module.outputs.push_back(relu(product).node_in(module.graph));
      module.output_names.emplace_back("rectified");
    }
    EXPECT_EQ(repeated_groups(module), whole ? 0u : 2u);
  }
}

TEST(SharedLowering, SizesOfOtherVariablesAreNotShared) {
  GraphModule module;
  const Dim s = Index::variable("s", 1, 40), t = Index::variable("t", 1, 40), u = Index::variable("u", 0, 40);
  int32_t number = 0;
  for (const Dim& size : {s, s, t, u}) {
    const Tensor x = Tensor::input(module.graph, number++, "x", DType::kF32, {size, 8});
    module.outputs.push_back(exp(x).sum({0}).node_in(module.graph));
    module.output_names.push_back("y" + std::to_string(number));
  }
  EXPECT_EQ(repeated_groups(module), 1u);
}

/// Another node of the same kind, or the node itself.
void change(Op& op, Attributes& attributes, reference::Random& random) {
  const auto one_of = [&](std::vector<Op> ops) {
    for (const Op known : ops)
      if (op == known) return ops[random.next() % ops.size()];
    return op;
  };
  switch (random.next() % 5) {
    case 0:
      op = one_of({Op::kAdd, Op::kSub, Op::kMin, Op::kMax});
      op = one_of({Op::kReduceSum, Op::kReduceMax, Op::kReduceMin});
      op = one_of({Op::kNeg, Op::kAbs});
      return;
    case 1:
      attributes.value += 1;
      attributes.integer += 1;
      return;
    case 2:
      std::swap(attributes.begin, attributes.size);
      return;
    case 3:
      for (Index& begin : attributes.begin)
        if (!begin.is(0)) begin = begin - 1;
      return;
    default:
      std::reverse(attributes.order.begin(), attributes.order.end());
  }
}

/// The graph twice, the second time with inputs of its own and one node changed, as far as that is possible.
GraphModule twice(const GraphModule& module, reference::Random& random) {
  GraphModule both;
  const std::vector<NodeId> nodes = reachable_nodes(*module.graph, module.outputs);
  const NodeId changed = nodes[random.next() % nodes.size()];
  for (const bool second : {false, true}) {
    std::map<NodeId, NodeId> copies;
    for (const NodeId id : nodes) {
      const Node& node = module.graph->node(id);
      std::vector<NodeId> operands;
      for (const NodeId operand : node.operands) operands.push_back(copies.at(operand));
      Attributes attributes = node.attributes;
      if (second && node.op == Op::kInput) attributes.count += 100;
      Op op = node.op;
      if (second && id == changed) change(op, attributes, random);
      copies[id] = both.graph->make(op, operands, attributes, node.dtype, node.shape);
    }
    for (size_t i = 0; i < module.outputs.size(); i++) {
      both.outputs.push_back(copies.at(module.outputs[i]));
      both.output_names.push_back(module.output_names[i] + (second ? "b" : "a"));
    }
  }
  return both;
}

TEST(SharedLowering, RandomGraphsThatDifferInOneNodeAreScheduledAsIfAlone) {
  const char* isas[] = {"avx512", "avx2", "sse", "wasm-simd128"};
  size_t repeated = 0, tried = 0;
  for (uint32_t seed = 1; seed <= 250; seed++) {
    reference::Random random(seed);
    const auto graph = reference::random_graph(seed, {.variables = static_cast<int>(seed % 3)});
    GraphModule both;
    try {
      both = twice(graph.module, random);
    } catch (const TensorError&) {
      continue;  // The node can't be changed like that.
    }
    SCOPED_TRACE(seed);
    repeated += repeated_groups(rewrite(both), isas[seed % 4], seed % 2 ? Numerics::kFast : Numerics::kReproducible);
    tried++;
    if (HasFailure()) return;
  }
  EXPECT_GT(tried, 150u);
  EXPECT_GT(repeated, 600u);
}

}  // namespace
}  // namespace tandem
