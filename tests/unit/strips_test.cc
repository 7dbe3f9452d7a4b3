#include "core/schedule/strips.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/schedule/schedule.h"
#include "core/tensor/nn.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

/// Queries, keys and values of three heads.
using Attention = std::function<std::vector<Tensor>(const Tensor& q, const Tensor& k, const Tensor& v)>;

struct Sizes {
  Dim queries = 37;
  Dim keys = 61;
  int64_t width = 16;
};

Schedule schedule_of(const Attention& attention, const Sizes& sizes = {}, const std::string& isa = "avx2") {
  GraphModule module;
  const auto input = [&](uint32_t number, const char* name, const Dim& rows) {
    return Tensor::input(module.graph, number, name, DType::kF32, {3, rows, sizes.width});
  };
  const Tensor q = input(0, "q", sizes.queries), k = input(1, "k", sizes.keys), v = input(2, "v", sizes.keys);
  for (const Tensor& result : attention(q, k, v)) {
    module.outputs.push_back(result.node_in(module.graph));
    module.output_names.push_back("y" + std::to_string(module.outputs.size()));
  }
  ScheduleOptions options;
  options.capabilities = *capabilities_named(isa);
  return make_schedule(module, options);
}

int strips_of(const Schedule& schedule) {
  int found = 0;
  for (const Group& group : schedule.groups) found += group.strips.empty() ? 0 : 1;
  return found;
}

Tensor scores(const Tensor& q, const Tensor& k) { return matmul(q, k.transpose(1, 2)) * 0.25; }
std::vector<Tensor> attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return {matmul(softmax(scores(q, k), 2), v)};
}

TEST(Strips, AttentionIsOneKernelAndHasNoMatrixOfScores) {
  for (const char* isa : {"avx512", "avx2", "sse+fma", "sse", "wasm-simd128"}) {
    const Schedule schedule = schedule_of(attention, {}, isa);
    // The keys are packed for the products' vectors; everything else is one call.
    ASSERT_EQ(schedule.program.step_calls.size(), 2u) << isa;
    const Kernel& kernel = schedule.program.kernels[schedule.program.step_calls[1].kernel];
    EXPECT_NE(kernel.name.find("_strips_"), std::string::npos) << kernel.name;
    int64_t local = 0;
    for (const BufferParameter& buffer : kernel.buffers)
      if (buffer.access == Access::kLocal) local += buffer.elements.constant();
    // Two strips, of up to twelve rows of 61 keys, in whole cache lines.
    EXPECT_GE(local, 2 * 4 * 61) << isa;
    EXPECT_LE(local, 2 * 12 * 80) << isa;
    for (const Slot& slot : schedule.program.slots) EXPECT_LT(slot.bytes, 3 * 37 * 61 * 4) << isa << ' ' << slot.name;
  }
}

TEST(Strips, HoldAllScoresOfARowOfWhichFewAreUsed) {
  const Schedule schedule = schedule_of([](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor own = exp(scores(q, k));
    const Tensor few = (own / own.sum({2}, true)).slice(2, 0, 9) + own.slice(2, 9, 18);
    return std::vector{matmul(few, v.slice(1, 0, 9))};
  });
  ASSERT_EQ(strips_of(schedule), 1);
  const Kernel& kernel = schedule.program.kernels[schedule.program.step_calls.back().kernel];
  std::vector<int64_t> local;
  for (const BufferParameter& buffer : kernel.buffers)
    if (buffer.access == Access::kLocal) local.push_back(buffer.elements.constant());
  ASSERT_EQ(local.size(), 2u);
  EXPECT_GE(local[0], 4 * 61);
  EXPECT_LT(local[1], local[0]);
}

TEST(Strips, TheWorkOfAttentionIsThatOfItsThreeParts) {
  const Schedule schedule = schedule_of(attention);
  const int64_t elements = 3 * 37 * 61;
  // Two products, the scale, and the softmax: maximum, difference, exponential, sum, quotient or product by it.
  const int64_t flops = schedule.step_work.back().flops.constant();
  EXPECT_GE(flops, elements * (2 * 16 + 2 * 16 + 6));
  EXPECT_LE(flops, elements * (2 * 16 + 2 * 16 + 8));
  EXPECT_EQ(schedule.step_work.back().bytes.constant(), 3 * 16 * 4 * (37 + 61 + 61 + 37));
}

TEST(Strips, EqualLayersShareTheirKernel) {
  const Schedule schedule = schedule_of([](const Tensor& q, const Tensor& k, const Tensor& v) {
    Tensor x = q;
    for (int layer = 0; layer < 4; layer++) x = attention(x, k, v)[0];
    return std::vector{x};
  });
  EXPECT_EQ(strips_of(schedule), 4);
  int kernels = 0;
  for (const Kernel& kernel : schedule.program.kernels) kernels += kernel.name.find("_strips_") != std::string::npos;
  // The last one writes an output, which lies densely; the inputs of the others lie so too.
  EXPECT_LE(kernels, 2);
}

TEST(Strips, AResultIsNotTheScoresOfAnother) {
  // The second product is one of single numbers, and so none: the softmax would have the first result for its scores,
  // which ends a chain itself. (That one has a single column, and no rows of a tile.)
  const Schedule schedule = schedule_of([](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor one = attention(q, k, v.slice(2, 0, 1))[0];
    return std::vector{matmul(softmax(matmul(one, k.slice(2, 0, 1).transpose(1, 2)), 2), v)};
  });
  EXPECT_EQ(strips_of(schedule), 0);
}

TEST(Strips, RowsFollowVariables) {
  Sizes sizes;
  sizes.queries = Index::variable("t", 1, 100);
  sizes.keys = Index::variable("s", 1, 100);
  EXPECT_EQ(strips_of(schedule_of(attention, sizes)), 1);
}

struct Refused {
  const char* what;
  Attention attention;
  Sizes sizes;
};

TEST(Strips, HaveOneTileForEachProductWhateverTheNumberOfRowsAndColumns) {
  Sizes sizes;
  sizes.queries = Index::variable("t", 1, 100);
  sizes.keys = Index::variable("s", 1, 100);
  for (const char* isa : {"avx512", "avx2", "sse+fma", "sse", "wasm-simd128"}) {
    const Schedule schedule = schedule_of(attention, sizes, isa);
    ASSERT_EQ(strips_of(schedule), 1) << isa;
    const Kernel& kernel = schedule.program.kernels[schedule.program.step_calls.back().kernel];
    // Loops along what a product sums: the width of the heads, and the keys. The others go over panels, rows and the
    // elements of a row.
    int64_t products = 0;
    for (const Instruction& loop : kernel.instructions) {
      if (loop.opcode != Opcode::kLoop) continue;
      int64_t sums = 0;
      for (const ValueId id : kernel.blocks[loop.body]) sums += kernel.instructions[id].opcode == Opcode::kSet;
      products += loop.step == 1 && sums > 4;
    }
    EXPECT_EQ(products, 2) << isa;
  }
}

TEST(Strips, AreRefusedWhereSomethingElseIsRead) {
  const Refused cases[] = {
      {"the weights are an output",
       [](const Tensor& q, const Tensor& k, const Tensor& v) {
         const Tensor weights = softmax(scores(q, k), 2);
         return std::vector{matmul(weights, v), weights};
       },
       {}},
      {"the scores are an output",
       [](const Tensor& q, const Tensor& k, const Tensor& v) {
         const Tensor own = scores(q, k);
         return std::vector{matmul(softmax(own, 2), v), own};
       },
       {}},
      {"two products read the weights",
       [](const Tensor& q, const Tensor& k, const Tensor& v) {
         const Tensor weights = softmax(scores(q, k), 2);
         return std::vector{matmul(weights, v), matmul(weights, k * 2)};
       },
       {}},
      {"weights are multiplied by themselves",
       [](const Tensor& q, const Tensor& k, const Tensor&) {
         const Tensor weights = softmax(scores(q, k), 2);
         return std::vector{matmul(weights, weights.transpose(1, 2))};
       },
       {}},
      {"a row needs the scores of the row above",
       [](const Tensor& q, const Tensor& k, const Tensor& v) {
         const Tensor own = scores(q, k), above = own.pad({{0, 0}, {1, 0}, {0, 0}}).slice(1, 0, 37);
         return std::vector{matmul(softmax(own - above, 2), v)};
       },
       {}},
      {"rows are read backwards",
       [](const Tensor& q, const Tensor& k, const Tensor& v) {
         return std::vector{matmul(softmax(scores(q, k).flip({1}), 2), v)};
       },
       {}},
      {"shares of a column",
       [](const Tensor& q, const Tensor& k, const Tensor& v) {
         const Tensor own = exp(scores(q, k));
         return std::vector{matmul(own / own.sum({1}, true), v)};
       },
       {}},
      {"a row too long for the cache", attention, {37, 40000, 16}},
      {"keys and values too large to be read for every tile", attention, {37, 2000, 256}},
  };
  for (const Refused& refused : cases)
    EXPECT_EQ(strips_of(schedule_of(refused.attention, refused.sizes)), 0) << refused.what;
}

TEST(Strips, AreShownInTheScheduleText) {
  GraphModule module;
  const Tensor q = Tensor::input(module.graph, 0, "q", DType::kF32, {9, 8});
  module.outputs = {matmul(softmax(matmul(q, q.transpose(0, 1)), 1), q).node_in(module.graph)};
  module.output_names = {"y"};
  ScheduleOptions options;
  options.capabilities = *capabilities_named("avx2");
  const std::string text = make_schedule(module, options).text(module);
  EXPECT_NE(text.find(", with a strip of "), std::string::npos) << text;
}

}  // namespace
}  // namespace tandem
