#include "core/weights/safetensors.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// A file with this header and `data_size` bytes of data, counting up from 0.
std::vector<std::byte> made_file(const std::string& header, size_t data_size) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(static_cast<uint64_t>(header.size()) >> (8 * i)));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  for (size_t i = 0; i < data_size; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}

std::string error_of(const std::vector<std::byte>& bytes, ErrorCode code = ErrorCode::kInvalidFormat) {
  const auto file = read_safetensors(ByteSource::view(bytes), "test.safetensors");
  EXPECT_FALSE(file.has_value());
  if (file) return "";
  EXPECT_EQ(file.error().code, code) << file.error().text();
  EXPECT_EQ(file.error().message.find("test.safetensors is not a usable safetensors file: "), 0u);
  return file.error().message;
}

void expect_error(const std::string& header, size_t data_size, const std::string& part,
                  ErrorCode code = ErrorCode::kInvalidFormat) {
  const std::string message = error_of(made_file(header, data_size), code);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// The layout of this file is the example of the format's documentation.
TEST(Safetensors, ReadsTensorsAndMetadata) {
  const auto bytes =
      made_file(R"({"__metadata__":{"made by":"hand"},"b":{"dtype":"I16","shape":[2],"data_offsets":[4,8]},)"
                R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
                R"("none":{"dtype":"BF16","shape":[0,7],"data_offsets":[8,8]},)"
                R"("scalar":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}}  )",
                9);
  const auto file = read_safetensors(ByteSource::view(bytes), "x");
  ASSERT_TRUE(file.has_value()) << file.error().text();
  ASSERT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->find("a")->type_text(), "f32 [1, 1]");
  EXPECT_EQ(*file->find("b")->values<int16_t>(), (std::vector<int16_t>{0x0504, 0x0706}));
  EXPECT_EQ(file->find("none")->numel(), 0u);
  EXPECT_EQ(file->find("scalar")->dtype, DType::kBool);
  EXPECT_EQ(file->metadata().at("made by"), "hand");
  EXPECT_EQ(file->find("a")->values<double>().error().code, ErrorCode::kDtypeMismatch);
  EXPECT_EQ(file->get("c").error().message, "x: there is no tensor \"c\"; the file has 4 tensors: a, b, none, scalar");
}

TEST(Safetensors, KeepsItsBytesAlive) {
  WeightFile file;
  {
    auto read = read_safetensors(
        ByteSource::own(made_file(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 3)), "x");
    ASSERT_TRUE(read.has_value());
    file = *read;
  }
  EXPECT_EQ(*file.find("a")->values<uint8_t>(), (std::vector<uint8_t>{0, 1, 2}));
}

TEST(Safetensors, RefusesLyingHeaders) {
  EXPECT_NE(error_of({}).find("has 0 bytes"), std::string::npos);
  expect_error(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
               "tensor \"w\" is f32 [2] and needs 8 bytes, but has 4");
  expect_error(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7, "bytes 0 to 8 of 7");
  expect_error(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "bytes 8 to 0");
  expect_error(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "there is a gap");
  expect_error(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8, "the rest belongs to none");
  expect_error(
      R"({"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
      6, "overlaps");
  expect_error(R"({"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1, "F8_E4M3", ErrorCode::kUnsupported);
  expect_error(R"({"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "whole number");
  expect_error(R"({"w":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", 1, "whole number");
  expect_error(R"({"w":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}})", 1,
               "dimension of 18446744073709551615");
  expect_error(R"({"w":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,1]}})", 1, "63 bits");
  expect_error(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551616]}})", 1, "whole number");
  expect_error(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "not a pair");
  expect_error(R"({"w":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1, "not a list");
  expect_error(R"({"w":{"shape":[1],"data_offsets":[0,1]}})", 1, "tensor \"w\" has no dtype");
  expect_error(R"({"w":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", 1, "not a text");
  expect_error(R"({"w":[]})", 0, "not described by an object");
  expect_error(
      R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
      "two tensors have the name \"w\"");
  expect_error(R"([1])", 0, "not a JSON object");
  expect_error(R"({"w":)", 0, "its header");
  expect_error("{\"\xff\":1}", 0, "its header");
  expect_error(R"({"__metadata__":{"a":1}})", 0, "not a text");
  expect_error(R"({"__metadata__":[]})", 0, "not an object");
  expect_error("{\"a\":" + std::string(100000, '['), 0, "nested deeper than 3 levels");
}

TEST(Safetensors, RefusesHeaderLengthsThatDoNotFit) {
  auto bytes = made_file("{}", 0);
  bytes[0] = std::byte{3};
  EXPECT_NE(error_of(bytes).find("claims 3 bytes, but only 2 follow"), std::string::npos);
  for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = std::byte{0xFF};
  EXPECT_NE(error_of(bytes).find("claims 18446744073709551615 bytes; at most 100000000"), std::string::npos);
  // Without a name that says what it is, it is told from what it begins with.
  const auto guessed = [](std::vector<std::byte> file, const std::string& name) {
    return read_weights(ByteSource::own(std::move(file)), name).error().message;
  };
  EXPECT_EQ(guessed(bytes, "x.safetensors"),
            "x.safetensors is not a usable safetensors file: its first 8 bytes state a header of 18446744073709551615 "
            "bytes; at most 100000000 are read, and it is no ONNX file either");
  EXPECT_EQ(guessed(made_file("[1]", 0), "x.safetensors"),
            "x.safetensors is not a usable safetensors file: its first 8 bytes state a header of 3 bytes, and what "
            "follows begins with \"[\", not with \"{\", and it is no ONNX file either");
  EXPECT_EQ(guessed({std::byte{1}}, "x.safetensors"),
            "x.safetensors is not a usable safetensors file: it has 1 bytes, but a header with its length takes 10, "
            "and it is "
            "no ONNX file either");
  EXPECT_NE(guessed(made_file("[1]", 0), "x").find("a header of 3 bytes"), std::string::npos);
}

TEST(Safetensors, NamesTheFileOnceAndNoParser) {
  EXPECT_EQ(error_of(made_file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4)),
            "test.safetensors is not a usable safetensors file: tensor \"w\" is f32 [2] and needs 8 bytes, but has 4");
  const std::string cut = error_of(made_file(R"({"w":)", 0));
  EXPECT_EQ(cut.find("json.exception"), std::string::npos) << cut;
  EXPECT_NE(cut.find("its header: parse error at line 1, column 6"), std::string::npos) << cut;
}

/// Tensors that view `storage`.
std::vector<WeightTensor> sample_tensors(const std::vector<std::byte>& storage) {
  const std::span<const std::byte> all(storage);
  return {{"z", DType::kF32, {2}, all.subspan(0, 8)},
          {"half", DType::kF16, {3}, all.subspan(0, 6)},
          {"a \"quoted\" name", DType::kF32, {1, 1}, all.subspan(4, 4)},
          {"empty", DType::kI64, {0}, {}},
          {"bytes", DType::kU8, {3}, all.subspan(1, 3)}};
}

TEST(Safetensors, WritesTheSameBytesInAnyOrderAndReadsThemBack) {
  std::vector<std::byte> storage(8);
  for (size_t i = 0; i < 8; ++i) storage[i] = static_cast<std::byte>(i * 3);
  std::vector<WeightTensor> tensors = sample_tensors(storage);
  const auto first = write_safetensors(tensors, {{"k", "v"}, {"a", "b"}});
  ASSERT_TRUE(first.has_value());
  std::reverse(tensors.begin(), tensors.end());
  EXPECT_EQ(*first, *write_safetensors(tensors, {{"a", "b"}, {"k", "v"}}));
  EXPECT_TRUE(looks_like_safetensors(*first));
  const auto read = read_weights(ByteSource::view(*first), "x");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  ASSERT_EQ(read->tensors().size(), tensors.size());
  EXPECT_EQ(read->metadata(), (std::map<std::string, std::string>{{"a", "b"}, {"k", "v"}}));
  for (const WeightTensor& tensor : tensors) {
    const WeightTensor* found = read->find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->type_text(), tensor.type_text());
    EXPECT_TRUE(std::equal(found->bytes.begin(), found->bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
  std::string header;
  for (size_t i = 8; (*first)[i] != std::byte{'\n'} && header.size() < 500 && i < first->size() - 29; ++i) {
    header += static_cast<char>((*first)[i]);
  }
  EXPECT_EQ(header.find(R"({"__metadata__":{"a":"b","k":"v"},"empty":{"dtype":"I64","shape":[0],"data_offsets":[0,0]},)"
                        R"("a \"quoted\" name":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"z":)"),
            0u)
      << header;
}

TEST(Safetensors, RefusesToWriteWhatCannotBeRead) {
  const std::vector<std::byte> storage(8);
  const auto code = [&](std::vector<WeightTensor> tensors) {
    const auto written = write_safetensors(tensors);
    return written ? ErrorCode::kRuntime : written.error().code;
  };
  const std::span<const std::byte> four = std::span<const std::byte>(storage).subspan(0, 4);
  EXPECT_EQ(code({{"a", DType::kF32, {2}, four}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{"a", DType::kF32, {1}, four}, {"a", DType::kI32, {1}, four}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{"__metadata__", DType::kF32, {1}, four}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{"\xff\xfe", DType::kF32, {1}, four}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(write_safetensors({})->size() % 8, 0u);
}

TEST(Safetensors, TruncationAndDamageGiveErrorsOrTensors) {
  const std::vector<std::byte> storage(8);
  const auto bytes = *write_safetensors(sample_tensors(storage), {{"k", "v"}});
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto view = ByteSource::view(std::span<const std::byte>(bytes).subspan(0, length));
    EXPECT_FALSE(read_safetensors(view, "x").has_value()) << length;
    EXPECT_FALSE(read_weights(view, "x").has_value()) << length;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      auto damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(flip);
      const auto file = read_weights(ByteSource::view(damaged), "x");
      if (!file) continue;
      for (const WeightTensor& tensor : file->tensors()) {
        EXPECT_EQ(tensor.bytes.size(), *tensor_bytes(tensor.name, tensor.dtype, tensor.shape));
      }
    }
  }
}

}  // namespace
}  // namespace tandem
