#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.h"

namespace tandem {

/// Parameters of `VadIterator`.
struct VadIteratorOptions {
  /// Speech begins at a probability of at least this, and silence is a probability below this minus 0.15 (which may be
  /// negative: then speech never ends). In [0, 1].
  double threshold = 0.5;
  /// Silence must last this long to end speech. At least 0 ms.
  double min_silence_duration_ms = 100;
  /// Moves starts back and ends forward. At least 0 ms.
  double speech_pad_ms = 30;

  /// kInvalidArgument that names the parameter, its value and its range.
  Result<void> validate() const;
};

/// Speech begins or ends at this sample, counted from the start of the stream.
struct SpeechEvent {
  enum class Kind : uint8_t { kStart, kEnd };
  Kind kind = Kind::kStart;
  int64_t sample = 0;

  friend bool operator==(const SpeechEvent& a, const SpeechEvent& b) {
    return a.kind == b.kind && a.sample == b.sample;
  }
};

/// Turns probabilities into events while they arrive, with the semantics of Silero's `VADIterator`: no minimum and no
/// maximum of speech, pads that may overlap, and no event at the end of the stream (an open segment stays open:
/// `triggered()` tells). A probability of NaN keeps the state as it is. Events lie up to a pad before or after the
/// windows that decide them.
class VadIterator {
 public:
  /// `sample_rate` is 8000 or 16000; anything else, and a bad option, is kInvalidArgument.
  static Result<VadIterator> create(int64_t sample_rate, const VadIteratorOptions& options = {});

  /// Takes the probability of the next window.
  std::optional<SpeechEvent> add(double probability);
  /// Forgets the stream; the next window is the first one.
  void reset();
  /// Speech has begun and not ended yet.
  bool triggered() const { return triggered_; }
  /// Samples taken so far: windows times window length.
  int64_t current_sample() const { return current_; }

 private:
  VadIterator(int64_t sample_rate, int64_t window, const VadIteratorOptions& options);

  double threshold_;
  double min_silence_;
  double pad_;
  int64_t window_;
  int64_t current_ = 0;
  int64_t silence_end_ = 0;  ///< end of the first silent window; 0 is "not set"
  bool triggered_ = false;
};

}  // namespace tandem
