#pragma once

/// GigaAM v2 and v3: configuration, weights, batches of log-mel, clips of sound, transcripts.

#include <tandem/tandem.h>

#include "core/models/gigaam.h"
#include "core/models/piece_recognizer.h"
#include "core/models/speech_model.h"
#include "core/models/transcript.h"

#ifndef __EMSCRIPTEN__
#include "native/model_weights.h"
#include "native/speech_files.h"
#endif
