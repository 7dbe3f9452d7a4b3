#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/text/sentencepiece.h"

namespace tandem {

/// What the classes of a recogniser mean: token ids to text.
class Vocabulary {
 public:
  /// A vocabulary whose tokens are written as they are, one after the other: `texts` of the ids 0, 1, ...; spaces
  /// are spaces. kInvalidArgument for an empty list, kInvalidFormat for a text that is empty or no UTF-8.
  static Result<Vocabulary> of_texts(std::vector<std::string> texts);
  /// The vocabulary of a SentencePiece model; kInvalidFormat for a byte piece that is not written "<0x00>" to "<0xFF>".
  static Result<Vocabulary> of_model(SentencePieceModel model);

  /// Number of ids.
  int64_t size() const { return static_cast<int64_t>(model_.pieces.size()); }
  const std::vector<Piece>& pieces() const { return model_.pieces; }

  /// The text of a token sequence. For SentencePiece models what the library's own decoder gives: control pieces are
  /// nothing, U+2581 is a space and at the beginning nothing, bytes are joined to characters, and those that make none
  /// are U+FFFD. kInvalidArgument for an id that is out of range.
  Result<std::string> decode(std::span<const int32_t> ids) const;
  /// The same text cut into the shares of the ids: a character of several bytes belongs to its last one.
  Result<std::vector<std::string>> shares(std::span<const int32_t> ids) const;

 private:
  Vocabulary(SentencePieceModel model, std::vector<int16_t> bytes, bool has_marked_spaces)
      : model_(std::move(model)), bytes_(std::move(bytes)), has_marked_spaces_(has_marked_spaces) {}

  void share_bytes(std::span<const int32_t> ids, size_t begin, size_t end, std::vector<std::string>& shares) const;
  std::string share_of(const Piece& piece, bool is_first, bool& took_space) const;

  SentencePieceModel model_;
  std::vector<int16_t> bytes_;  ///< Per id: the byte that it stands for, or -1.
  bool has_marked_spaces_;      ///< U+2581 is a space.
};

}  // namespace tandem
