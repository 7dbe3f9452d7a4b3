// Printing and parsing graphs: exact round trips, and errors that name the line.
#include "core/graph/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/graph/constant.h"
#include "core/tensor/nn.h"
#include "tests/reference/random_graph.h"

namespace tandem {
namespace {

using testing::HasSubstr;

const char* const every_form =
    R"(variables n: 2 .. 8 multiple 2, t: 1 .. 1500
%0 = input f32[n, t + 6] number=0 "mel \"x\"" strides=[2048, 1]
%1 = scalar f32[] value=-0
%2 = pad f32[n, t + 7] %0, %1 before=[0, 1] after=[0, 0]
%3 = window f32[n, (t + 4)/2, 3] %2 axis=1 size=[3] step=[2] dilation=[2]
%4 = reduce_max f32[n, (t + 4)/2] %3 count=1
%5 = constant f16[3] "w" values=[1.5, nan, -inf]
%6 = constant i64[2] "" values=[9223372036854775807, -1]
%7 = size i64[] of=[2*t + min(n, t)]
%8 = iota i64[3, 4] axis=1
%9 = scalar u64[] value=18446744073709551615
%10 = reshape f16[1, 3] %5
%11 = expand f16[2, 3] %10
%12 = permute f16[3, 2] %11 order=[1, 0]
%13 = flip f16[3, 2] %12 flags=[1, 0]
%14 = shrink f16[2, 1] %13 begin=[1, 0] size=[2, 1]
%15 = stride f16[1, 1] %14 step=[2, 1]
%16 = gather f16[3] %5, %17 axis=0
outputs %4 "out"
)";

std::string error_of(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const TensorError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidFormat);
    return error.what();
  }
  return "no error";
}

TEST(GraphText, PrintsEveryForm) {
  std::string text = every_form;
  text = text.substr(0, text.find("%16")) + "outputs %4 \"out\", %6 \"b\", %7 \"c\", %8 \"d\", %9 \"e\", %15 \"f\"\n";
  GraphModule module;
  ASSERT_NO_THROW(module = parse_graph(text));
  const std::string printed = print_graph(module);
  EXPECT_EQ(print_graph(parse_graph(printed)), printed);
  EXPECT_THAT(printed, HasSubstr("variables n: 2 .. 8 multiple 2, t: 1 .. 1500\n"));
  EXPECT_THAT(printed, HasSubstr("input f32[n, t + 6] number=0 \"mel \\\"x\\\"\" strides=[2048, 1]"));
  EXPECT_THAT(printed, HasSubstr("axis=1 size=[3] step=[2] dilation=[2]"));
  EXPECT_THAT(printed, HasSubstr("scalar f32[] value=-0\n"));
  EXPECT_THAT(printed, HasSubstr("values=[1.5, nan, -inf]"));
  EXPECT_THAT(printed, HasSubstr("values=[9223372036854775807, -1]"));
  EXPECT_THAT(printed, HasSubstr("value=18446744073709551615"));
}

TEST(GraphText, UnreachableNodesAndNumbersDoNotMatter) {
  const std::string text =
      "# a comment\n%3 = input f32[2] number=0 \"x\"\n\n%9 = exp f32[2] %3\n%5 = neg f32[2] %3  # and another\noutputs "
      "%5 \"y\"\r\n";
  EXPECT_EQ(print_graph(parse_graph(text)), "%0 = input f32[2] number=0 \"x\"\n%1 = neg f32[2] %0\noutputs %1 \"y\"\n");
}

TEST(GraphText, LargeConstantsComeFromTheResolver) {
  const std::string text = "%0 = constant f32[20] \"w\"\noutputs %0 \"y\"\n";
  const auto resolver = [](std::string_view name, DType dtype, const Shape& shape) {
    EXPECT_EQ(name, "w");
    return constant_data(dtype, shape, std::vector<std::byte>(80), std::string(name));
  };
  const std::string printed = print_graph(parse_graph(text, resolver));
  EXPECT_THAT(printed, HasSubstr("constant f32[20] \"w\" hash="));
  EXPECT_EQ(print_graph(parse_graph(printed, resolver)), printed);
  EXPECT_THAT(error_of(text), HasSubstr("line 1, column 26: no data for constant \"w\""));
  std::string wrong = printed;
  wrong[wrong.find("hash=") + 5] ^= 1;
  EXPECT_THROW(parse_graph(wrong, resolver), TensorError);
}

TEST(GraphText, Origins) {
  auto graph = std::make_shared<Graph>();
  const Tensor x = Tensor::input(graph, 0, "x", DType::kF32, {2});
  OriginScope scope(*graph, "head");
  GraphModule module{graph, {(-x).node_in(graph)}, {"y"}};
  const std::string text = print_graph(module, {true});
  EXPECT_THAT(text, HasSubstr("neg f32[2] %0  # head\n"));
  EXPECT_EQ(print_graph(parse_graph(text)), print_graph(module));
}

TEST(GraphText, RandomGraphsRoundTrip) {
  for (uint32_t seed = 1; seed <= 100; seed++) {
    const auto random = reference::random_graph(seed);
    std::map<std::string, std::shared_ptr<const ConstantData>> constants;
    for (size_t id = 0; id < random.module.graph->size(); id++)
      if (const auto& data = random.module.graph->node(static_cast<NodeId>(id)).attributes.data)
        constants[data->name] = data;
    const std::string text = print_graph(random.module);
    const GraphModule again =
        parse_graph(text, [&](std::string_view name, DType, const Shape&) { return constants.at(std::string(name)); });
    EXPECT_EQ(print_graph(again), text) << "seed " << seed;
  }
}

TEST(GraphText, ErrorsNameTheLine) {
  EXPECT_THAT(error_of(""), HasSubstr("no outputs line"));
  EXPECT_THAT(error_of("%0 = input f32[2] number=0 \"x\"\n%1 = frob f32[2] %0\n"),
              HasSubstr("line 2, column 10: unknown op \"frob\""));
  EXPECT_THAT(error_of("%0 = input f99[2]"), HasSubstr("unknown dtype \"f99\""));
  EXPECT_THAT(error_of("%0 = input f32[u]"), HasSubstr("\"u\" is not an index expression"));
  EXPECT_THAT(error_of("%0 = neg f32[2] %7"), HasSubstr("%7 is not defined above"));
  EXPECT_THAT(error_of("%0 = input f32[2"), HasSubstr("no ']'"));
  EXPECT_THAT(error_of("%0 = input f32[2] number=zero"), HasSubstr("\"zero\" is not an integer"));
  EXPECT_THAT(error_of("%0 = input f32[2] number=0 \"x"), HasSubstr("expected '\"'"));
  EXPECT_THAT(error_of("%0 = input f32[2] color=1"), HasSubstr("unknown attribute \"color\""));
  EXPECT_THAT(error_of("%0 = input f32[2] number=0 \"x\"\n%1 = neg f32[3] %0"),
              HasSubstr("stated as f32[3], but it is f32[2]"));
  EXPECT_THAT(error_of("%0 = input f32[2] number=0 \"x\"\n%0 = neg f32[2] %0"), HasSubstr("%0 is defined twice"));
  EXPECT_THAT(error_of("variables t: 5 .. 1"), HasSubstr("variable t has no values"));
  EXPECT_THAT(error_of("variables t: 1 .. 5, t: 1 .. 5"), HasSubstr("twice"));
  EXPECT_THAT(error_of("%0 = input i32[2] number=0 \"x\"\n%1 = exp i32[2] %0"), HasSubstr("line 2"));
  EXPECT_THAT(error_of("%0 = constant f32[3] \"\" values=[1, 2]"), HasSubstr("has 8 bytes"));
  EXPECT_THAT(error_of("hello"), HasSubstr("expected '%', 'variables' or 'outputs'"));
}

// Damaged text must give an error or a graph, never a crash.
TEST(GraphText, DamagedTextIsAnErrorOrAGraph) {
  const std::string text = every_form;
  reference::Random random(5);
  for (int i = 0; i < 3000; i++) {
    std::string damaged = text;
    for (int64_t edits = random.between(1, 3); edits > 0; edits--) {
      const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(damaged.size())));
      if (random.chance(0.5))
        damaged.erase(at, static_cast<size_t>(random.between(1, 4)));
      else
        damaged[at] = static_cast<char>(random.between(32, 126));
    }
    try {
      parse_graph(damaged);
    } catch (const TensorError&) {
    }
  }
}

}  // namespace
}  // namespace tandem
