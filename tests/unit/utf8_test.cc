// UTF-8 against table 3-7 of the Unicode standard, "Well-Formed UTF-8 Byte Sequences".

#include "core/text/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace tandem {
namespace {

struct Bytes {
  int first, last;
};
/// A row of the table: the range of each byte.
constexpr std::array<Bytes, 4> kTable[] = {
    {{{0x00, 0x7F}}},
    {{{0xC2, 0xDF}, {0x80, 0xBF}}},
    {{{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}}},
    {{{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {{{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}}},
    {{{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {{{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {{{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {{{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}},
};

size_t length_by_table(const std::array<int, 4>& bytes) {
  for (const auto& row : kTable) {
    size_t length = 0;
    while (length < 4 && row[length].last > 0) ++length;
    bool fits = true;
    for (size_t i = 0; i < length; ++i) fits = fits && bytes[i] >= row[i].first && bytes[i] <= row[i].last;
    if (fits) return length;
  }
  return 0;
}

TEST(Utf8, LengthsAreThoseOfTheStandardsTable) {
  // All first and second bytes; of the others every boundary.
  constexpr int kBoundaries[] = {0x00, 0x41, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x9F, 0xA0, 0xBE, 0xBF, 0xC0, 0xFF};
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      for (const int third : kBoundaries)
        for (const int fourth : kBoundaries) {
          const std::array<int, 4> bytes{first, second, third, fourth};
          std::string text;
          for (const int byte : bytes) text += static_cast<char>(byte);
          const size_t length = length_by_table(bytes);
          ASSERT_EQ(utf8_length(text), length) << first << " " << second << " " << third << " " << fourth;
          for (size_t cut = 0; cut < 4; ++cut)
            ASSERT_EQ(utf8_length(text.substr(0, cut)), length <= cut ? length : 0) << first << " " << second;
        }
}

TEST(Utf8, TextsAreUtf8WhenAllTheirCharactersAre) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\u00e9\u20ac\U0001F600z"));
  EXPECT_FALSE(is_utf8("a\xC3"));
  EXPECT_FALSE(is_utf8("a\u00e9\x80"));
  EXPECT_FALSE(is_utf8("\xFFz"));
}

}  // namespace
}  // namespace tandem
