#pragma once

#include <optional>
#include <string>

#include "core/models/speech_model.h"

namespace tandem {

/// The configuration of weights at `weights` that were read as `file`: that of the JSON file `given` if it is not
/// empty, else the `config` entry of the metadata, else `config.json` beside the weights. kNotFound says where it was
/// looked for; other errors as parse_gigaam_config.
Result<GigaAmConfig> find_gigaam_config(const std::string& weights, const WeightFile& file, const std::string& given);

/// Says how many tensors of an encoder or head the configuration leaves unused, and the first of them; empty when it
/// uses all. Such weights are most often those of a larger model.
std::string surplus_text(const WeightFile& file, const GigaAmConfig& config);

/// Finds and reads everything that a GigaAM model is made of.
///
/// - `weights`: a file, an index of several, or a folder (see `read_model_weights`).
/// - The configuration: see `find_gigaam_config`.
/// - The vocabulary: the list of characters in the configuration, else the SentencePiece model `tokenizer.model` beside
///   the configuration or the weights. It has one entry less than the head has classes: the last one is the blank.
/// - `head`: what the configuration must have, if given.
/// - `options`: see GigaAmOptions.
///
/// Errors: kNotFound (names what is missing and where it was looked for), and those of the readers, of
/// check_speech_config and of make_speech_model. Tensors that nothing uses are a note.
Result<SpeechModel> load_speech_model(const std::string& weights, const std::string& config,
                                      std::optional<GigaAmHead> head, const GigaAmOptions& options = {});

}  // namespace tandem
