// GigaAM: weights, configuration and vocabulary come one after the other; then short clips of sound become text.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/audio/finite.h"
#include "core/base/text.h"
#include "core/models/piece_recognizer.h"
#include "core/models/speech_model.h"
#include "core/models/transcript.h"
#include "web/arguments.h"
#include "web/boundary.h"
#include "web/engine.h"
#include "web/profile.h"
#include "web/weights.h"

namespace tandem::web {

namespace {

/// What a list of a transcript is.
enum class List : int { kTokens, kWords };
/// Numbers of a batch.
enum class Size : int { kFrames, kWidth, kScoreWidth, kLanes };
/// Arrays that a call left.
enum class Array : int { kLogMel, kEncoded, kScores, kLengths };

struct Recognizer {
  explicit Recognizer(WeightFile file) : weights(std::move(file)) {}

  // Until it is prepared.
  WeightFile weights;
  std::optional<GigaAmConfig> config;
  std::optional<Vocabulary> vocabulary;

  std::optional<PieceRecognizer> pieces;
  // What the last call left.
  TranscriptSegment transcript;
  std::vector<float> log_mel;
  RecognizedBatch batch;

  const std::vector<TimedText>& list(List which) const {
    return which == List::kTokens ? transcript.tokens : transcript.words;
  }
};

Handles<Recognizer>& recognizers() {
  static Handles<Recognizer> all;
  return all;
}

/// Takes a configuration; the vocabulary comes with it if it lists characters.
Result<int> configure(Recognizer& recognizer, GigaAmConfig config) {
  if (auto checked = check_speech_config(config); !checked) return tl::unexpected<JitError>(checked.error());
  if (!config.vocabulary.empty()) {
    TANDEM_TRY(vocabulary, Vocabulary::of_texts(config.vocabulary));
    recognizer.vocabulary = std::move(vocabulary);
  }
  recognizer.config = std::move(config);
  return 1;
}

/// The error of a call, for JavaScript: `value` after reporting. What is wrong with the input was found before anything
/// ran, so that kRuntime is a module that trapped.
template <typename Value>
Result<Value> failed(const JitError& error, Value value) {
  if (error.code != ErrorCode::kRuntime) return tl::unexpected<JitError>(error);
  report("Broken", error.message);
  return value;
}

/// False after reporting a sample that is not finite.
bool check_samples(std::span<const float> samples) {
  const auto wrong = find_non_finite(samples);
  if (!wrong) return true;
  report(name_of(ErrorCode::kNonFinite),
         concat("sample ", *wrong, " is ", samples[*wrong], "; samples must be finite"));
  last_failure().index = static_cast<double>(*wrong);
  return false;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

// Loading, in this order: 1, or 0 when it failed.

/// A recogniser that is to have the weights of a file (see weights.h); 0: failed.
TANDEM_EXPORT uint32_t tandem_gigaam_make(uint32_t weights) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    return recognizers().add(std::make_unique<Recognizer>(weight_file(weights)));
  });
}

/// The configuration from JSON, or, with `size` 0, from the metadata of the weights.
TANDEM_EXPORT int tandem_gigaam_configure(uint32_t handle, const char* json, uint32_t size, const char* origin) {
  return guarded(0, [&]() -> Result<int> {
    Recognizer& recognizer = recognizers().get(handle);
    TANDEM_TRY(config, size == 0 ? gigaam_config_of(recognizer.weights) : parse_gigaam_config({json, size}, origin));
    return configure(recognizer, std::move(config));
  });
}

TANDEM_EXPORT int tandem_gigaam_has_vocabulary(uint32_t handle) {
  const Recognizer* recognizer = recognizers().find(handle);
  return recognizer && recognizer->vocabulary ? 1 : 0;
}

/// Texts of the ids 0, 1, ..., each with a zero behind it.
TANDEM_EXPORT int tandem_gigaam_vocabulary(uint32_t handle, const char* texts, uint32_t size) {
  return guarded(0, [&]() -> Result<int> {
    std::vector<std::string> all;
    for (std::string_view rest(texts, size); !rest.empty(); rest.remove_prefix(all.back().size() + 1))
      all.emplace_back(rest.substr(0, rest.find('\0')));
    TANDEM_TRY(vocabulary, Vocabulary::of_texts(std::move(all)));
    recognizers().get(handle).vocabulary = std::move(vocabulary);
    return 1;
  });
}

/// A SentencePiece model.
TANDEM_EXPORT int tandem_gigaam_tokenizer(uint32_t handle, const uint8_t* bytes, uint32_t size, const char* origin) {
  return guarded(0, [&]() -> Result<int> {
    TANDEM_TRY(model, read_sentencepiece({reinterpret_cast<const std::byte*>(bytes), size}, origin));
    auto vocabulary = Vocabulary::of_model(std::move(model));
    if (!vocabulary) return fail(vocabulary.error().code, concat(origin, ": ", vocabulary.error().message));
    recognizers().get(handle).vocabulary = std::move(*vocabulary);
    return 1;
  });
}

/// `head`: what the model must have, "ctc" or "rnnt", or "". `dtype`: what the plan keeps the matrices as; "": as the
/// weights have them. `activations`: "f32" or "bf16". `longest_s`: of a clip.
TANDEM_EXPORT int tandem_gigaam_prepare(uint32_t handle, const char* head, const char* dtype, const char* activations,
                                        const char* isa, int mode, double longest_s, double lanes, double beam_width) {
  return guarded(0, [&]() -> Result<int> {
    Recognizer& recognizer = recognizers().get(handle);
    std::optional<GigaAmHead> wanted;
    if (*head != 0) wanted = std::string_view(head) == "ctc" ? GigaAmHead::kCtc : GigaAmHead::kRnnt;
    const GigaAmConfig& config = recognizer.config.value();
    if (auto checked = check_speech_config(config, wanted); !checked) return tl::unexpected<JitError>(checked.error());
    GigaAmOptions options;
    if (*dtype != 0) options.weights = dtype_or_throw(dtype);
    options.activations = dtype_or_throw(activations);
    TANDEM_TRY(model, make_speech_model(recognizer.weights, config, std::move(recognizer.vocabulary.value()), options));
    const PrepareConfig target = prepare_config(isa, mode);
    const PieceRecognizerOptions pieces{static_cast<int64_t>(lanes), longest_s, static_cast<int64_t>(beam_width)};
    TANDEM_TRY(made, PieceRecognizer::create(model.model, pieces, target));
    recognizer.pieces = std::move(made);
    recognizer.vocabulary = std::move(model.vocabulary);
    recognizer.weights = {};
    return 1;
  });
}

/// Most samples of a clip (0), samples from one frame to the next (1), mel bands (2), classes (3), most lanes (4),
/// samples of a second (5).
TANDEM_EXPORT double tandem_gigaam_fact(uint32_t handle, int which) {
  const PieceRecognizer& pieces = *recognizers().find(handle)->pieces;
  const GigaAmConfig& config = pieces.model().config;
  const int64_t facts[] = {pieces.longest(), pieces.samples_per_frame(), config.mel.features, config.head->num_classes,
                           pieces.lanes(),   pieces.sample_rate()};
  return static_cast<double>(facts[which]);
}

/// "ctc" or "rnnt".
TANDEM_EXPORT const char* tandem_gigaam_head(uint32_t handle) {
  return recognizers().find(handle)->pieces->model().rnnt ? "rnnt" : "ctc";
}

// Clips.

/// What is said in a clip of at most the longest's samples: 1, and its lists can be read; 0: failed.
TANDEM_EXPORT int tandem_gigaam_transcribe(uint32_t handle, const float* samples, uint32_t count) {
  return guarded(0, [&]() -> Result<int> {
    Recognizer& recognizer = recognizers().get(handle);
    PieceRecognizer& pieces = *recognizer.pieces;
    const std::span<const float> clip(samples, count);
    if (!check_samples(clip)) return 0;
    auto sequences = pieces.recognize({&clip, 1});
    if (!sequences) return failed(sequences.error(), 0);
    const SpeechPiece whole{0, count, 0, count};
    const RecognizedPiece recognized{whole, std::move(sequences->front())};
    const double duration = static_cast<double>(count) / static_cast<double>(pieces.sample_rate());
    TANDEM_TRY(segments, assemble_transcript({&recognized, 1}, *recognizer.vocabulary,
                                             {pieces.sample_rate(), pieces.samples_per_frame(), duration}));
    recognizer.transcript = std::move(segments.front());
    return 1;
  });
}

/// Measures the kernels of the encoder and its head on a clip: how many there are (their rows: profile_entry.cc), -1:
/// failed.
TANDEM_EXPORT int tandem_gigaam_profile(uint32_t handle, const float* samples, uint32_t count, int repetitions) {
  return guarded(-1, [&]() -> Result<int> {
    PieceRecognizer& pieces = *recognizers().get(handle).pieces;
    const std::span<const float> clip(samples, count);
    if (!check_samples(clip)) return -1;
    const int64_t frames = pieces.model().config.mel.frames(count);
    if (frames == 0)
      return fail(ErrorCode::kInvalidArgument, concat("a clip of ", count, " samples has no frame to profile; ",
                                                      pieces.model().config.mel.fewest_samples(), " are needed"));
    // Puts the clip where the plan reads it.
    if (auto done = pieces.recognize({&clip, 1}); !done) return failed(done.error(), -1);
    Session& session = pieces.recognizer().jit().session();
    const VariableValue values[] = {{"b", 1}, {"t", frames}};
    return profile(*session.plan(), repetitions, [&] { return session.execute_with_vars_profiled(values); });
  });
}

TANDEM_EXPORT const char* tandem_gigaam_text(uint32_t handle) {
  return recognizers().find(handle)->transcript.text.c_str();
}
TANDEM_EXPORT uint32_t tandem_gigaam_list_size(uint32_t handle, List list) {
  return static_cast<uint32_t>(recognizers().find(handle)->list(list).size());
}
TANDEM_EXPORT const char* tandem_gigaam_list_text(uint32_t handle, List list, uint32_t i) {
  return recognizers().find(handle)->list(list)[i].text.c_str();
}
/// Seconds where it starts (0) and ends (1); 2: the id of a token.
TANDEM_EXPORT double tandem_gigaam_list_number(uint32_t handle, List list, uint32_t i, int which) {
  const Recognizer& recognizer = *recognizers().find(handle);
  if (which == 2) return recognizer.transcript.ids[i];
  const TimedText& text = recognizer.list(list)[i];
  return which == 0 ? text.start : text.end;
}

/// Log-mel of a clip, at `tandem_gigaam_array`: its number of frames, -1: failed.
TANDEM_EXPORT int tandem_gigaam_log_mel(uint32_t handle, const float* samples, uint32_t count) {
  return guarded(-1, [&]() -> Result<int> {
    Recognizer& recognizer = recognizers().get(handle);
    const std::span<const float> clip(samples, count);
    if (!check_samples(clip)) return -1;
    auto mel = recognizer.pieces->log_mel(clip);
    if (!mel) return failed(mel.error(), -1);
    recognizer.log_mel = std::move(*mel);
    return static_cast<int>(recognizer.log_mel.size()) /
           static_cast<int>(recognizer.pieces->model().config.mel.features);
  });
}

/// A batch of log-mel [lanes, features, frames]: 1, and sizes, arrays and sequences can be read; 0: failed.
TANDEM_EXPORT int tandem_gigaam_recognize(uint32_t handle, const float* mel, uint32_t count, const int32_t* lengths,
                                          uint32_t lanes, double frames) {
  return guarded(0, [&]() -> Result<int> {
    Recognizer& recognizer = recognizers().get(handle);
    auto batch =
        recognizer.pieces->recognizer().recognize({{mel, count}, {lengths, lanes}, static_cast<int64_t>(frames)});
    if (!batch) return failed(batch.error(), 0);
    recognizer.batch = std::move(*batch);
    return 1;
  });
}

TANDEM_EXPORT uint32_t tandem_gigaam_size(uint32_t handle, Size which) {
  const RecognizedBatch& batch = recognizers().find(handle)->batch;
  if (which == Size::kLanes) return static_cast<uint32_t>(batch.encoded_lengths.size());
  if (which == Size::kFrames) return static_cast<uint32_t>(batch.frames);
  return static_cast<uint32_t>(which == Size::kWidth ? batch.width : batch.score_width);
}

TANDEM_EXPORT const void* tandem_gigaam_array(uint32_t handle, Array which) {
  const Recognizer& recognizer = *recognizers().find(handle);
  if (which == Array::kLogMel) return recognizer.log_mel.data();
  if (which == Array::kEncoded) return recognizer.batch.encoded.data();
  if (which == Array::kScores) return recognizer.batch.scores.data();
  return recognizer.batch.encoded_lengths.data();
}

TANDEM_EXPORT uint32_t tandem_gigaam_sequence_size(uint32_t handle, uint32_t lane) {
  return static_cast<uint32_t>(recognizers().find(handle)->batch.sequences[lane].tokens.size());
}
/// i32: tokens (0) or their frames (1).
TANDEM_EXPORT const int32_t* tandem_gigaam_sequence(uint32_t handle, uint32_t lane, int which) {
  const TokenSequence& sequence = recognizers().find(handle)->batch.sequences[lane];
  return which == 0 ? sequence.tokens.data() : sequence.frames.data();
}

TANDEM_EXPORT void tandem_gigaam_destroy(uint32_t handle) { recognizers().remove(handle); }
