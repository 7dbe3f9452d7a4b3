#pragma once

#include <string>

#include "core/jit/prepare_config.h"
#include "core/models/silero_vad.h"

namespace tandem {

/// Is this a version of Silero VAD, "v5" or "v6"? kInvalidArgument names the option that asks for it.
Result<void> check_vad_version(const char* option, const std::string& version);

/// Finds and reads the weights of "v5" or "v6" (`given`: --weights, may be empty) for a rate.
Result<SileroWeights> load_silero_weights(const std::string& version, int64_t sample_rate, const std::string& given);

}  // namespace tandem
