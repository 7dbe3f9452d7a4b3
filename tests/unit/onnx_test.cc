#include "core/weights/onnx.h"

#include <gtest/gtest.h>

#include "tests/support/onnx_writer.h"

namespace tandem {
namespace {

using namespace testing;  // NOLINT: the writer's functions make up most of this file

Result<WeightFile> read(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  std::vector<std::byte> bytes(data, data + text.size());
  return read_onnx(ByteSource::own(std::move(bytes)), "test.onnx");
}

WeightFile read_ok(const std::string& text) {
  auto file = read(text);
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().text());
  return file ? *file : WeightFile("failed");
}

std::string read_error(const std::string& text, ErrorCode code = ErrorCode::kInvalidFormat) {
  auto file = read(text);
  EXPECT_FALSE(file.has_value());
  if (file) return "";
  EXPECT_EQ(file.error().code, code) << file.error().text();
  return file.error().message;
}

template <typename T>
std::vector<T> values(const WeightFile& file, const std::string& name) {
  const auto tensor = file.get(name);
  EXPECT_TRUE(tensor.has_value()) << tensor.error().text();
  if (!tensor) return {};
  const auto result = (*tensor)->values<T>();
  EXPECT_TRUE(result.has_value()) << result.error().text();
  return result ? *result : std::vector<T>();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A model whose tensors lie in the main graph, in both branches of an If and in a loop inside of one of them.
std::string nested_model() {
  const std::string loop_body =
      onnx_graph({}, {onnx_tensor("deep", 7, {2}, raw_bytes<int64_t>({-1, int64_t{1} << 40}))});
  const std::string then_branch =
      onnx_graph({onnx_node("Constant", "", "weight",
                            {onnx_attribute_tensor("value", onnx_tensor("", 1, {2}, raw_bytes<float>({1, 2})))}),
                  onnx_node("Loop", "loop", "x", {onnx_attribute_graph("body", loop_body)})},
                 {});
  const std::string else_branch =
      onnx_graph({onnx_node("Constant", "", "weight",
                            {onnx_attribute_tensor("value", onnx_tensor("", 1, {1, 2}, raw_bytes<float>({3, 4})))}),
                  onnx_node("Constant", "", "same",
                            {onnx_attribute_tensor("value", onnx_tensor("", 1, {1}, raw_bytes<float>({5})))})},
                 {onnx_tensor("same", 1, {1}, raw_bytes<float>({5}))});
  return onnx_model(onnx_graph(
      {onnx_node("If", "choose", "y",
                 {onnx_attribute_graph("then_branch", then_branch), onnx_attribute_graph("else_branch", else_branch)})},
      {onnx_tensor("top", 11, {}, raw_bytes<double>({0.5}))}));
}

TEST(Onnx, FindsTensorsInAllSubgraphs) {
  const WeightFile file = read_ok(nested_model());
  EXPECT_EQ(file.tensors().size(), 5u);
  EXPECT_EQ(values<double>(file, "top"), std::vector<double>{0.5});
  EXPECT_EQ(file.find("top")->shape, std::vector<int64_t>{});
  EXPECT_EQ(values<int64_t>(file, "deep"), (std::vector<int64_t>{-1, int64_t{1} << 40}));
  EXPECT_EQ(values<float>(file, "weight"), (std::vector<float>{1, 2}));
  EXPECT_EQ(values<float>(file, "same"), std::vector<float>{5});
  EXPECT_EQ(file.metadata().at("producer_name"), "test");
}

TEST(Onnx, GivesRepeatedNamesTheirPath) {
  const WeightFile file = read_ok(nested_model());
  EXPECT_EQ(values<float>(file, "choose.else_branch/weight"), (std::vector<float>{3, 4}));
  const WeightFile twice =
      read_ok(onnx_model(onnx_graph({}, {onnx_tensor("a", 2, {1}, "x"), onnx_tensor("a", 2, {1}, "y"),
                                         onnx_tensor("a", 2, {1}, "z"), onnx_tensor("a", 2, {1}, "x")})));
  EXPECT_EQ(twice.tensors().size(), 3u);
  EXPECT_EQ(values<uint8_t>(twice, "graph/a"), std::vector<uint8_t>{'y'});
  EXPECT_EQ(values<uint8_t>(twice, "graph/a#2"), std::vector<uint8_t>{'z'});
}

TEST(Onnx, ReadsTypedFieldsPackedAndSingle) {
  const float one = 1.5f;
  const double two = -2.25;
  const std::string floats = ProtoWriter()
                                 .varint(1, 3)
                                 .varint(2, 1)
                                 .bytes(8, "floats")
                                 .fixed32(4, &one)
                                 .bytes(4, raw_bytes<float>({2.5f, 3.5f}))
                                 .text();
  const std::string doubles = ProtoWriter()
                                  .bytes(1, ProtoWriter().put(1).put(1).text())
                                  .varint(2, 11)
                                  .bytes(8, "doubles")
                                  .fixed64(10, &two)
                                  .text();
  const std::string ints = ProtoWriter()
                               .varint(1, 2)
                               .varint(2, 6)
                               .bytes(8, "ints")
                               .varint(5, static_cast<uint64_t>(-7))
                               .bytes(5, ProtoWriter().put(9).text())
                               .text();
  const std::string longs =
      ProtoWriter().varint(1, 1).varint(2, 7).bytes(8, "longs").varint(7, uint64_t{1} << 50).text();
  const std::string unsigned_longs =
      ProtoWriter().varint(1, 1).varint(2, 13).bytes(8, "unsigned").varint(11, ~uint64_t{0}).text();
  const std::string halves = ProtoWriter().varint(1, 1).varint(2, 10).bytes(8, "halves").varint(5, 0x3C00).text();
  const std::string bools = ProtoWriter().varint(1, 2).varint(2, 9).bytes(8, "bools").varint(5, 1).varint(5, 0).text();
  const std::string bytes =
      ProtoWriter().varint(1, 1).varint(2, 3).bytes(8, "bytes").varint(5, static_cast<uint64_t>(-128)).text();
  const WeightFile file =
      read_ok(onnx_model(onnx_graph({}, {floats, doubles, ints, longs, unsigned_longs, halves, bools, bytes})));
  EXPECT_EQ(values<float>(file, "floats"), (std::vector<float>{1.5f, 2.5f, 3.5f}));
  EXPECT_EQ(values<double>(file, "doubles"), std::vector<double>{-2.25});
  EXPECT_EQ(file.find("doubles")->shape, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(values<int32_t>(file, "ints"), (std::vector<int32_t>{-7, 9}));
  EXPECT_EQ(values<int64_t>(file, "longs"), std::vector<int64_t>{int64_t{1} << 50});
  EXPECT_EQ(values<uint64_t>(file, "unsigned"), std::vector<uint64_t>{~uint64_t{0}});
  EXPECT_EQ(values<int8_t>(file, "bytes"), std::vector<int8_t>{-128});
  EXPECT_EQ(file.find("halves")->type_text(), "f16 [1]");
  EXPECT_EQ(file.find("halves")->bytes[1], std::byte{0x3C});
  EXPECT_EQ(file.find("bools")->bytes.size(), 2u);
}

TEST(Onnx, ReadsShortFormsOfConstants) {
  const float pi = 3.0f;
  const auto constant = [](const std::string& output, const std::string& attribute) {
    return onnx_node("Constant", "", output, {attribute});
  };
  const WeightFile file = read_ok(onnx_model(
      onnx_graph({constant("f", ProtoWriter().bytes(1, "value_float").fixed32(2, &pi).text()),
                  constant("fs", ProtoWriter().bytes(1, "value_floats").bytes(7, raw_bytes<float>({1, 2})).text()),
                  constant("i", ProtoWriter().bytes(1, "value_int").varint(3, 12).text()),
                  constant("is", ProtoWriter().bytes(1, "value_ints").varint(8, 4).varint(8, 5).text()),
                  constant("s", ProtoWriter().bytes(1, "value_string").bytes(4, "text").text())},
                 {})));
  EXPECT_EQ(values<float>(file, "f"), std::vector<float>{3});
  EXPECT_TRUE(file.find("f")->shape.empty());
  EXPECT_EQ(values<float>(file, "fs"), (std::vector<float>{1, 2}));
  EXPECT_EQ(values<int64_t>(file, "i"), std::vector<int64_t>{12});
  EXPECT_EQ(values<int64_t>(file, "is"), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(file.get("s").error().code, ErrorCode::kUnsupported);
}

TEST(Onnx, KeepsTheReasonOfUnreadableTensors) {
  const std::string text = onnx_tensor("text", 8, {1}, "x");
  const std::string external = ProtoWriter().varint(1, 4).varint(2, 1).bytes(8, "outside").varint(14, 1).text();
  const WeightFile file = read_ok(onnx_model(onnx_graph({}, {text, external})));
  EXPECT_TRUE(contains(file.get("text").error().message, "ONNX data type 8"));
  EXPECT_TRUE(contains(file.get("outside").error().message, "external data"));
  EXPECT_EQ(file.get("nothing").error().code, ErrorCode::kNotFound);
}

TEST(Onnx, RefusesContradictions) {
  const auto one = [](const std::string& tensor) { return onnx_model(onnx_graph({}, {tensor})); };
  EXPECT_TRUE(contains(read_error(""), "no graph"));
  EXPECT_TRUE(contains(read_error(ProtoWriter().bytes(7, "").text()), "operator set"));
  const std::string short_data = read_error(one(onnx_tensor("w", 1, {2, 3}, "12345678")));
  EXPECT_TRUE(contains(short_data, "tensor \"w\" is f32 [2, 3] and needs 24 bytes, but has 8")) << short_data;
  EXPECT_TRUE(contains(read_error(one(onnx_tensor("w", 1, {-1}, ""))), "negative dimension"));
  EXPECT_TRUE(contains(read_error(one(onnx_tensor("w", 1, {int64_t{1} << 40, int64_t{1} << 40}, ""))), "63 bits"));
  EXPECT_TRUE(contains(read_error(one(onnx_tensor("", 1, {}, "1234"))), "no name"));
  // A shape that asks for 4 EiB is refused by its number, not by trying.
  EXPECT_TRUE(
      contains(read_error(one(onnx_tensor("w", 1, {int64_t{1} << 60}, "1234"))), "needs 4611686018427387904 bytes"));
  const std::string too_big = ProtoWriter().varint(1, 1).varint(2, 2).bytes(8, "w").varint(5, 300).text();
  EXPECT_TRUE(contains(read_error(one(too_big)), "holds 300"));
  EXPECT_TRUE(contains(read_error(ProtoWriter().varint(7, 1).text()), "wrong wire type"));
}

TEST(Onnx, RefusesDeepNesting) {
  std::string graph = onnx_graph({}, {});
  for (int i = 0; i < 64; ++i) graph = onnx_graph({onnx_node("If", "", "x", {onnx_attribute_graph("b", graph)})}, {});
  EXPECT_TRUE(read(onnx_model(graph)).has_value());
  graph = onnx_graph({onnx_node("If", "", "x", {onnx_attribute_graph("b", graph)})}, {});
  EXPECT_TRUE(contains(read_error(onnx_model(graph), ErrorCode::kUnsupported), "nested deeper than 64"));
  for (int i = 0; i < 5000; ++i) graph = onnx_graph({onnx_node("If", "", "x", {onnx_attribute_graph("b", graph)})}, {});
  EXPECT_TRUE(contains(read_error(onnx_model(graph), ErrorCode::kUnsupported), "nested deeper than 64"));
}

TEST(Onnx, ManyRepeatedNamesTakeLinearTime) {
  std::vector<std::string> tensors;
  for (int i = 0; i < 20000; ++i) tensors.push_back(onnx_tensor("a", 6, {1}, raw_bytes<int32_t>({i})));
  const WeightFile file = read_ok(onnx_model(onnx_graph({}, tensors)));
  EXPECT_EQ(values<int32_t>(file, "graph/a#19999"), std::vector<int32_t>{19999});
}

TEST(Onnx, TruncationAndDamageGiveErrorsOrTensors) {
  const std::string text = nested_model();
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(read(text.substr(0, length)).has_value()) << length;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const auto file = read(damaged);
      if (!file) {
        EXPECT_FALSE(file.error().message.empty());
        continue;
      }
      for (const WeightTensor& tensor : file->tensors()) {
        EXPECT_EQ(tensor.bytes.size(), *tensor_bytes(tensor.name, tensor.dtype, tensor.shape));
      }
    }
  }
}

}  // namespace
}  // namespace tandem
