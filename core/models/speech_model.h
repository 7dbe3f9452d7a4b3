#pragma once

#include <memory>
#include <optional>

#include "core/models/gigaam_jit.h"
#include "core/text/vocabulary.h"

namespace tandem {

/// A recogniser with the text of its classes.
struct SpeechModel {
  std::shared_ptr<const GigaAmModel> model;
  Vocabulary vocabulary;
};

/// Can text be made with this configuration? kInvalidArgument when it has no encoder or no head, or not the `wanted`
/// one.
Result<void> check_speech_config(const GigaAmConfig& config, std::optional<GigaAmHead> wanted = {});

/// Puts a model together. Errors: those of `check_speech_config`, kInvalidFormat for a vocabulary that has not one
/// entry less than the head has classes (the last one is the blank), and those of GigaAmModel::make.
Result<SpeechModel> make_speech_model(const WeightFile& file, const GigaAmConfig& config, Vocabulary vocabulary,
                                      const GigaAmOptions& options = {});

}  // namespace tandem
