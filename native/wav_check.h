#pragma once

#include <string>

#include "core/base/error.h"
#include "native/byte_input.h"

namespace tandem {

/// Checks the header of a WAV file (RIFF, RIFX or RF64) for contradictions that libsndfile lets through or repairs in
/// its own way: no format chunk, no data chunk, no channels, no rate, no bits, a block size that does not fit, a short
/// extension. Anything that is not a WAV file passes. Returns a note when the data chunk claims more bytes than there
/// are, except for the sizes that programs write when they cannot know better. kInvalidFormat names the file and the
/// numbers.
Result<std::string> check_wav_header(const ByteInput& input, const std::string& name);

}  // namespace tandem
