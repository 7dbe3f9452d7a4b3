#pragma once

#include "native/built_in_models.h"

namespace tandem {

/// gigaam-mel, gigaam-encoder, gigaam-ctc, gigaam-rnnt and gigaam-e2e. Inputs are `input.mel` f32 [b, features, t] with
/// `input.mel_lengths` i32 [b], or `input.pcm` i16 [n], the prefix may be missing; they may stand in the file of the
/// weights. The options are the model's configuration; without them it comes from the metadata of the weights.
std::vector<BuiltInModel> gigaam_models();

}  // namespace tandem
