#include "core/models/transcript.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/text.h"

namespace tandem {
namespace {

/// Times of one token in two pieces differ by no more than this.
constexpr int64_t kSeamFrames = 2;
constexpr double kSubtitleSilence = 1;

/// A token and the sample where its frame begins.
struct PlacedToken {
  int32_t id = 0;
  int64_t position = 0;
};

std::vector<PlacedToken> place(const RecognizedPiece& recognized, int64_t samples_per_frame) {
  std::vector<PlacedToken> placed;
  for (size_t i = 0; i < recognized.sequence.tokens.size(); ++i)
    placed.push_back(
        {recognized.sequence.tokens[i], recognized.piece.start + recognized.sequence.frames[i] * samples_per_frame});
  return placed;
}

/// Where two token lists are joined: the first ends before `kept`, the second begins at `dropped`.
struct Seam {
  size_t kept = 0, dropped = 0;
};

/// Behind the token nearest to the cut in the longest run of tokens that both lists have at the same times. Without
/// any, at the cut.
Seam find_seam(const std::vector<PlacedToken>& before, const std::vector<PlacedToken>& after, int64_t cut,
               int64_t frame) {
  const auto is_same = [&](size_t i, size_t j) {
    return i < before.size() && j < after.size() && before[i].id == after[j].id &&
           std::llabs(before[i].position - after[j].position) <= kSeamFrames * frame;
  };
  const auto distance = [&](size_t i) { return std::llabs(before[i].position - cut); };
  const auto is_early = [cut](const PlacedToken& token) { return token.position < cut; };
  Seam seam{static_cast<size_t>(std::count_if(before.begin(), before.end(), is_early)),
            static_cast<size_t>(std::count_if(after.begin(), after.end(), is_early))};
  size_t longest = 0;
  int64_t nearest = 0;
  for (size_t i = 0; i < before.size(); ++i)
    for (size_t j = 0; j < after.size(); ++j) {
      size_t length = 0, best = 0;
      for (; is_same(i + length, j + length); ++length)
        if (distance(i + length) < distance(i + best)) best = length;
      if (length == 0 || length < longest || (length == longest && distance(i + best) >= nearest)) continue;
      longest = length;
      nearest = distance(i + best);
      seam = {i + best + 1, j + best + 1};
    }
  return seam;
}

/// Puts what the piece after a cut heard behind what the piece before it heard.
void join_at(const SpeechPiece& piece, const std::vector<PlacedToken>& after, int64_t frame,
             std::vector<PlacedToken>& before) {
  // Only what both heard can agree.
  size_t heard_by_both = before.size();
  while (heard_by_both > 0 && before[heard_by_both - 1].position >= piece.start) --heard_by_both;
  const std::vector<PlacedToken> end(before.begin() + static_cast<ptrdiff_t>(heard_by_both), before.end());
  const Seam seam = find_seam(end, after, piece.from, frame);
  before.resize(heard_by_both + seam.kept);
  before.insert(before.end(), after.begin() + static_cast<ptrdiff_t>(seam.dropped), after.end());
}

std::vector<TimedText> words_of(const std::vector<TimedText>& tokens) {
  std::vector<TimedText> words;
  bool is_open = false;
  for (const TimedText& token : tokens)
    for (const char letter : token.text) {
      if (letter == ' ') {
        is_open = false;
        continue;
      }
      if (!is_open) words.push_back({token.start, token.end, ""});
      is_open = true;
      words.back().text += letter;
      words.back().end = token.end;
    }
  return words;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Result<TranscriptSegment> finish(int64_t from, int64_t to, const std::vector<PlacedToken>& placed,
                                 const Vocabulary& vocabulary, const PieceClock& clock) {
  const auto seconds = [&](int64_t position) {
    return std::min(static_cast<double>(position) / static_cast<double>(clock.sample_rate), clock.duration);
  };
  TranscriptSegment segment;
  segment.start = seconds(from);
  segment.end = seconds(to);
  for (const PlacedToken& token : placed) segment.ids.push_back(token.id);
  TANDEM_TRY(shares, vocabulary.shares(segment.ids));
  for (size_t i = 0; i < placed.size(); ++i)
    segment.tokens.push_back(
        {seconds(placed[i].position), seconds(placed[i].position + clock.samples_per_frame), std::move(shares[i])});
  for (const TimedText& token : segment.tokens) segment.text += token.text;
  segment.text = trimmed(segment.text);
  segment.words = words_of(segment.tokens);
  return segment;
}

/// Characters, not bytes: bytes that begin one.
size_t length_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Result<std::vector<TranscriptSegment>> assemble_transcript(std::span<const RecognizedPiece> pieces,
                                                           const Vocabulary& vocabulary, const PieceClock& clock) {
  std::vector<TranscriptSegment> segments;
  for (size_t i = 0; i < pieces.size();) {
    const int64_t from = pieces[i].piece.from;
    std::vector<PlacedToken> placed = place(pieces[i], clock.samples_per_frame);
    for (++i; i < pieces.size() && pieces[i].piece.continues(); ++i)
      join_at(pieces[i].piece, place(pieces[i], clock.samples_per_frame), clock.samples_per_frame, placed);
    TANDEM_TRY(segment, finish(from, pieces[i - 1].piece.to, placed, vocabulary, clock));
    segments.push_back(std::move(segment));
  }
  return segments;
}

std::string full_text(std::span<const TranscriptSegment> segments) {
  std::string text;
  for (const TranscriptSegment& segment : segments)
    if (!segment.text.empty()) text += concat(text.empty() ? "" : " ", segment.text);
  return text;
}

std::vector<TimedText> subtitles_of(const TranscriptSegment& segment, size_t longest_text, double longest_s) {
  std::vector<TimedText> subtitles;
  for (const TimedText& word : segment.words) {
    const bool fits = !subtitles.empty() && word.end - subtitles.back().start <= longest_s &&
                      word.start - subtitles.back().end <= kSubtitleSilence &&
                      length_of(subtitles.back().text) + 1 + length_of(word.text) <= longest_text;
    if (fits) {
      subtitles.back().text += concat(" ", word.text);
      subtitles.back().end = word.end;
    } else {
      subtitles.push_back(word);
    }
  }
  return subtitles;
}

}  // namespace tandem
