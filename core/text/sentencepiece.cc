#include "core/text/sentencepiece.h"

#include <cmath>
#include <new>
#include <set>

#include "core/base/text.h"
#include "core/text/utf8.h"
#include "core/weights/protobuf.h"

namespace tandem {
namespace {

using protozero::pbf_reader;

// Field numbers in sentencepiece_model.proto.
enum ModelField : uint32_t { kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3, kDenormalizerSpec = 5 };
enum PieceField : uint32_t { kText = 1, kScore = 2, kKind = 3 };
enum TrainerField : uint32_t { kSpaceAsSuffix = 24, kUnknownText = 44 };
enum NormalizerField : uint32_t { kCharacterMap = 2, kAddFirstSpace = 3, kRemoveSpaces = 4 };

[[noreturn]] void invalid(const std::string& message, ErrorCode code = ErrorCode::kInvalidFormat) {
  throw TensorError(message, code);
}

class ModelReader {
 public:
  SentencePieceModel read(pbf_reader model) {
    bool has_trainer = false, has_normalizer = false;
    while (model.next()) {
      switch (model.tag()) {
        case kPieces:
          read_piece(model.get_message());
          break;
        case kTrainerSpec:
          has_trainer = true;
          read_trainer(model.get_message());
          break;
        case kNormalizerSpec:
          has_normalizer = true;
          read_normalizer(model.get_message());
          break;
        case kDenormalizerSpec:
          read_denormalizer(model.get_message());
          break;
        default:
          model.skip();
      }
    }
    if (result_.pieces.empty()) invalid("it holds no pieces");
    // Writers put both after the pieces: without them, pieces may be missing too.
    if (!has_trainer || !has_normalizer) invalid("its end is missing: it does not say how texts were prepared");
    if (unknown_ != 1) invalid(concat("it has ", unknown_, " unknown pieces instead of one"));
    return std::move(result_);
  }

 private:
  void read_piece(pbf_reader message) {
    Piece piece;
    uint32_t kind = static_cast<uint32_t>(Piece::Kind::kNormal);
    while (message.next()) {
      switch (message.tag()) {
        case kText:
          piece.text = message.get_string();
          break;
        case kScore:
          piece.score = message.get_float();
          break;
        case kKind:
          kind = message.get_uint32();
          break;
        default:
          message.skip();
      }
    }
    const size_t number = result_.pieces.size();
    if (piece.text.empty()) invalid(concat("piece ", number, " has no text"));
    if (!is_utf8(piece.text)) invalid(concat("the text of piece ", number, " is not UTF-8"));
    if (std::isnan(piece.score)) invalid(concat("the score of piece ", number, " is NaN"));
    if (kind < 1 || kind > 6) invalid(concat("piece ", number, " is of the unknown kind ", kind));
    piece.kind = static_cast<Piece::Kind>(kind);
    if (!known_.insert(piece.text).second) invalid(concat("piece ", number, " is \"", piece.text, "\" once more"));
    if (piece.kind == Piece::Kind::kUnknown) ++unknown_;
    result_.pieces.push_back(std::move(piece));
  }

  void read_trainer(pbf_reader message) {
    while (message.next()) {
      switch (message.tag()) {
        case kSpaceAsSuffix:
          if (get_flag(message))
            invalid("its pieces have their spaces at the end (treat_whitespace_as_suffix)", ErrorCode::kUnsupported);
          break;
        case kUnknownText:
          result_.unknown_text = message.get_string();
          if (!is_utf8(result_.unknown_text)) invalid("the text for the unknown piece is not UTF-8");
          break;
        default:
          message.skip();
      }
    }
  }

  void read_normalizer(pbf_reader message) {
    while (message.next()) {
      switch (message.tag()) {
        case kAddFirstSpace:
          result_.adds_first_space = get_flag(message);
          break;
        case kRemoveSpaces:
          result_.removes_spaces = get_flag(message);
          break;
        default:
          message.skip();
      }
    }
  }

  static void read_denormalizer(pbf_reader message) {
    while (message.next()) {
      if (message.tag() == kCharacterMap && !message.get_view().empty())
        invalid("it rewrites texts after decoding (denormalizer_spec)", ErrorCode::kUnsupported);
      if (message.tag() != kCharacterMap) message.skip();
    }
  }

  SentencePieceModel result_;
  std::set<std::string> known_;
  int64_t unknown_ = 0;
};

}  // namespace

Result<SentencePieceModel> read_sentencepiece(std::span<const std::byte> bytes, const std::string& origin) {
  try {
    return ModelReader().read(pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const TensorError& error) {
    return fail(error.code(), concat(origin, " is not a usable SentencePiece model: ", error.what()));
  } catch (const protozero::exception& error) {
    return fail(
        ErrorCode::kInvalidFormat,
        concat(origin, " is not a usable SentencePiece model: it is truncated or damaged (", error.what(), ")"));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit, concat(origin, ": not enough memory to read this SentencePiece model"));
  }
}

}  // namespace tandem
