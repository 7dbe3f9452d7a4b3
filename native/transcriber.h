#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/models/piece_recognizer.h"
#include "native/recording_detector.h"
#include "native/sound_file.h"
#include "native/speech_files.h"
#include "native/transcript_output.h"

namespace tandem {

struct TranscriberOptions {
  PieceRecognizerOptions recognizer;
  SpeechSplitOptions split;
  /// A recording up to this long is recognised whole, silences included; a longer one is split. 25 s is what the GigaAM
  /// project recognises at once.
  double longest_whole_s = 25;
  std::string vad_version = "v6";
  std::string vad_weights;  ///< File or folder; empty: the documented places.
};

/// Recordings in, transcripts out. Pieces of all recordings share batches, so that many short files are as quick as a
/// long one.
class Transcriber {
 public:
  /// What is done of a recording: samples, and all of them.
  using OnProgress = std::function<void(int64_t done, int64_t total)>;

  /// Prepares the recogniser. Errors: those of PieceRecognizer::create, kInvalidArgument for `split`.
  static Result<Transcriber> create(SpeechModel model, TranscriberOptions options, const PrepareConfig& config);

  /// Takes a recording. `report`, whose address must not change, is complete at the latest after `finish()`: its
  /// segments, or the failure.
  void add(Sound sound, TranscriptReport& report, const OnProgress& on_progress);
  /// Recognises what is still waiting.
  void finish();
  /// Of the recogniser.
  const Plan& plan() { return *recognizer_.recognizer().jit().session().plan(); }

 private:
  /// A recording of which pieces are waiting.
  struct Recording {
    TranscriptReport* report = nullptr;
    std::vector<RecognizedPiece> pieces;
    size_t left = 0;
    PieceClock clock;
  };
  struct Waiting {
    Recording* recording = nullptr;
    size_t piece = 0;
    std::vector<float> samples;
  };

  Transcriber(PieceRecognizer recognizer, Vocabulary vocabulary, TranscriberOptions options, PrepareConfig config)
      : recognizer_(std::move(recognizer)),
        vocabulary_(std::move(vocabulary)),
        options_(std::move(options)),
        config_(std::move(config)) {}

  Result<std::vector<SpeechPiece>> split(std::span<const float> samples, const OnProgress& on_progress);
  Result<std::vector<double>> speech_probabilities(std::span<const float> samples);
  void recognize_waiting();
  void complete(Recording& recording);

  PieceRecognizer recognizer_;
  Vocabulary vocabulary_;
  TranscriberOptions options_;
  PrepareConfig config_;
  std::optional<RecordingDetector> detector_;
  std::deque<Recording> recordings_;
  std::vector<Waiting> waiting_;
};

}  // namespace tandem
