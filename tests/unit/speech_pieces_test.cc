#include "core/audio/speech_pieces.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tandem {

/// How a failure shows a piece.
void PrintTo(const SpeechPiece& piece, std::ostream* out) {
  *out << "{" << piece.start << ", " << piece.end << ", " << piece.from << ", " << piece.to << "}";
}

namespace {

constexpr int64_t kRate = 16000, kWindow = 512;
constexpr double kSpeech = 0.9, kQuiet = 0.1;

struct Run {
  double probability;
  int64_t windows;
};

std::vector<double> probabilities_of(const std::vector<Run>& runs) {
  std::vector<double> all;
  for (const Run& run : runs) all.insert(all.end(), static_cast<size_t>(run.windows), run.probability);
  return all;
}

std::vector<SpeechPiece> split(const std::vector<double>& probabilities, const SpeechSplitOptions& options = {}) {
  const auto pieces = split_speech(probabilities, static_cast<int64_t>(probabilities.size()) * kWindow, kRate, options);
  if (!pieces) throw std::runtime_error(pieces.error().text());
  return *pieces;
}
std::vector<SpeechPiece> split_runs(const std::vector<Run>& runs) { return split(probabilities_of(runs)); }

SpeechPiece alone(int64_t start, int64_t end) { return {start, end, start, end}; }

TEST(SpeechPieces, OfNothingAndOfSilenceAreNone) {
  EXPECT_TRUE(split(std::vector<double>{}).empty());
  EXPECT_TRUE(split_runs({{kQuiet, 4000}}).empty());
  // Speech that is too short to be speech.
  EXPECT_TRUE(split_runs({{kQuiet, 10}, {kSpeech, 7}, {kQuiet, 10}}).empty());
}

TEST(SpeechPieces, OfShortSpeechAreItsSegments) {
  // 4640 to 15840: the vector of the reference implementation for 10 quiet, 20 loud and 10 quiet windows.
  EXPECT_EQ(split_runs({{kQuiet, 10}, {kSpeech, 20}, {kQuiet, 10}}), std::vector<SpeechPiece>{alone(4640, 15840)});
}

TEST(SpeechPieces, AreJoinedUntilTheyAreLongEnough) {
  // 10 s of speech, 1 s of silence, 10 s of speech: 21 s are one piece. Pads of 480 samples at both sides.
  const auto two = split_runs({{kSpeech, 313}, {kQuiet, 31}, {kSpeech, 313}, {kQuiet, 40}});
  EXPECT_EQ(two, std::vector<SpeechPiece>{alone(0, 657 * kWindow + 480)});
  // A third one would make 32 s.
  const auto three =
      split_runs({{kSpeech, 313}, {kQuiet, 31}, {kSpeech, 313}, {kQuiet, 31}, {kSpeech, 313}, {kQuiet, 40}});
  EXPECT_EQ(three, (std::vector<SpeechPiece>{alone(0, 657 * kWindow + 480),
                                             alone(688 * kWindow - 480, 1001 * kWindow + 480)}));
}

TEST(SpeechPieces, EndAtASilenceOnceTheyAreLongEnough) {
  // 16 s of speech, then 6 or 12 quiet windows: after the pads 0.13 and 0.32 s of silence are left.
  const auto near = split_runs({{kSpeech, 500}, {kQuiet, 6}, {kSpeech, 60}, {kQuiet, 40}});
  EXPECT_EQ(near, std::vector<SpeechPiece>{alone(0, 566 * kWindow + 480)});
  const auto far = split_runs({{kSpeech, 500}, {kQuiet, 12}, {kSpeech, 60}, {kQuiet, 40}});
  EXPECT_EQ(far,
            (std::vector<SpeechPiece>{alone(0, 500 * kWindow + 480), alone(512 * kWindow - 480, 572 * kWindow + 480)}));
  // 14 s are not enough yet.
  const auto joined = split_runs({{kSpeech, 437}, {kQuiet, 12}, {kSpeech, 60}, {kQuiet, 40}});
  EXPECT_EQ(joined, std::vector<SpeechPiece>{alone(0, 509 * kWindow + 480)});
}

TEST(SpeechPieces, UpToTheLimitAreWholeAndCutAboveIt) {
  // Speech to the end of the recording: no pads. The limit is 480000 samples, 937.5 windows.
  EXPECT_EQ(split_runs({{kSpeech, 937}}), std::vector<SpeechPiece>{alone(0, 937 * kWindow)});
  const std::vector<double> all(938, kSpeech);
  const auto exactly = split_speech(all, 480000, kRate);
  EXPECT_EQ(*exactly, std::vector<SpeechPiece>{alone(0, 480000)});
  // One sample more: cut at 22 s = 352000, the middle of window 687; both hear 8000 samples beyond.
  const auto above = split_speech(all, 480001, kRate);
  EXPECT_EQ(*above, (std::vector<SpeechPiece>{{0, 360000, 0, 352000}, {344000, 480001, 352000, 480001}}));
  EXPECT_FALSE((*above)[0].continues());
  EXPECT_TRUE((*above)[1].continues());
}

TEST(SpeechPieces, OfOneLongVowelAreAsLongAsTheyMayBe) {
  // 100 s without a trough: cuts 22 s apart, at middles of windows.
  const auto pieces = split_runs({{kSpeech, 3125}});
  ASSERT_EQ(pieces.size(), 5u);
  const int64_t cuts[] = {0, 352000, 352000 + 687 * kWindow, 352000 + 2 * 687 * kWindow, 352000 + 3 * 687 * kWindow};
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].from, cuts[i]);
    EXPECT_EQ(pieces[i].start, i == 0 ? 0 : cuts[i] - 8000);
    EXPECT_EQ(pieces[i].to, i == 4 ? 3125 * kWindow : cuts[i + 1]);
  }
}

TEST(SpeechPieces, AreCutWhereSpeechIsWeakest) {
  std::vector<double> probabilities(1250, kSpeech);
  probabilities[300] = 0.4;   // 9.6 s: too early.
  probabilities[500] = 0.7;   // 16 s
  probabilities[600] = 0.45;  // 19.2 s
  probabilities[650] = 0.6;
  probabilities[700] = 0.36;  // 22.4 s: too late.
  const int64_t cut = 600 * kWindow + 256;
  EXPECT_EQ(split(probabilities),
            (std::vector<SpeechPiece>{{0, cut + 8000, 0, cut}, {cut - 8000, 640000, cut, 640000}}));
  // A longer dip of the same depth is better than a single window.
  for (int i = 540; i < 543; ++i) probabilities[static_cast<size_t>(i)] = 0.45;
  EXPECT_EQ(split(probabilities)[0].to, 541 * kWindow + 256);
}

TEST(SpeechPieces, TakeNanAsAsBefore) {
  std::vector<double> probabilities(1250, kSpeech);
  for (size_t i = 450; i < 700; ++i) probabilities[i] = std::nan("");
  probabilities[520] = probabilities[521] = probabilities[522] = 0.8;
  const auto pieces = split(probabilities);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].to, 521 * kWindow + 256);
  EXPECT_EQ(split(std::vector<double>(1250, std::nan(""))).size(), 0u);
}

TEST(SpeechPieces, OfRandomProbabilitiesKeepTheirPromises) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> probabilities;
    std::uniform_real_distribution<double> any(0, 1);
    std::geometric_distribution<int64_t> length(round % 2 == 0 ? 0.003 : 0.02);
    while (probabilities.size() < 8000) {
      const double level = any(random);
      for (int64_t i = length(random); i >= 0; --i)
        probabilities.push_back(std::clamp(level + any(random) / 4, 0., 1.));
    }
    const auto count = static_cast<int64_t>(probabilities.size()) * kWindow - round;
    const auto speech = speech_timestamps(probabilities, count, kRate);
    const auto pieces = split_speech(probabilities, count, kRate);
    ASSERT_TRUE(speech && pieces);
    int64_t end = 0;
    size_t next = 0;
    for (size_t i = 0; i < pieces->size(); ++i) {
      const SpeechPiece& piece = (*pieces)[i];
      EXPECT_LE(piece.end - piece.start, 30 * kRate);
      EXPECT_LE(0, piece.start);
      EXPECT_LE(piece.end, count);
      EXPECT_LT(piece.from, piece.to);
      EXPECT_LE(piece.to, piece.end);
      EXPECT_LE(end, piece.from);
      // It begins where a segment of speech does, or at the cut before.
      ASSERT_LT(next, speech->size());
      EXPECT_EQ(piece.from, piece.continues() ? end : (*speech)[next].start);
      end = piece.to;
      while (next < speech->size() && (*speech)[next].end <= end) ++next;
      // It ends where a segment does, or at a cut that the next one continues from.
      const bool is_cut = i + 1 < pieces->size() && (*pieces)[i + 1].continues();
      if (!is_cut) {
        ASSERT_GT(next, 0u);
        EXPECT_EQ(end, (*speech)[next - 1].end);
      }
    }
    EXPECT_EQ(next, speech->size());
  }
}

TEST(SpeechPieces, RefuseOptionsThatCannotBeKept) {
  const auto expect = [](auto change, const char* name) {
    SpeechSplitOptions options;
    change(options);
    const auto pieces = split_speech({}, 0, kRate, options);
    ASSERT_FALSE(pieces) << name;
    EXPECT_EQ(pieces.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(pieces.error().message.find(name), 0u) << pieces.error().message;
  };
  expect([](auto& o) { o.limit_s = 0; }, "limit_s is 0");
  expect([](auto& o) { o.longest_s = 31; }, "longest_s is 31");
  expect([](auto& o) { o.shortest_s = 22; }, "shortest_s is 22");
  expect([](auto& o) { o.shortest_s = -1; }, "shortest_s is -1");
  expect([](auto& o) { o.overlap_s = 4.5; }, "overlap_s is 4.5");
  expect([](auto& o) { o.overlap_s = std::nan(""); }, "overlap_s is nan");
  expect([](auto& o) { o.new_piece_silence_s = -0.1; }, "new_piece_silence_s");
  expect([](auto& o) { o.new_piece_silence_s = 1000000001; }, "new_piece_silence_s");
  expect([](auto& o) { o.limit_s = 1000000001; }, "limit_s");
  expect([](auto& o) { o.speech.threshold = 2; }, "threshold is 2");
  expect([](auto& o) { o.speech.max_speech_duration_s = 30; }, "max_speech_duration_s is 30");
  EXPECT_EQ(split_speech({}, 0, 44100).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(split_speech(std::vector<double>(3, 0.5), 512, kRate).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tandem
