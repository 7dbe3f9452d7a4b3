#include "core/models/speech_model.h"

#include "core/base/text.h"

namespace tandem {
namespace {

const char* name_of(GigaAmHead head) { return head == GigaAmHead::kCtc ? "ctc" : "rnnt"; }

}  // namespace

Result<void> check_speech_config(const GigaAmConfig& config, std::optional<GigaAmHead> wanted) {
  if (!config.encoder) return fail(ErrorCode::kInvalidArgument, concat(config.origin, " has no \"encoder\""));
  if (!config.head)
    return fail(ErrorCode::kInvalidArgument,
                concat(config.origin, " has no \"head\": it is that of an encoder alone, which gives no text"));
  if (!wanted || config.head->kind == *wanted) return {};
  return fail(ErrorCode::kInvalidArgument,
              concat("head is \"", name_of(*wanted), "\", but ", config.origin, " has the head \"",
                     name_of(config.head->kind), "\": ask for that one, or for none, or give other weights"));
}

Result<SpeechModel> make_speech_model(const WeightFile& file, const GigaAmConfig& config, Vocabulary vocabulary,
                                      const GigaAmOptions& options) {
  if (auto checked = check_speech_config(config); !checked) return tl::unexpected<JitError>(checked.error());
  if (vocabulary.size() + 1 != config.head->num_classes)
    return fail(
        ErrorCode::kInvalidFormat,
        concat("the vocabulary has ", vocabulary.size(), " entries, but the head has ", config.head->num_classes,
               " classes, the blank included: it needs ", config.head->num_classes - 1));
  TANDEM_TRY(model, GigaAmModel::make(file, config, options));
  return SpeechModel{std::move(model), std::move(vocabulary)};
}

}  // namespace tandem
