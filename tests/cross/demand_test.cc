// Lanes that end early: what lies beyond a length and nobody sees is not computed, by count of the operations that the
// interpreter executes; whatever is computed reads nothing that was not (which the interpreter reports), and gives the
// bits of a plan in which lengths are all there is.

#include <gtest/gtest.h>

#include <cstring>

#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"
#include "tests/reference/compare.h"
#include "tests/reference/random.h"
#include "tests/support/graph_runner.h"

namespace tandem {
namespace {

constexpr int64_t kLanes = 3, kFrames = 128, kWidth = 16;

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> random_floats(int64_t count, uint32_t seed) {
  reference::Random random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.between(-1000, 1000)) / 500;
  return values;
}

Tensor weight(const Shape& shape) {
  const int64_t count = element_count(shape).constant();
  return Tensor::constant<float>(shape, random_floats(count, static_cast<uint32_t>(count)));
}

/// Makes a graph of x [lanes, frames, width] and the lanes' lengths.
using Build = std::function<Tensor(const Tensor& x, const Tensor& lengths)>;

struct Ragged {
  const char* name;
  Build build;
  double most;  ///< Operations at a quarter of the frames, as a share of those for all of them.
};

GraphModule module_of(const Build& build) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {kLanes, kFrames, kWidth});
  const Tensor lengths = Tensor::input(module.graph, 1, "lengths", DType::kI32, {kLanes});
  module.outputs = {build(x, lengths).node_in(module.graph)};
  module.output_names = {"y"};
  return module;
}

Tensor feed_forward(const Tensor& x) {
  return linear(silu(linear(x, weight({4 * kWidth, kWidth}))), weight({kWidth, 4 * kWidth}));
}

Tensor attention(const Tensor& x, const Tensor& lengths) {
  const auto heads = [&](const Tensor& y) { return y.reshape({kLanes, kFrames, 2, kWidth / 2}).permute({0, 2, 1, 3}); };
  const Tensor q = heads(linear(x, weight({kWidth, kWidth}))), k = heads(linear(x, weight({kWidth, kWidth}) * 2));
  const Tensor v = heads(linear(x, weight({kWidth, kWidth}) * 3).limit(1, lengths));
  const Tensor out = matmul(softmax(matmul(q, k.transpose(2, 3)) * 0.3, 3, lengths), v);
  return out.permute({0, 2, 1, 3}).reshape(x.shape());
}

Tensor depthwise(const Tensor& x, int64_t kernel, int64_t stride) {
  return conv1d(x.transpose(1, 2), weight({kWidth, 1, kernel}), {},
                {.stride = stride, .padding = (kernel - 1) / 2, .groups = kWidth})
      .transpose(1, 2);
}

/// Everything that a layer of a speech encoder does. Small numbers: sizes are too.
const std::vector<Ragged>& graphs() {
  static const std::vector<Ragged> list = {
      {"a chain of linear layers", [](const Tensor& x, const Tensor& n) { return feed_forward(x).limit(1, n); }, 0.3},
      {"layer norm and residual",
       [](const Tensor& x, const Tensor& n) {
         const Tensor y = (x + feed_forward(x)).limit(1, n);
         return (y + feed_forward(layer_norm(y, weight({kWidth}), weight({kWidth})))).limit(1, n);
       },
       0.3},
      {"long sums and what follows them",
       [](const Tensor& x, const Tensor& n) {
         const Tensor wide = concat(std::vector<Tensor>(16, silu(linear(x, weight({kWidth, kWidth})))), 2);
         return (x + silu(linear(wide, weight({kWidth, 16 * kWidth})))).limit(1, n);
       },
       0.3},
      {"attention", [](const Tensor& x, const Tensor& n) { return attention(x, n).limit(1, n); }, 0.2},
      {"convolution of what a length ends",
       [](const Tensor& x, const Tensor& n) {
         const Tensor y = feed_forward(x).limit(1, n);
         return feed_forward(depthwise(y, 5, 1)).limit(1, n);
       },
       0.33},
      {"convolution that sees neighbours",
       [](const Tensor& x, const Tensor& n) { return feed_forward(depthwise(feed_forward(x), 5, 1)).limit(1, n); },
       0.33},
      {"subsampling",
       [](const Tensor& x, const Tensor& n) {
         const Tensor half = (n + 1) / 2, quarter = (half + 1) / 2;
         const Tensor y = depthwise(feed_forward(x).limit(1, n), 3, 2).limit(1, half);
         return feed_forward(depthwise(y, 3, 2)).limit(1, quarter);
       },
       0.33},
      {"two lengths of one value",
       [](const Tensor& x, const Tensor& n) {
         const Tensor y = feed_forward(x);
         return y.limit(1, n) + y.limit(1, n / 2) * 2;
       },
       0.33},
      {"time first",
       [](const Tensor& x, const Tensor& n) {
         return linear(exp(feed_forward(x)).limit(1, n).permute({1, 0, 2}), weight({kWidth, kWidth}));
       },
       0.7},
      {"sums over time", [](const Tensor& x, const Tensor& n) { return feed_forward(x).limit(1, n).sum({1}); }, 0.3},
      {"attention of bf16",
       [](const Tensor& x, const Tensor& n) {
         const auto narrow = [](const Tensor& y) { return y.cast(DType::kBF16).cast(DType::kF32); };
         const Tensor y = narrow(x);
         const Tensor q = narrow(linear(y, weight({kWidth, kWidth}))), k = narrow(linear(y, weight({kWidth, kWidth})));
         const Tensor v = narrow(linear(y, weight({kWidth, kWidth})).limit(1, n));
         const Tensor shares = narrow(softmax(matmul(q, k.transpose(1, 2)) * 0.3, 2, n));
         return linear(narrow(depthwise(narrow(matmul(shares, v)).limit(1, n), 5, 1)), weight({kWidth, kWidth}))
             .limit(1, n);
       },
       0.25},
  };
  return list;
}

/// What is computed whole, because somebody sees it.
const std::vector<Ragged>& whole_graphs() {
  static const std::vector<Ragged> list = {
      {"an output without limit", [](const Tensor& x, const Tensor&) { return feed_forward(x); }, 0},
      {"a reader beside the limit",
       [](const Tensor& x, const Tensor& n) {
         const Tensor y = feed_forward(x);
         return y.limit(1, n) + y.sum({1}, true);
       },
       0},
      {"mirrored time", [](const Tensor& x, const Tensor& n) { return feed_forward(x).flip({1}).limit(1, n); }, 0},
      {"another lane's rows", [](const Tensor& x, const Tensor& n) { return feed_forward(x).flip({0}).limit(1, n); },
       0},
      {"lengths made of the values",
       [](const Tensor& x, const Tensor& n) {
         const Tensor y = feed_forward(x);
         const Tensor found = abs(y).sum({1, 2}).cast(DType::kI32);
         return y.limit(1, minimum(found, n));
       },
       0},
  };
  return list;
}

reference::Options options_of(const std::vector<int32_t>& lengths) {
  return {reference::Mode::kExact,
          {},
          {{0, bytes_of(random_floats(kLanes * kFrames * kWidth, 5))}, {1, bytes_of(lengths)}}};
}

uint64_t operations(test::PlannedGraph& planned, int32_t length) {
  const uint64_t before = planned.plan().executable().operations();
  const auto outputs = planned.run(options_of(std::vector<int32_t>(kLanes, length)));
  EXPECT_TRUE(outputs) << outputs.error().text();
  return planned.plan().executable().operations() - before;
}

double quarter_share(const Ragged& graph) {
  auto planned = test::PlannedGraph::make(module_of(graph.build), test::all_targets()[0], Numerics::kFast);
  EXPECT_TRUE(planned) << planned.error().text();
  if (!planned) return 1;
  const uint64_t all = operations(*planned, kFrames);
  EXPECT_GT(all, 10000u);
  return static_cast<double>(operations(*planned, kFrames / 4)) / static_cast<double>(all);
}

TEST(Demand, WhatNobodySeesIsNotComputed) {
  for (const Ragged& graph : graphs()) {
    const double share = quarter_share(graph);
    EXPECT_LE(share, graph.most) << graph.name;
    EXPECT_GE(share, 0.05) << graph.name;
  }
}

TEST(Demand, WhatSomebodySeesIsComputedWhole) {
  for (const Ragged& graph : whole_graphs()) EXPECT_GE(quarter_share(graph), 0.85) << graph.name;
}

class DemandTargets : public testing::TestWithParam<size_t> {
 protected:
  const Ragged& graph() const {
    const size_t bounded = graphs().size();
    return GetParam() < bounded ? graphs()[GetParam()] : whole_graphs()[GetParam() - bounded];
  }
};

TEST_P(DemandTargets, AgreeWithTheReferenceForAllKindsOfLengths) {
  const GraphModule module = module_of(graph().build);
  const std::vector<std::vector<int32_t>> all = {
      {kFrames, kFrames, kFrames}, {1, 0, 2}, {0, 0, 0}, {-5, 200, 31}, {128, 32, 17}, {7, 128, 64}};
  for (const Numerics numerics : {Numerics::kFast, Numerics::kReproducible}) {
    std::vector<test::OutputBytes> first;
    for (const test::Target& target : test::all_targets()) {
      auto planned = test::PlannedGraph::make(module, target, numerics);
      ASSERT_TRUE(planned) << planned.error().text();
      for (size_t i = 0; i < all.size(); i++) {
        SCOPED_TRACE(std::string(graph().name) + " on " + target.name + ", " + std::string(name_of(numerics)) +
                     ", lengths " + std::to_string(i));
        const auto spoiled = planned->spoil();
        ASSERT_TRUE(spoiled) << spoiled.error().text();
        const auto found = planned->run(options_of(all[i]));
        ASSERT_TRUE(found) << found.error().text();
        const auto expected = reference::evaluate(module, options_of(all[i]));
        const auto wrong = reference::mismatch(expected[0], (*found)[0]);
        EXPECT_FALSE(wrong) << *wrong;
        if (numerics != Numerics::kReproducible) continue;
        if (first.size() == i) first.push_back(*found);
        EXPECT_EQ(first[i], *found);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, DemandTargets, testing::Range(size_t{0}, graphs().size() + whole_graphs().size()));

}  // namespace
}  // namespace tandem
