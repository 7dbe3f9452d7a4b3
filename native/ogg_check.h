#pragma once

#include <string>

#include "native/byte_input.h"

namespace tandem {

/// A note about an Ogg file (Vorbis, Opus, FLAC) that ends before the last page of its stream, which decoders take for
/// its end: it was cut off, or recorded from a broadcast. Empty for a whole one, and for anything that is no Ogg file.
std::string ogg_end_note(const ByteInput& input, const std::string& name);

}  // namespace tandem
