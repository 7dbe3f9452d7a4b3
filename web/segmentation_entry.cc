// Segmentation of probabilities, and the streaming iterator.

#include <optional>
#include <vector>

#include "core/audio/segmentation.h"
#include "core/audio/vad_iterator.h"
#include "web/boundary.h"

namespace tandem::web {

namespace {

std::vector<double>& segments() {
  static std::vector<double> all;
  return all;
}

Handles<VadIterator>& iterators() {
  static Handles<VadIterator> all;
  return all;
}

/// Options in the order in which index.js writes them; NaN stands for an option that is absent.
SegmentationOptions read_options(const double* values) {
  SegmentationOptions options;
  options.threshold = values[0];
  if (!std::isnan(values[1])) options.neg_threshold = values[1];
  options.min_speech_duration_ms = values[2];
  options.max_speech_duration_s = values[3];
  options.min_silence_duration_ms = values[4];
  options.speech_pad_ms = values[5];
  options.min_silence_at_max_speech_ms = values[6];
  options.use_longest_silence_at_max_speech = values[7] != 0;
  return options;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// Number of segments, -1: failed. They are in seconds when options[8] is a number of decimals. Their starts and ends,
/// in turn, are at `tandem_segments_data`.
TANDEM_EXPORT int tandem_segments(const double* probabilities, uint32_t count, double samples, double sample_rate,
                                  const double* options) {
  return guarded(-1, [&]() -> Result<int> {
    const std::span<const double> values(probabilities, count);
    const auto length = static_cast<int64_t>(samples), rate = static_cast<int64_t>(sample_rate);
    segments().clear();
    const auto keep = [](const auto& found) {
      for (const auto& segment : found) {
        segments().push_back(static_cast<double>(segment.start));
        segments().push_back(static_cast<double>(segment.end));
      }
      return static_cast<int>(found.size());
    };
    if (const double resolution = options[8]; !std::isnan(resolution)) {
      TANDEM_TRY(found,
                 speech_timestamps_seconds(values, length, rate, read_options(options), static_cast<int>(resolution)));
      return keep(found);
    }
    TANDEM_TRY(found, speech_timestamps(values, length, rate, read_options(options)));
    return keep(found);
  });
}
TANDEM_EXPORT const double* tandem_segments_data() { return segments().data(); }

/// An iterator by number; 0: failed.
TANDEM_EXPORT uint32_t tandem_iterator_create(double sample_rate, double threshold, double min_silence_ms,
                                              double pad_ms) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    TANDEM_TRY(iterator, VadIterator::create(static_cast<int64_t>(sample_rate), {threshold, min_silence_ms, pad_ms}));
    return iterators().add(std::make_unique<VadIterator>(iterator));
  });
}

/// 0: nothing, 1: speech begins, 2: speech ends, -1: failed. `sample` receives where.
TANDEM_EXPORT int tandem_iterator_add(uint32_t handle, double probability, double* sample) {
  return guarded(-1, [&]() -> Result<int> {
    const std::optional<SpeechEvent> event = iterators().get(handle).add(probability);
    if (!event) return 0;
    *sample = static_cast<double>(event->sample);
    return event->kind == SpeechEvent::Kind::kStart ? 1 : 2;
  });
}

TANDEM_EXPORT int tandem_iterator_triggered(uint32_t handle) {
  const VadIterator* iterator = iterators().find(handle);
  return iterator && iterator->triggered() ? 1 : 0;
}
TANDEM_EXPORT void tandem_iterator_reset(uint32_t handle) {
  if (VadIterator* iterator = iterators().find(handle)) iterator->reset();
}
TANDEM_EXPORT void tandem_iterator_destroy(uint32_t handle) { iterators().remove(handle); }
