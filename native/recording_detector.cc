#include "native/recording_detector.h"

#include "core/backend/registry.h"
#include "native/progress.h"
#include "native/silero_target.h"

namespace tandem {

Result<RecordingDetector> RecordingDetector::create(const std::string& version, int64_t sample_rate,
                                                    const std::string& given, const PrepareConfig& config) {
  TANDEM_TRY(weights, load_silero_weights(version, sample_rate, given));
  // The program's backend shares large kernels among threads; these are so short that a busy machine makes them wait.
  PrepareConfig one_thread = config;
  one_thread.threads = 1;
  if (config.backend) {
    const auto shared = find_backend(config.backend->name(), {config.threads});
    const auto single = find_backend(config.backend->name(), {1});
    if (shared && single && *shared == config.backend) one_thread.backend = *single;
  }
  return RecordingDetector(std::move(weights), std::move(one_thread));
}

Result<std::vector<double>> RecordingDetector::probabilities(std::span<const float> samples,
                                                             const OnProgress& on_progress) {
  TANDEM_TRY(sizes, silero_sizes(weights_.sample_rate));
  // The reason may be long, and was told with the first recording.
  if (failed_) return fail(*failed_, "the model could not be prepared, as said before");
  windows_ += static_cast<int64_t>(samples.size()) / sizes.window;
  const bool many =
      config_.numerics != Numerics::kReproducible && (offline_ || windows_ >= SileroOffline::kFewestWindows);
  TANDEM_TRY(found, many ? whole(samples, on_progress) : stream(samples, on_progress));
  return std::vector<double>(found.begin(), found.end());
}

template <typename Detector>
Result<void> RecordingDetector::prepare(std::optional<Detector>& detector) {
  if (detector) return {};
  const auto start = std::chrono::steady_clock::now();
  auto made = Detector::create(weights_, config_);
  prepare_seconds_ += seconds_since(start);
  if (!made) {
    failed_ = made.error().code;
    return tl::unexpected<JitError>(made.error());
  }
  detector.emplace(std::move(*made));
  return {};
}

Result<std::vector<float>> RecordingDetector::stream(std::span<const float> samples, const OnProgress& on_progress) {
  if (auto prepared = prepare(vad_); !prepared) return tl::unexpected<JitError>(prepared.error());
  if (auto reset = vad_->reset(); !reset) return tl::unexpected<JitError>(reset.error());
  std::vector<float> found;
  constexpr size_t kPiece = 16384;
  for (size_t at = 0; at < samples.size(); at += kPiece) {
    const auto piece = samples.subspan(at, std::min(kPiece, samples.size() - at));
    if (auto pushed = vad_->push(piece, found); !pushed) return tl::unexpected<JitError>(pushed.error());
    if (on_progress) on_progress(static_cast<int64_t>(at), static_cast<int64_t>(samples.size()));
  }
  if (auto flushed = vad_->flush(found); !flushed) return tl::unexpected<JitError>(flushed.error());
  return found;
}

Result<std::vector<float>> RecordingDetector::whole(std::span<const float> samples, const OnProgress& on_progress) {
  if (auto prepared = prepare(offline_); !prepared) return tl::unexpected<JitError>(prepared.error());
  return offline_->probabilities(samples, [&](int64_t windows) {
    if (on_progress) on_progress(windows * offline_->window(), static_cast<int64_t>(samples.size()));
  });
}

}  // namespace tandem
