#include "core/models/mel.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/nn.h"

namespace tandem {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn10 = 2.30258509299404568402;
/// m = kMelScale * ln(1 + f / 700).
constexpr double kMelScale = 2595.0 / kLn10;

Tensor count_up(int64_t n) { return arange(n).cast(DType::kF64); }

/// The real and imaginary rows of the DFT over a windowed frame: f64 [2 bins, n_fft].
Tensor fourier_basis(const MelConfig& config) {
  // The product of bin and sample is reduced before it becomes an angle: exact, and every angle is below 2 pi.
  const Tensor turns = (arange(config.bins()).unsqueeze(1) * arange(config.n_fft)) % config.n_fft;
  const Tensor angle = turns.cast(DType::kF64) * (2.0 * kPi / static_cast<double>(config.n_fft));
  return concat({cos(angle), -sin(angle)}, 0) * hann_window(config.n_fft);
}

}  // namespace

Tensor hann_window(int64_t size) { return 0.5 - cos(count_up(size) * (2.0 * kPi / static_cast<double>(size))) * 0.5; }

Tensor mel_filterbank(const MelConfig& config) {
  const int64_t whole_half_rate = config.sample_rate / 2;  // As the reference rounds it.
  const auto half_rate = static_cast<double>(whole_half_rate);
  const Tensor frequency = count_up(config.bins()) * (half_rate / static_cast<double>(config.bins() - 1));
  const Tensor highest = log(full({1}, 1.0 + half_rate / 700.0, DType::kF64)) * kMelScale;
  const Tensor point = count_up(config.features + 2) * highest / static_cast<double>(config.features + 1);
  const Tensor edge = (exp(point / kMelScale) - 1.0) * 700.0;
  const Tensor low = edge.slice(0, 0, config.features);
  const Tensor middle = edge.slice(0, 1, config.features + 1);
  const Tensor high = edge.slice(0, 2);
  const Tensor rise = (frequency.unsqueeze(1) - low) / (middle - low);
  const Tensor fall = (high - frequency.unsqueeze(1)) / (high - middle);
  return maximum(minimum(rise, fall), 0.0);
}

Tensor MelFrontEnd::forward(const Tensor& samples) const {
  if (samples.rank() < 1 || (samples.dtype() != DType::kF32 && samples.dtype() != DType::kI16))
    throw TensorError(concat("the mel front end takes samples [.., n] of f32 or i16, not ", name_of(samples.dtype()),
                             " ", text(samples.shape())));
  if (samples.dim(-1).lower() < config_.fewest_samples())
    throw TensorError(concat("the mel front end needs at least ", config_.fewest_samples(), " samples, but may get ",
                             samples.dim(-1).lower()),
                      ErrorCode::kTooShort);
  const Scope scope(samples, "mel");
  Tensor signal = samples.cast(DType::kF64);
  if (samples.dtype() == DType::kI16) signal = signal * (1.0 / 32768.0);
  if (config_.center) {
    std::vector<DimPair> mirrored(static_cast<size_t>(signal.rank()), DimPair(0, 0));
    mirrored.back() = {config_.n_fft / 2, config_.n_fft / 2};
    signal = signal.reflect_pad(mirrored);
  }
  const Tensor frames = signal.window(-1, config_.n_fft, config_.hop_length);             // [.., t, n_fft]
  const std::vector<Tensor> parts = linear(frames, fourier_basis(config_)).chunk(-1, 2);  // [.., t, bins] each
  const Tensor power = parts[0] * parts[0] + parts[1] * parts[1];
  const Tensor mel = linear(power, mel_filterbank(config_).transpose(0, 1));  // [.., t, features]
  return log(minimum(maximum(mel, 1e-9), 1e9)).cast(DType::kF32).transpose(-1, -2);
}

}  // namespace tandem
