#include "core/text/vocabulary.h"

#include "core/base/text.h"
#include "core/text/utf8.h"

namespace tandem {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";        // U+2581
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// The byte of "<0x41>", or -1.
int16_t byte_of(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  const size_t high = digits.find(text[3]), low = digits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return -1;
  return static_cast<int16_t>(high * 16 + low);
}

std::string with_spaces(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool is_space = text.substr(at, kSpace.size()) == kSpace;
    result += is_space ? ' ' : text[at];
    at += is_space ? kSpace.size() : 1;
  }
  return result;
}

}  // namespace

Result<Vocabulary> Vocabulary::of_texts(std::vector<std::string> texts) {
  if (texts.empty()) return fail(ErrorCode::kInvalidArgument, "the vocabulary is empty");
  SentencePieceModel model;
  for (std::string& text : texts) {
    if (text.empty() || !is_utf8(text))
      return fail(ErrorCode::kInvalidFormat, concat("entry ", model.pieces.size(), " of the vocabulary is ",
                                                    text.empty() ? "empty" : "not UTF-8"));
    model.pieces.push_back({std::move(text)});
  }
  std::vector<int16_t> bytes(model.pieces.size(), -1);
  return Vocabulary(std::move(model), std::move(bytes), false);
}

Result<Vocabulary> Vocabulary::of_model(SentencePieceModel model) {
  std::vector<int16_t> bytes;
  for (const Piece& piece : model.pieces) {
    const bool is_byte = piece.kind == Piece::Kind::kByte;
    bytes.push_back(is_byte ? byte_of(piece.text) : int16_t{-1});
    if (is_byte && bytes.back() < 0)
      return fail(ErrorCode::kInvalidFormat, concat("piece ", bytes.size() - 1, " of the vocabulary is a byte, but \"",
                                                    piece.text, "\" names none; \"<0x41>\" would"));
  }
  return Vocabulary(std::move(model), std::move(bytes), true);
}

void Vocabulary::share_bytes(std::span<const int32_t> ids, size_t begin, size_t end,
                             std::vector<std::string>& shares) const {
  std::string bytes;
  for (size_t i = begin; i < end; ++i) bytes += static_cast<char>(bytes_[static_cast<size_t>(ids[i])]);
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = utf8_length(std::string_view(bytes).substr(at));
    shares[begin + at + (length == 0 ? 0 : length - 1)] =
        length == 0 ? std::string(kReplacement) : bytes.substr(at, length);
    at += length == 0 ? 1 : length;
  }
}

std::string Vocabulary::share_of(const Piece& piece, bool is_first, bool& took_space) const {
  took_space = false;
  if (piece.kind == Piece::Kind::kControl) return {};
  if (piece.kind == Piece::Kind::kUnknown) return model_.unknown_text;
  if (!has_marked_spaces_) return piece.text;
  std::string_view text = piece.text;
  if (is_first && (model_.adds_first_space || model_.removes_spaces) && text.starts_with(kSpace)) {
    text.remove_prefix(kSpace.size());
    // Where spaces are removed, all of them before the first character are.
    took_space = !model_.removes_spaces;
  }
  return with_spaces(text);
}

Result<std::vector<std::string>> Vocabulary::shares(std::span<const int32_t> ids) const {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= size())
      return fail(ErrorCode::kInvalidArgument,
                  concat("token ", i, " is ", ids[i], "; the vocabulary has the ids 0 to ", size() - 1));
  std::vector<std::string> shares(ids.size());
  bool is_first = true, took_space = false;
  size_t first_byte = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<size_t>(ids[i]);
    if (bytes_[id] >= 0) continue;
    share_bytes(ids, first_byte, i, shares);
    if (first_byte < i || took_space || (i > 0 && !shares[i - 1].empty())) is_first = false;
    first_byte = i + 1;
    shares[i] = share_of(model_.pieces[id], is_first, took_space);
  }
  share_bytes(ids, first_byte, ids.size(), shares);
  return shares;
}

Result<std::string> Vocabulary::decode(std::span<const int32_t> ids) const {
  TANDEM_TRY(parts, shares(ids));
  return join(parts, "");
}

}  // namespace tandem
