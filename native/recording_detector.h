#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/models/silero_offline.h"
#include "core/models/silero_vad.h"

namespace tandem {

/// Speech probabilities of whole recordings at one rate, by the detector that is done sooner: `SileroVad`, which is
/// prepared in less time, until all recordings together have SileroOffline::kFewestWindows, then `SileroOffline`. Their
/// probabilities agree within 1e-5. With reproducible numerics it is `SileroVad` alone: the bits of a recording depend
/// on nothing but its samples.
class RecordingDetector {
 public:
  /// Finds and reads the weights of "v5" or "v6" (`given`: --weights, may be empty); nothing is prepared yet.
  static Result<RecordingDetector> create(const std::string& version, int64_t sample_rate, const std::string& given,
                                          const PrepareConfig& config);

  /// What is done of a recording: samples, and all of them.
  using OnProgress = std::function<void(int64_t done, int64_t total)>;
  /// One probability for every window, the last one filled up with zeros. Errors: those of both detectors.
  [[nodiscard]] Result<std::vector<double>> probabilities(std::span<const float> samples,
                                                          const OnProgress& on_progress = {});

  /// Time that preparing has taken so far.
  double prepare_seconds() const { return prepare_seconds_; }

 private:
  RecordingDetector(SileroWeights weights, PrepareConfig config)
      : weights_(std::move(weights)), config_(std::move(config)) {}

  /// Makes one of the two detectors when it is needed first.
  template <typename Detector>
  Result<void> prepare(std::optional<Detector>& detector);
  Result<std::vector<float>> stream(std::span<const float> samples, const OnProgress& on_progress);
  Result<std::vector<float>> whole(std::span<const float> samples, const OnProgress& on_progress);

  SileroWeights weights_;
  PrepareConfig config_;
  std::optional<SileroVad> vad_;
  std::optional<SileroOffline> offline_;
  int64_t windows_ = 0;  ///< Of all recordings so far.
  double prepare_seconds_ = 0;
  std::optional<ErrorCode> failed_;  ///< Why nothing could be prepared.
};

}  // namespace tandem
