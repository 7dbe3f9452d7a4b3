#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace tandem {

/// A token of a vocabulary.
struct Piece {
  /// The numbers are those of SentencePiece's file format.
  enum class Kind : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

  std::string text;  ///< UTF-8. In SentencePiece models a space is U+2581, and a byte is "<0x41>".
  float score = 0;   ///< Logarithm of its probability; 0 where the model has none.
  Kind kind = Kind::kNormal;
};

/// What a SentencePiece model says about decoding; how it cuts texts into pieces is not read.
struct SentencePieceModel {
  std::vector<Piece> pieces;
  /// What the unknown piece is written as: U+2047 between spaces unless the model says.
  std::string unknown_text = " \xE2\x81\x87 ";
  bool adds_first_space = true;  ///< Texts were encoded with a space before them.
  bool removes_spaces = true;    ///< Texts were encoded without spaces at their ends and double ones.
};

/// Reads a SentencePiece `.model` file (the protobuf message ModelProto) of any kind: unigram, BPE, word or character.
/// `origin` names it in errors. Errors: kInvalidFormat (truncated or damaged, no pieces, an empty piece, two equal
/// pieces, bytes that are not UTF-8, not exactly one unknown piece, a score that is NaN), kUnsupported (a model that
/// writes spaces after words, or rewrites texts after decoding).
Result<SentencePieceModel> read_sentencepiece(std::span<const std::byte> bytes, const std::string& origin);

}  // namespace tandem
