#include "core/models/silero_vad.h"

#include <algorithm>
#include <cmath>

#include "core/audio/finite.h"
#include "core/base/text.h"

namespace tandem {

SileroVad::SileroVad(SileroStreamJit jit)
    : jit_(std::move(jit)),
      framer_(static_cast<size_t>(jit_.model().sizes().window), static_cast<size_t>(jit_.model().sizes().context)) {
  // No call allocates: the buffers get their sizes here.
  static_cast<void>(save(before_));
}

Result<SileroVad> SileroVad::create(const SileroWeights& weights, const PrepareConfig& config) {
  if (auto checked = check_silero_weights(weights); !checked) return tl::unexpected<JitError>(checked.error());
  SileroStreamJit jit{Silero(weights)};
  if (auto prepared = jit.prepare_with_config(config); !prepared) return tl::unexpected<JitError>(prepared.error());
  return SileroVad(std::move(jit));
}

Result<SileroVad> SileroVad::create(const SileroWeights& weights) {
  TANDEM_TRY(config, PrepareConfig::from_env());
  return create(weights, config);
}

Result<void> SileroVad::check(std::span<const float> samples) const {
  if (ended_)
    return fail(ErrorCode::kInvalidArgument,
                concat("the stream has ended after ", sample_count(), " samples; call reset() before the next one"));
  return check_finite(samples, sample_count());
}

Result<float> SileroVad::run_frame(std::span<const float> frame) {
  auto chunk = jit_.chunk_view<float>();
  if (!chunk) return tl::unexpected<JitError>(chunk.error());
  std::copy(frame.begin(), frame.end(), chunk->begin());
  if (auto executed = jit_.execute(); !executed) return tl::unexpected<JitError>(executed.error());
  const auto probability = jit_.probability_view<float>();
  if (!probability) return tl::unexpected<JitError>(probability.error());
  const float value = (*probability)[0];
  if (!std::isfinite(value)) return jit_.model().overflow(frame, framer_.window_count());
  return value;
}

Result<void> SileroVad::push(std::span<const float> samples, std::vector<float>& probabilities) {
  const size_t before = probabilities.size();
  auto pushed = push(samples, [&](float probability) { probabilities.push_back(probability); });
  if (!pushed) probabilities.resize(before);
  return pushed;
}

Result<void> SileroVad::flush(std::vector<float>& probabilities) {
  return flush([&](float probability) { probabilities.push_back(probability); });
}

Result<float> SileroVad::step(std::span<const float> window) {
  if (window.size() != framer_.window())
    return fail(ErrorCode::kInvalidArgument,
                concat("a step of Silero VAD at ", sample_rate(), " Hz takes ", framer_.window(), " samples, not ",
                       window.size(), "; the context is added here. Use push() for pieces of any size"));
  if (framer_.pending() != 0)
    return fail(ErrorCode::kInvalidArgument,
                concat("step() while ", framer_.pending(), " pushed samples wait for their window; go on with push()"));
  Result<float> probability = 0.0f;
  if (auto pushed = push(window, [&](float value) { probability = value; }); !pushed)
    return tl::unexpected<JitError>(pushed.error());
  return probability;
}

Result<void> SileroVad::reset() {
  framer_.reset();
  ended_ = false;
  return jit_.reset();
}

Result<void> SileroVad::save(Place& place) {
  TANDEM_TRY(h, jit_.h_view<float>());
  TANDEM_TRY(c, jit_.c_view<float>());
  place.h.assign(h.begin(), h.end());
  place.c.assign(c.begin(), c.end());
  framer_.save(place.frame);
  place.ended = ended_;
  return {};
}

Result<void> SileroVad::go_back(const Place& place) {
  TANDEM_TRY(h, jit_.h_view<float>());
  TANDEM_TRY(c, jit_.c_view<float>());
  TANDEM_CHECK(place.h.size() == h.size() && place.c.size() == c.size(), "the place is of another detector");
  std::copy(place.h.begin(), place.h.end(), h.begin());
  std::copy(place.c.begin(), place.c.end(), c.begin());
  framer_.go_back(place.frame);
  ended_ = place.ended;
  return {};
}

Result<std::span<const float>> SileroVad::h() { return jit_.h_view<float>(); }

Result<std::span<const float>> SileroVad::c() { return jit_.c_view<float>(); }

}  // namespace tandem
