// Hash-consing, the op table's rules with their error texts, and the verifier.
#include "core/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/graph/constant.h"
#include "core/graph/verify.h"

namespace tandem {
namespace {

using testing::HasSubstr;

class GraphTest : public testing::Test {
 protected:
  NodeId input(DType dtype, Shape shape) {
    Attributes attributes;
    attributes.count = next_++;
    attributes.name = "x" + std::to_string(attributes.count);
    return graph_.make(Op::kInput, {}, std::move(attributes), dtype, std::move(shape));
  }
  NodeId make(Op op, std::vector<NodeId> operands, Attributes attributes = {}, DType dtype = DType::kF32,
              Shape shape = {}) {
    return graph_.make(op, operands, std::move(attributes), dtype, std::move(shape));
  }
  std::string error_of(Op op, std::vector<NodeId> operands, Attributes attributes = {}, DType dtype = DType::kF32,
                       Shape shape = {}) {
    try {
      make(op, std::move(operands), std::move(attributes), dtype, std::move(shape));
    } catch (const TensorError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTensor);
      return error.what();
    }
    return "no error";
  }
  std::string shape_of(NodeId id) { return std::string(name_of(graph_.node(id).dtype)) + text(graph_.node(id).shape); }

  static Attributes lists(std::vector<Index> begin, std::vector<Index> size) {
    Attributes attributes;
    attributes.begin = std::move(begin);
    attributes.size = std::move(size);
    return attributes;
  }
  static Attributes numbers(int32_t axis, int32_t count, std::vector<int32_t> order = {}) {
    Attributes attributes;
    attributes.axis = axis;
    attributes.count = count;
    attributes.order = std::move(order);
    return attributes;
  }
  static Attributes window(int32_t axis, const Index& size, const Index& step, const Index& dilation) {
    Attributes attributes = lists({step, dilation}, {size});
    attributes.axis = axis;
    return attributes;
  }

  Graph graph_;
  int32_t next_ = 0;
};

TEST_F(GraphTest, EveryOpHasARow) {
  for (int i = 0; i < kOpCount; i++) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(op_named(name_of(op)), op);
    EXPECT_NE(std::string(info(op).meaning), "");
  }
  EXPECT_EQ(op_named("nothing"), std::nullopt);
}

TEST_F(GraphTest, EqualNodesAreOne) {
  const NodeId x = input(DType::kF32, {2, 3}), y = input(DType::kF32, {2, 3});
  const NodeId sum = make(Op::kAdd, {x, y});
  EXPECT_EQ(make(Op::kAdd, {x, y}), sum);
  EXPECT_NE(make(Op::kAdd, {y, x}), sum);
  EXPECT_NE(make(Op::kSub, {x, y}), sum);
  // Attributes that the op doesn't use make no difference.
  EXPECT_EQ(make(Op::kAdd, {x, y}, numbers(3, 7, {1})), sum);
  const NodeId half = make_scalar(graph_, DType::kF32, 0.1);
  EXPECT_EQ(make_scalar(graph_, DType::kF32, static_cast<double>(0.1f)), half);
  EXPECT_NE(make_scalar(graph_, DType::kF64, 0.1), half);
  EXPECT_NE(make_scalar(graph_, DType::kF32, 0.0), make_scalar(graph_, DType::kF32, -0.0));
  EXPECT_EQ(make_scalar(graph_, DType::kF32, NAN), make_scalar(graph_, DType::kF32, -NAN));
  EXPECT_EQ(make_integer_scalar(graph_, DType::kU8, 256 + 7), make_integer_scalar(graph_, DType::kU8, 7));
}

TEST_F(GraphTest, ConstantsAreEqualByContent) {
  const NodeId a = make_constant<float>(graph_, {3}, std::vector<float>{1, 2, 3}, "a");
  EXPECT_EQ(make_constant<float>(graph_, {3}, std::vector<float>{1, 2, 3}, "b"), a);
  EXPECT_EQ(graph_.node(a).attributes.data->name, "a");
  EXPECT_NE(make_constant<float>(graph_, {3, 1}, std::vector<float>{1, 2, 3}), a);
  EXPECT_NE(make_constant<float>(graph_, {3}, std::vector<float>{1, 2, 4}), a);
  // A collision of hashes must not merge different bytes.
  auto forged = std::make_shared<ConstantData>(*graph_.node(a).attributes.data);
  auto owner = std::make_shared<std::vector<std::byte>>(12, std::byte{1});
  forged->bytes = owner->data();
  forged->owner = owner;
  EXPECT_NE(make_constant(graph_, DType::kF32, {3}, forged), a);
  EXPECT_THAT(error_of(Op::kConstant, {}, {}, DType::kF32, {3}), HasSubstr("has no data"));
  EXPECT_THROW(make_constant<float>(graph_, {4}, std::vector<float>{1, 2, 3}, "w"), TensorError);
}

TEST_F(GraphTest, NumbersAndHashesAreStable) {
  // Node numbers reach plans and caches: they must not depend on the platform.
  const NodeId a = make_constant<float>(graph_, {3}, std::vector<float>{1, 2, 3});
  EXPECT_EQ(graph_.node(a).attributes.data->content_hash, constant_data(DType::kF32, {3},
                                                                        [] {
                                                                          std::vector<std::byte> bytes;
                                                                          for (const double v : {1, 2, 3})
                                                                            append_element(bytes, DType::kF32, v);
                                                                          return bytes;
                                                                        }())
                                                              ->content_hash);
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(make(Op::kNeg, {a}), 1u);
}

TEST_F(GraphTest, References) {
  const NodeId x = input(DType::kF32, {2});
  const Node& node = graph_.node(x);
  for (int i = 0; i < 5000; i++) make_integer_scalar(graph_, DType::kI32, i);
  EXPECT_EQ(node.attributes.name, "x0");
}

TEST_F(GraphTest, OriginsAreNotPartOfTheIdentity) {
  const NodeId x = input(DType::kF32, {2});
  NodeId first;
  {
    OriginScope outer(graph_, "encoder.0");
    OriginScope inner(graph_, "norm");
    first = make(Op::kNeg, {x});
  }
  EXPECT_EQ(graph_.node(first).origin, "encoder.0 / norm");
  EXPECT_EQ(make(Op::kNeg, {x}), first);
  EXPECT_EQ(graph_.node(x).origin, "");
}

TEST_F(GraphTest, ElementwiseRules) {
  const NodeId f = input(DType::kF32, {2, 3}), i = input(DType::kI32, {2, 3}), b = input(DType::kBool, {2, 3});
  EXPECT_EQ(shape_of(make(Op::kLess, {f, f})), "bool[2, 3]");
  EXPECT_EQ(shape_of(make(Op::kWhere, {b, i, i})), "i32[2, 3]");
  EXPECT_EQ(shape_of(make(Op::kCast, {f}, {}, DType::kU8)), "u8[2, 3]");
  EXPECT_EQ(shape_of(make(Op::kBitcast, {f}, {}, DType::kI32)), "i32[2, 3]");
  EXPECT_THAT(error_of(Op::kAdd, {f, i}),
              HasSubstr("add f32[2, 3] \"x0\", i32[2, 3] \"x1\": operands have dtypes f32 and i32; cast"));
  EXPECT_THAT(error_of(Op::kAdd, {f, input(DType::kF32, {3, 2})}), HasSubstr("shapes [2, 3] and [3, 2]"));
  EXPECT_THAT(error_of(Op::kExp, {i}), HasSubstr("works on floats, not on i32"));
  EXPECT_THAT(error_of(Op::kAnd, {f, f}), HasSubstr("works on integers and bool, not on f32"));
  EXPECT_THAT(error_of(Op::kNeg, {b}), HasSubstr("no meaning for bool"));
  EXPECT_THAT(error_of(Op::kWhere, {i, f, f}), HasSubstr("the condition is i32"));
  EXPECT_THAT(error_of(Op::kBitcast, {f}, {}, DType::kF16), HasSubstr("same size"));
  EXPECT_THAT(error_of(Op::kAdd, {f}), HasSubstr("takes 2 operands, not 1"));
}

TEST_F(GraphTest, MovementRules) {
  const NodeId x = input(DType::kF32, {4, 6, 5});
  EXPECT_EQ(shape_of(make(Op::kReshape, {x}, {}, DType::kF32, {8, 15})), "f32[8, 15]");
  EXPECT_THAT(error_of(Op::kReshape, {x}, {}, DType::kF32, {7, 15}), HasSubstr("has 105 elements, the operand 120"));
  EXPECT_EQ(shape_of(make(Op::kPermute, {x}, numbers(0, 0, {2, 0, 1}))), "f32[5, 4, 6]");
  EXPECT_THAT(error_of(Op::kPermute, {x}, numbers(0, 0, {2, 0, 0})), HasSubstr("names axis 0 twice"));
  EXPECT_THAT(error_of(Op::kPermute, {x}, numbers(0, 0, {1, 0})),
              HasSubstr("2 entries; give one for each of the 3 axes"));
  EXPECT_THAT(error_of(Op::kPermute, {x}, numbers(0, 0, {1, 0, 3})), HasSubstr("axis 3 does not exist; use 0 .. 2"));
  EXPECT_THAT(error_of(Op::kExpand, {x}, {}, DType::kF32, {4, 12, 5}),
              HasSubstr("axis 1 has size 6 and cannot become 12"));
  const NodeId zero = make_scalar(graph_, DType::kF32, 0);
  EXPECT_EQ(shape_of(make(Op::kPad, {x, zero}, lists({1, 0, 0}, {2, 0, 3}))), "f32[7, 6, 8]");
  EXPECT_THAT(error_of(Op::kPad, {x, zero}, lists({-1, 0, 0}, {0, 0, 0})), HasSubstr("padding before axis 0 is -1"));
  EXPECT_THAT(error_of(Op::kPad, {x, make_scalar(graph_, DType::kF64, 0)}, lists({1, 0, 0}, {0, 0, 0})),
              HasSubstr("dtype"));
  EXPECT_EQ(shape_of(make(Op::kReflectPad, {x}, lists({3, 0, 4}, {0, 5, 4}))), "f32[7, 11, 13]");
  EXPECT_THAT(error_of(Op::kReflectPad, {x}, lists({4, 0, 0}, {0, 0, 0})), HasSubstr("axis 0"));
  EXPECT_EQ(shape_of(make(Op::kShrink, {x}, lists({1, 0, 2}, {3, 6, 3}))), "f32[3, 6, 3]");
  EXPECT_THAT(error_of(Op::kShrink, {x}, lists({2, 0, 0}, {3, 6, 5})),
              HasSubstr("elements 2 .. 4 of axis 0 are not all inside its 4"));
  EXPECT_EQ(shape_of(make(Op::kStride, {x}, lists({}, {3, 1, 2}))), "f32[2, 6, 3]");
  EXPECT_THAT(error_of(Op::kStride, {x}, lists({}, {0, 1, 1})), HasSubstr("step on axis 0 is 0"));
  EXPECT_THAT(error_of(Op::kFlip, {x}, numbers(0, 0, {0, 2, 0})), HasSubstr("flag 2"));
  EXPECT_EQ(shape_of(make(Op::kWindow, {x}, window(1, 3, 2, 1))), "f32[4, 2, 5, 3]");
  EXPECT_THAT(error_of(Op::kWindow, {x}, window(2, 3, 1, 3)), HasSubstr("reaches over 7 elements, axis 2 has 5"));
  EXPECT_EQ(shape_of(make(Op::kConcat, {x, input(DType::kF32, {4, 1, 5})}, numbers(1, 0))), "f32[4, 7, 5]");
  EXPECT_THAT(error_of(Op::kConcat, {x, input(DType::kF32, {4, 1, 6})}, numbers(1, 0)),
              HasSubstr("size 6 on axis 2, the first 5"));
  EXPECT_EQ(shape_of(make(Op::kGather, {x, input(DType::kI64, {2, 9})}, numbers(1, 0))), "f32[4, 2, 9, 5]");
  EXPECT_THAT(error_of(Op::kGather, {x, x}, numbers(1, 0)), HasSubstr("indices are f32"));
}

TEST_F(GraphTest, ReductionRules) {
  const NodeId x = input(DType::kF16, {4, 6, 5});
  EXPECT_EQ(shape_of(make(Op::kReduceSum, {x}, numbers(0, 2))), "f16[4]");
  EXPECT_EQ(shape_of(make(Op::kContract, {x, x}, numbers(0, 1))), "f16[4, 6]");
  EXPECT_THAT(error_of(Op::kReduceMax, {x}, numbers(0, 4)), HasSubstr("cannot reduce the last 4 of 3 axes"));
  EXPECT_THAT(error_of(Op::kReduceMax, {x}, numbers(0, 0)), HasSubstr("cannot reduce the last 0"));
  EXPECT_THAT(error_of(Op::kContract, {x, input(DType::kF16, {4, 6, 1})}, numbers(0, 1)), HasSubstr("shapes"));
}

TEST_F(GraphTest, SymbolicRulesHoldForTheWholeRange) {
  const Dim t = Index::variable("t", 2, 100);
  const NodeId x = input(DType::kF32, {8, t});
  EXPECT_EQ(make(Op::kAdd, {x, x}), make(Op::kAdd, {x, x}));
  EXPECT_TRUE(same(graph_.node(make(Op::kReshape, {x}, {}, DType::kF32, {2, 4, t})).shape, Shape{2, 4, t}));
  EXPECT_TRUE(same(graph_.node(make(Op::kWindow, {x}, window(1, 2, 2, 1))).shape[1], floor_div(t - 2, 2) + 1));
  EXPECT_THAT(error_of(Op::kWindow, {x}, window(1, 3, 1, 1)), HasSubstr("raise the variable's minimum"));
  EXPECT_NO_THROW(make(Op::kShrink, {x}, lists({0, 1}, {8, t - 1})));
  EXPECT_NO_THROW(make(Op::kShrink, {x}, lists({0, 0}, {8, min(t, 50)})));
  EXPECT_THAT(error_of(Op::kShrink, {x}, lists({0, 0}, {8, 3})), HasSubstr("for all values of the variables"));
  EXPECT_THAT(error_of(Op::kAdd, {x, input(DType::kF32, {8, 100})}), HasSubstr("[8, t] and [8, 100]"));
  EXPECT_NO_THROW(make(Op::kShrink, {input(DType::kF32, {8, 100})}, lists({0, 0}, {8, t})));
}

TEST_F(GraphTest, VerifierAcceptsAndRefuses) {
  GraphModule module;
  Graph& graph = *module.graph;
  Attributes first, second;
  first.name = "a";
  second.name = "b";
  const NodeId x = graph.make(Op::kInput, {}, first, DType::kF32, {2});
  const NodeId y = graph.make(Op::kInput, {}, second, DType::kF32, {2});
  module.outputs = {x};
  module.output_names = {"out"};
  EXPECT_NO_THROW(verify(module, "test"));
  module.outputs = {x, y};
  EXPECT_THROW(verify(module, "test"), InternalError);
  module.output_names = {"out", "out"};
  EXPECT_THROW(verify(module, "test"), InternalError);
  module.output_names = {"out", "other"};
  EXPECT_THROW(verify(module, "test"), InternalError) << "both are input 0";
  module.outputs = {};
  module.output_names = {};
  EXPECT_THROW(verify(module, "test"), InternalError);
}

TEST_F(GraphTest, ImportCopiesWhatIsNeeded) {
  const NodeId w = make_constant<float>(graph_, {2}, std::vector<float>{1, 2});
  make_scalar(graph_, DType::kF32, 9);
  const NodeId y = make(Op::kExp, {w});
  Graph other;
  const NodeId copy = import_node(other, graph_, y);
  EXPECT_EQ(other.size(), 2u);
  EXPECT_EQ(import_node(other, graph_, y), copy);
}

}  // namespace
}  // namespace tandem
