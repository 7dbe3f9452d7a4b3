#include "core/models/transcript.h"

#include <gtest/gtest.h>

#include <limits>

namespace tandem {
namespace {

/// Ids are letters: 0 is a space, 1 is "a", 2 is "b" and so on.
Vocabulary letters() {
  std::vector<std::string> texts = {" "};
  for (char c = 'a'; c <= 'z'; ++c) texts.emplace_back(1, c);
  return *Vocabulary::of_texts(texts);
}
std::vector<int32_t> ids_of(const std::string& text) {
  std::vector<int32_t> ids;
  for (const char c : text) ids.push_back(c == ' ' ? 0 : c - 'a' + 1);
  return ids;
}

constexpr int64_t kFrame = 640;
const PieceClock kClock{16000, kFrame, 100.0};

RecognizedPiece alone(int64_t start, int64_t end, const std::string& text, std::vector<int32_t> frames) {
  return {{start, end, start, end}, {ids_of(text), std::move(frames)}};
}

std::vector<TranscriptSegment> assemble(std::span<const RecognizedPiece> pieces, PieceClock clock = kClock) {
  auto segments = assemble_transcript(pieces, letters(), clock);
  if (!segments) throw std::runtime_error(segments.error().text());
  return *segments;
}

TEST(Transcripts, CountTimesFromTheBeginningOfTheRecording) {
  const std::vector<RecognizedPiece> pieces = {alone(16000, 48000, " ab c", {0, 5, 6, 10, 20}),
                                               alone(80000, 96000, "", {}), alone(160000, 176000, "d", {3})};
  const auto segments = assemble(pieces);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0].start, 1.0);
  EXPECT_EQ(segments[0].end, 3.0);
  EXPECT_EQ(segments[0].text, "ab c");
  EXPECT_EQ(segments[0].ids, ids_of(" ab c"));
  ASSERT_EQ(segments[0].tokens.size(), 5u);
  EXPECT_EQ(segments[0].tokens[0].text, " ");
  EXPECT_DOUBLE_EQ(segments[0].tokens[1].start, 1.2);
  EXPECT_DOUBLE_EQ(segments[0].tokens[1].end, 1.24);
  ASSERT_EQ(segments[0].words.size(), 2u);
  EXPECT_EQ(segments[0].words[0].text, "ab");
  EXPECT_DOUBLE_EQ(segments[0].words[0].start, 1.2);
  EXPECT_DOUBLE_EQ(segments[0].words[0].end, 1.28);
  EXPECT_EQ(segments[0].words[1].text, "c");
  EXPECT_DOUBLE_EQ(segments[0].words[1].start, 1.8);
  EXPECT_EQ(segments[1].text, "");
  EXPECT_DOUBLE_EQ(segments[2].tokens[0].start, 10.12);
  EXPECT_EQ(full_text(segments), "ab c d");
  EXPECT_EQ(full_text({}), "");
}

TEST(Transcripts, NeverEndAfterTheRecording) {
  const std::vector<RecognizedPiece> pieces = {alone(0, 16000, "ab", {0, 24})};
  const auto segments = assemble(pieces, {16000, kFrame, 0.99});
  EXPECT_EQ(segments[0].end, 0.99);
  EXPECT_DOUBLE_EQ(segments[0].tokens[1].start, 0.96);
  EXPECT_EQ(segments[0].tokens[1].end, 0.99);
}

/// Two pieces with a cut at frame 100: the first hears up to frame 112, the second from frame 88 on.
std::vector<RecognizedPiece> cut_pieces(const std::string& first, std::vector<int32_t> first_frames,
                                        const std::string& second, std::vector<int32_t> second_frames) {
  for (int32_t& frame : second_frames) frame -= 88;
  return {{{0, 112 * kFrame, 0, 100 * kFrame}, {ids_of(first), std::move(first_frames)}},
          {{88 * kFrame, 200 * kFrame, 100 * kFrame, 200 * kFrame}, {ids_of(second), std::move(second_frames)}}};
}

TEST(Transcripts, JoinPiecesAtATokenThatBothHeard) {
  // Both hear "m" just behind the cut, one frame apart; by time alone it would be lost or come twice.
  const auto segments =
      assemble(cut_pieces("hammer", {10, 20, 99, 99, 104, 110}, "xmmerci", {89, 98, 101, 105, 109, 130, 140}));
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].text, "hammerci");
  EXPECT_EQ(segments[0].start, 0);
  EXPECT_EQ(segments[0].end, 8);
}

TEST(Transcripts, PreferThePairThatIsClosest) {
  // "n" twice in a row in both: the first with the first, the second with the second.
  const auto segments = assemble(cut_pieces("anna", {90, 99, 101, 105}, "annab", {90, 99, 101, 105, 120}));
  EXPECT_EQ(segments[0].text, "annab");
}

TEST(Transcripts, PreferTheRunThatIsNearestToTheCut) {
  // "a" and "c" are heard by both, and the cut lies next to "c": what the first piece heard before it counts.
  const auto segments = assemble(cut_pieces("abc", {90, 95, 101}, "adce", {90, 96, 101, 120}));
  EXPECT_EQ(segments[0].text, "abce");
}

TEST(Transcripts, JoinByTimeWhereNothingAgrees) {
  const auto segments = assemble(cut_pieces("ab", {50, 103}, "xyz", {90, 100, 150}));
  EXPECT_EQ(segments[0].text, "ayz");
  // Equal tokens far apart are not the same one.
  EXPECT_EQ(assemble(cut_pieces("ab", {50, 92}, "bc", {96, 101}))[0].text, "abc");
  EXPECT_EQ(assemble(cut_pieces("ab", {50, 92}, "b", {101}))[0].text, "abb");
  EXPECT_EQ(assemble(cut_pieces("", {}, "", {}))[0].text, "");
}

TEST(Transcripts, RefuseTokensThatAreNotInTheVocabulary) {
  const std::vector<RecognizedPiece> pieces = {{{0, 100, 0, 100}, {{27}, {0}}}};
  const auto segments = assemble_transcript(pieces, letters(), kClock);
  ASSERT_FALSE(segments);
  EXPECT_EQ(segments.error().code, ErrorCode::kInvalidArgument);
}

TEST(Subtitles, HoldWholeWordsAndEndAtSilences) {
  TranscriptSegment segment;
  const auto add = [&](const std::string& text, double start, double end) {
    segment.words.push_back({start, end, text});
  };
  add("один", 0, 0.5);
  add("два", 0.6, 1);
  add("три", 2.5, 3);       // After a silence.
  add("четыре", 3.1, 9.6);  // Too long together with the word before.
  add("пять", 9.7, 10);
  const auto subtitles = subtitles_of(segment);
  ASSERT_EQ(subtitles.size(), 3u);
  EXPECT_EQ(subtitles[0].text, "один два");
  EXPECT_EQ(subtitles[0].end, 1);
  EXPECT_EQ(subtitles[1].text, "три");
  EXPECT_EQ(subtitles[2].text, "четыре пять");
  EXPECT_EQ(subtitles[2].start, 3.1);
  // Characters count, not bytes: "один два" has 8.
  EXPECT_EQ(subtitles_of(segment, 8)[0].text, "один два");
  EXPECT_EQ(subtitles_of(segment, 7)[0].text, "один");
  EXPECT_TRUE(subtitles_of({}).empty());
}

}  // namespace
}  // namespace tandem
