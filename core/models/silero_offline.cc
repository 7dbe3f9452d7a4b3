#include "core/models/silero_offline.h"

#include <algorithm>
#include <cmath>

#include "core/audio/finite.h"

namespace tandem {

Result<SileroOffline> SileroOffline::create(const SileroWeights& weights, const PrepareConfig& config) {
  if (auto checked = check_silero_weights(weights); !checked) return tl::unexpected<JitError>(checked.error());
  // Kernels of a few microseconds gain little from a second thread, and wait for it long on a busy machine.
  PrepareConfig one_thread = config;
  one_thread.threads = 1;
  const auto model = std::make_shared<const Silero>(weights);
  SileroGatesJit gates{model};
  if (auto prepared = gates.prepare_with_config(one_thread); !prepared)
    return tl::unexpected<JitError>(prepared.error());
  SileroScanJit scan{model};
  if (auto prepared = scan.prepare_with_config(one_thread); !prepared)
    return tl::unexpected<JitError>(prepared.error());
  return SileroOffline(std::move(gates), std::move(scan));
}

Result<SileroOffline> SileroOffline::create(const SileroWeights& weights) {
  TANDEM_TRY(config, PrepareConfig::from_env());
  return create(weights, config);
}

Result<std::vector<float>> SileroOffline::probabilities(std::span<const float> samples, const OnProgress& on_progress) {
  if (auto checked = check_finite(samples, 0); !checked) return tl::unexpected<JitError>(checked.error());
  if (auto reset = scan_.reset(); !reset) return tl::unexpected<JitError>(reset.error());
  const auto window = static_cast<size_t>(this->window());
  const auto context = static_cast<size_t>(scan_.model().sizes().context);
  const size_t windows = (samples.size() + window - 1) / window;
  std::vector<float> probabilities;
  probabilities.reserve(windows);
  TANDEM_TRY(input, gates_.samples_view<float>());
  const size_t block = (input.size() - context) / window;
  for (size_t begin = 0; begin < windows; begin += block) {
    const size_t count = std::min(block, windows - begin);
    // The context of the first window is silence, and so is what the last window misses.
    const size_t first = begin * window, before = std::min(first, context);
    const size_t end = std::min(first + count * window, samples.size());
    const auto place = std::fill_n(input.begin(), context - before, 0.0f);
    const auto copied = std::copy(samples.begin() + static_cast<std::ptrdiff_t>(first - before),
                                  samples.begin() + static_cast<std::ptrdiff_t>(end), place);
    std::fill(copied, input.begin() + static_cast<std::ptrdiff_t>(context + count * window), 0.0f);
    if (auto executed = gates_.execute_bound(count); !executed) return tl::unexpected<JitError>(executed.error());
    TANDEM_TRY(gates, gates_.gates_view<float>());
    const size_t row = gates.size() / count;
    for (size_t i = 0; i < count; i++) {
      TANDEM_TRY(step_gates, scan_.gates_view<float>());
      std::copy_n(gates.begin() + static_cast<std::ptrdiff_t>(i * row), row, step_gates.begin());
      if (auto executed = scan_.execute(); !executed) return tl::unexpected<JitError>(executed.error());
      TANDEM_TRY(probability, scan_.probability_view<float>());
      if (!std::isfinite(probability[0])) {
        const size_t from = (begin + i) * window, heard = std::min(from, context);
        const size_t to = std::min(from + window, samples.size());
        return gates_.model().overflow(samples.subspan(from - heard, to - from + heard),
                                       static_cast<int64_t>(begin + i));
      }
      probabilities.push_back(probability[0]);
    }
    if (on_progress) on_progress(static_cast<int64_t>(begin + count));
  }
  return probabilities;
}

}  // namespace tandem
