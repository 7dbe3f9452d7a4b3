// Shapes, dtypes and errors of the Tensor API; its values are tested against hand-computed numbers in
// reference_test.cc.
#include "core/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/tensor/nn.h"

namespace tandem {
namespace {

using testing::HasSubstr;

std::string shape_of(const Tensor& tensor) { return std::string(name_of(tensor.dtype())) + text(tensor.shape()); }

template <typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const TensorError& error) {
    return error.what();
  }
  return "no error";
}

class TensorTest : public testing::Test {
 protected:
  Tensor input(Shape shape, DType dtype = DType::kF32) {
    const int32_t number = next_++;
    return Tensor::input(graph_, number, "x" + std::to_string(number), dtype, std::move(shape));
  }
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  int32_t next_ = 0;
};

TEST_F(TensorTest, Broadcasting) {
  const Tensor a = input({3, 1, 5}), b = input({4, 1});
  EXPECT_EQ(shape_of(a + b), "f32[3, 4, 5]");
  EXPECT_EQ(shape_of(less(b, a)), "bool[3, 4, 5]");
  EXPECT_EQ(shape_of(1 - a), "f32[3, 1, 5]");
  EXPECT_EQ(shape_of(where(less(a, 0), a, 0)), "f32[3, 1, 5]");
  EXPECT_EQ(error_of([&] { a + input({4, 4}); }),
            "add: shapes [3, 1, 5] and [4, 4] do not broadcast: 5 meets 4; equal sizes or 1 are needed, aligned at the "
            "last axis");
  EXPECT_THAT(error_of([&] { a + input({5}, DType::kF64); }), HasSubstr("f32 and f64; cast"));
  EXPECT_THAT(error_of([&] { input({2}, DType::kI32) * 0.5; }), HasSubstr("0.5 is no i32"));
  const Dim t = Index::variable("t", 1, 9);
  EXPECT_EQ(shape_of(input({t, 1}) * input({7})), "f32[t, 7]");
  EXPECT_THAT(error_of([&] { input({t}) * input({9}); }), HasSubstr("do not broadcast"));
}

TEST_F(TensorTest, MovementAddsNoNodesThatDoNothing) {
  const Tensor x = input({2, 3});
  const size_t before = graph_->size();
  for (const Tensor& same_tensor :
       {x.reshape({2, 3}), x.permute({0, 1}), x.expand({2, 3}), x.pad({{0, 0}, {0, 0}}), x.shrink({{0, 2}, {0, 3}}),
        x.slice(1, 0), x.cast(DType::kF32), x.flip({}), concat({x}, 0)})
    EXPECT_EQ(same_tensor.node_in(graph_), x.node_in(graph_));
  EXPECT_EQ(graph_->size(), before);
}

TEST_F(TensorTest, Movement) {
  const Tensor x = input({2, 3, 8});
  EXPECT_EQ(shape_of(x.reshape({-1, 4})), "f32[12, 4]");
  EXPECT_THAT(error_of([&] { x.reshape({-1, 5}); }), HasSubstr("48 elements is not divisible by 5"));
  EXPECT_THAT(error_of([&] { x.reshape({-1, -1}); }), HasSubstr("two -1"));
  EXPECT_EQ(shape_of(x.transpose(0, -1)), "f32[8, 3, 2]");
  EXPECT_EQ(shape_of(x.unsqueeze(-1).unsqueeze(0)), "f32[1, 2, 3, 8, 1]");
  EXPECT_EQ(shape_of(x.unsqueeze(1).squeeze(1)), "f32[2, 3, 8]");
  EXPECT_THAT(error_of([&] { x.squeeze(1); }), HasSubstr("not of size 1"));
  EXPECT_EQ(shape_of(x.flatten()), "f32[48]");
  EXPECT_EQ(shape_of(x.flatten(1)), "f32[2, 24]");
  EXPECT_EQ(shape_of(x.slice(2, -3)), "f32[2, 3, 3]");
  EXPECT_EQ(shape_of(x.slice(2, 1, -1, 2)), "f32[2, 3, 3]");
  EXPECT_THAT(error_of([&] { x.slice(2, 5, 9); }), HasSubstr("elements 5 .. 8 of axis 2 are not all inside its 8"));
  EXPECT_THAT(error_of([&] { x.slice(3, 0); }), HasSubstr("axis 3 does not exist in shape [2, 3, 8]; use -3 .. 2"));
  EXPECT_EQ(shape_of(x.window(2, 3, 2)), "f32[2, 3, 3, 3]");
  EXPECT_EQ(shape_of(stack({x, x}, 1)), "f32[2, 2, 3, 8]");
  EXPECT_EQ(x.chunk(2, 4).size(), 4u);
  EXPECT_THAT(error_of([&] { x.chunk(1, 2); }), HasSubstr("cannot be cut into 2 equal parts"));
  EXPECT_THAT(error_of([&] { x.split(2, {3, 4}); }), HasSubstr("add up to 7, axis 2 of shape [2, 3, 8] has 8"));
  EXPECT_EQ(shape_of(embedding(input({4, 2}, DType::kI64), x)), "f32[4, 2, 3, 8]");
}

TEST_F(TensorTest, Reductions) {
  const Tensor x = input({2, 3, 8});
  EXPECT_EQ(shape_of(x.sum()), "f32[]");
  EXPECT_EQ(shape_of(x.mean({0, 2})), "f32[3]");
  EXPECT_EQ(shape_of(x.max({-2}, true)), "f32[2, 1, 8]");
  EXPECT_EQ(shape_of(x.any({1})), "bool[2, 8]");
  EXPECT_EQ(shape_of(x.argmax(1, true)), "i64[2, 1, 8]");
  EXPECT_THAT(error_of([&] { x.sum({1, -2}); }), HasSubstr("named twice"));
  EXPECT_THAT(error_of([&] { input({2}, DType::kI32).mean(); }), HasSubstr("cast to a float"));
}

TEST_F(TensorTest, Products) {
  EXPECT_EQ(shape_of(matmul(input({7, 1, 4, 5}), input({3, 5, 6}))), "f32[7, 3, 4, 6]");
  EXPECT_EQ(shape_of(matmul(input({5}), input({3, 5, 6}))), "f32[3, 6]");
  EXPECT_EQ(shape_of(matmul(input({5}), input({5}))), "f32[]");
  EXPECT_THAT(error_of([&] { matmul(input({4, 5}), input({6, 5})); }),
              HasSubstr("5 columns meet 6 rows; is one of them transposed?"));
  EXPECT_EQ(shape_of(linear(input({2, 3, 5}), input({7, 5}), input({7}))), "f32[2, 3, 7]");
  EXPECT_THAT(error_of([&] { linear(input({2, 5}), input({5, 7})); }), HasSubstr("linear"));
  EXPECT_EQ(shape_of(conv1d(input({2, 4, 20}), input({6, 2, 3}), input({6}), {2, 1, 2, 2})), "f32[2, 6, 9]");
  EXPECT_THAT(error_of([&] { conv1d(input({2, 4, 20}), input({6, 3, 3})); }),
              HasSubstr("4 on axis 1, but 3 is needed"));
  EXPECT_THAT(error_of([&] { conv1d(input({2, 4, 2}), input({6, 4, 3})); }), HasSubstr("pad the axis"));
  EXPECT_EQ(shape_of(conv2d(input({1, 3, 9, 11}), input({5, 3, 3, 2}), {}, {{2, 1}, {1, 0}, {1, 1}, 1})),
            "f32[1, 5, 5, 10]");
  EXPECT_THAT(error_of([&] { conv2d(input({3, 9, 11}), input({5, 3, 3, 2})); }), HasSubstr("the input needs 4 axes"));
}

// One convolution is one contraction whose innermost reduced axis is the channel.
TEST_F(TensorTest, ConvolutionIsOneContractionChannelInnermost) {
  const Tensor y = conv1d(input({2, 4, 20}), input({6, 4, 3}));
  int count = 0;
  for (size_t id = 0; id < graph_->size(); id++) {
    const Node& node = graph_->node(static_cast<NodeId>(id));
    if (node.op != Op::kContract) continue;
    count++;
    EXPECT_EQ(node.attributes.count, 2);
    EXPECT_EQ(text(graph_->node(node.operands[0]).shape), "[2, 18, 1, 6, 3, 4]");
  }
  EXPECT_EQ(count, 1);
}

TEST_F(TensorTest, LstmCellIsOneContraction) {
  const Dim b = Index::variable("b", 1, 4);
  const Tensor x = input({b, 5}), h = input({b, 7}), c = input({b, 7});
  const LstmOutput out = lstm_cell(x, h, c, input({28, 5}), input({28, 7}), input({28}), input({28}));
  EXPECT_EQ(shape_of(out.h), "f32[b, 7]");
  int count = 0;
  for (size_t id = 0; id < graph_->size(); id++)
    count += graph_->node(static_cast<NodeId>(id)).op == Op::kContract ? 1 : 0;
  EXPECT_EQ(count, 1);
  EXPECT_THAT(error_of([&] { lstm_cell(x, h, c, input({28, 6}), input({28, 7})); }),
              HasSubstr("[28, 5] and [28, 7] are needed"));
}

TEST_F(TensorTest, LstmCellFromGatesChecksItsShapes) {
  const Dim b = Index::variable("b", 1, 4);
  const Tensor h = input({b, 7}), c = input({b, 7});
  EXPECT_EQ(shape_of(lstm_cell(input({b, 28}), h, c, input({28, 7})).h), "f32[b, 7]");
  EXPECT_THAT(error_of([&] { lstm_cell(input({b, 28}), h, c, input({28, 6})); }), HasSubstr("[28, 6]"));
  EXPECT_THAT(error_of([&] { lstm_cell(input({1, 28}), h, c, input({28, 7})); }), HasSubstr("[1, 28]"));
}

TEST_F(TensorTest, ConstantsJoinTheGraphOfAnInput) {
  const Tensor weight = Tensor::constant<float>({2, 3}, {1, 2, 3, 4, 5, 6}, "w");
  EXPECT_FALSE(weight.is_in_graph());
  const Tensor folded = exp(weight.transpose(0, 1)) * 2;
  const Tensor x = input({3, 2});
  EXPECT_EQ((x + folded).graph(), graph_);
  EXPECT_EQ((folded + x).graph(), graph_);
  EXPECT_EQ(shape_of(x + zeros({2}) + arange(2, DType::kF32)), "f32[3, 2]");
  const Tensor stranger = Tensor::input(std::make_shared<Graph>(), 0, "y", DType::kF32, {3, 2});
  EXPECT_THAT(error_of([&] { x + stranger; }), HasSubstr("two different graphs"));
  EXPECT_THAT(error_of([&] { x + Tensor(); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { Tensor::constant<float>({2}, {1, 2, 3}, "w"); }), HasSubstr("\"w\" has 12 bytes"));
}

}  // namespace
}  // namespace tandem
