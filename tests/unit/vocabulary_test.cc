#include "core/text/vocabulary.h"

#include <gtest/gtest.h>

#include "core/text/utf8.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

using nlohmann::json;

std::vector<std::byte> model_bytes(const std::string& name) {
  return testing::file_bytes(testing::golden_path("text/" + name + ".model"));
}

Result<Vocabulary> vocabulary_of(std::span<const std::byte> bytes) {
  TANDEM_TRY(model, read_sentencepiece(bytes, "test.model"));
  return Vocabulary::of_model(model);
}

const char* kind_text(Piece::Kind kind) {
  switch (kind) {
    case Piece::Kind::kUnknown:
      return "unknown";
    case Piece::Kind::kControl:
      return "control";
    case Piece::Kind::kUnused:
      return "unused";
    case Piece::Kind::kByte:
      return "byte";
    default:
      return "normal";  // The library does not tell those of the user apart.
  }
}

class SentencePieceModels : public ::testing::TestWithParam<const char*> {};

TEST_P(SentencePieceModels, HaveThePiecesThatTheLibraryReads) {
  const json golden = testing::golden_json("text/decoded.json")["models"][GetParam()];
  const auto model = read_sentencepiece(model_bytes(GetParam()), "test.model");
  ASSERT_TRUE(model) << model.error().text();
  ASSERT_EQ(model->pieces.size(), golden["pieces"].size());
  for (size_t i = 0; i < model->pieces.size(); ++i) {
    const json& expected = golden["pieces"][i];
    EXPECT_EQ(model->pieces[i].text, expected[0].get<std::string>()) << i;
    EXPECT_EQ(model->pieces[i].score, expected[1].get<float>()) << i;
    EXPECT_EQ(kind_text(model->pieces[i].kind), expected[2].get<std::string>()) << i;
  }
}

TEST_P(SentencePieceModels, DecodeAsTheLibraryDoes) {
  const json golden = testing::golden_json("text/decoded.json")["models"][GetParam()];
  const auto vocabulary = vocabulary_of(model_bytes(GetParam()));
  ASSERT_TRUE(vocabulary) << vocabulary.error().text();
  ASSERT_GT(golden["cases"].size(), 100u);
  for (const json& test : golden["cases"]) {
    const auto ids = test["ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(*vocabulary->decode(ids), test["text"].get<std::string>()) << test["ids"];
    EXPECT_EQ(*vocabulary->shares(ids), test["shares"].get<std::vector<std::string>>()) << test["ids"];
  }
}

TEST_P(SentencePieceModels, CutAnywhereAreRefusedOrComplete) {
  const std::vector<std::byte> bytes = model_bytes(GetParam());
  const size_t pieces = read_sentencepiece(bytes, "whole")->pieces.size();
  size_t complete = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto model = read_sentencepiece(std::span(bytes).first(size), "cut.model");
    if (model) {
      // Only what follows the pieces and the rules may be lost.
      EXPECT_EQ(model->pieces.size(), pieces) << size;
      ++complete;
    } else {
      EXPECT_EQ(model.error().code, ErrorCode::kInvalidFormat) << size;
      EXPECT_NE(model.error().message.find("cut.model"), std::string::npos);
    }
  }
  EXPECT_LE(complete, 2u);
}

TEST_P(SentencePieceModels, WithAnyByteChangedNeverCrash) {
  std::vector<std::byte> bytes = model_bytes(GetParam());
  const auto ids = std::vector<int32_t>{5, 40, 3, 9};
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const auto mask : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
      bytes[at] ^= mask;
      if (const auto vocabulary = vocabulary_of(bytes)) {
        const auto text = vocabulary->decode(ids);
        if (text) EXPECT_TRUE(is_utf8(*text)) << at;
      }
      bytes[at] ^= mask;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, SentencePieceModels, ::testing::Values("unigram_bytes", "unigram_symbols", "bpe"));

/// A field of a protobuf message whose length is below 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string number_field(int number, int value) {
  std::string text;
  for (int key = number << 3; key > 0; key >>= 7) text += static_cast<char>((key & 0x7F) | (key > 0x7F ? 0x80 : 0));
  return text + static_cast<char>(value);
}
std::string piece(const std::string& text, int kind) { return field(1, field(1, text) + number_field(3, kind)); }

TEST(SentencePieceFiles, AreRefusedWithTheReason) {
  const std::string unknown = piece("<unk>", 2), a = piece("a", 1), rules = field(2, "") + field(3, "");
  struct Wrong {
    std::string bytes;
    ErrorCode code;
    const char* part;
  };
  const Wrong all[] = {
      {"", ErrorCode::kInvalidFormat, "holds no pieces"},
      {rules, ErrorCode::kInvalidFormat, "holds no pieces"},
      {unknown + a, ErrorCode::kInvalidFormat, "its end is missing"},
      {a + rules, ErrorCode::kInvalidFormat, "0 unknown pieces"},
      {unknown + piece("<unk2>", 2) + rules, ErrorCode::kInvalidFormat, "2 unknown pieces"},
      {unknown + a + a + rules, ErrorCode::kInvalidFormat, "piece 2 is \"a\" once more"},
      {unknown + piece("", 1) + rules, ErrorCode::kInvalidFormat, "piece 1 has no text"},
      {unknown + piece("\xD0", 1) + rules, ErrorCode::kInvalidFormat, "piece 1 is not UTF-8"},
      {unknown + piece("a", 7) + rules, ErrorCode::kInvalidFormat, "unknown kind 7"},
      {unknown + field(1, field(1, "a") + std::string("\x15\x00\x00\xC0\x7F", 5)) + rules, ErrorCode::kInvalidFormat,
       "score of piece 1 is NaN"},
      {unknown + piece("<0x4g>", 6) + rules, ErrorCode::kInvalidFormat, "\"<0x4g>\" names none"},
      {unknown + field(2, number_field(24, 1)) + field(3, ""), ErrorCode::kUnsupported, "treat_whitespace_as_suffix"},
      {unknown + rules + field(5, field(2, "map")), ErrorCode::kUnsupported, "denormalizer_spec"},
      {std::string("\x0A\x7F", 2) + "short", ErrorCode::kInvalidFormat, "truncated or damaged"},
      {"\x08\x01", ErrorCode::kInvalidFormat, "wrong wire type"},
      {"{\"pieces\": []}", ErrorCode::kInvalidFormat, "truncated or damaged"},
  };
  for (const Wrong& wrong : all) {
    const auto vocabulary = vocabulary_of(std::as_bytes(std::span(wrong.bytes)));
    ASSERT_FALSE(vocabulary) << wrong.part;
    EXPECT_EQ(vocabulary.error().code, wrong.code) << vocabulary.error().message;
    EXPECT_NE(vocabulary.error().message.find(wrong.part), std::string::npos) << vocabulary.error().message;
  }
  const std::string right = unknown + a + rules;
  EXPECT_EQ(vocabulary_of(std::as_bytes(std::span(right)))->size(), 2);
}

TEST(CharacterVocabularies, WriteTheirTokensAsTheyAre) {
  const auto vocabulary = Vocabulary::of_texts({" ", "а", "б", "▁"});
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->size(), 4);
  EXPECT_EQ(*vocabulary->decode(std::vector<int32_t>{0, 1, 0, 0, 2, 3}), " а  б▁");
  EXPECT_EQ(*vocabulary->decode({}), "");
  for (const int32_t id : {-1, 4}) {
    const auto text = vocabulary->decode(std::vector<int32_t>{0, id});
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(text.error().message.find("token 1 is " + std::to_string(id)), std::string::npos);
  }
  EXPECT_EQ(Vocabulary::of_texts({}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(Vocabulary::of_texts({"a", ""}).error().message.find("entry 1"), std::string::npos);
  EXPECT_EQ(Vocabulary::of_texts({"a", "\xFF"}).error().code, ErrorCode::kInvalidFormat);
}

}  // namespace
}  // namespace tandem
