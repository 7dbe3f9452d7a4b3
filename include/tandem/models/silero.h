#pragma once

/// Silero VAD v5 and v6: weights, streams, whole recordings, segments.

#include <tandem/tandem.h>

#include "core/audio/segmentation.h"
#include "core/audio/vad_iterator.h"
#include "core/models/silero_offline.h"
#include "core/models/silero_vad.h"
#include "core/weights/weight_file.h"

#ifndef __EMSCRIPTEN__
#include "native/weight_files.h"
#endif
