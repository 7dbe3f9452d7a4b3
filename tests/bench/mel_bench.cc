// The DFT of the log-mel front end: as one contraction with a table, which is how the models do it, and as a fast
// Fourier transform of two steps made of graph operations.

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "core/base/text.h"
#include "core/jit/session.h"
#include "core/models/mel.h"
#include "core/tensor/nn.h"
#include "native/native_backends.h"
#include "tests/bench/contest.h"

namespace tandem::bench {
namespace {

constexpr int64_t kSeconds = 20;
constexpr double kPi = 3.14159265358979323846;

/// cos and -sin of 2 pi rows * columns / size: f64 [rows, columns] each.
std::pair<Tensor, Tensor> turns(int64_t rows, int64_t columns, int64_t size) {
  const Tensor product = (arange(rows).unsqueeze(1) * arange(columns)) % size;
  const Tensor angle = product.cast(DType::kF64) * (2.0 * kPi / static_cast<double>(size));
  return {cos(angle), -sin(angle)};
}

/// Power spectra of windowed frames [t, n_fft]: f64 [t, bins]. Cooley and Tukey's split n_fft = p q: a sample is
/// q a + b, a bin c + p d; sums over a first, then a turn by b c / n_fft, then sums over b.
Tensor power_in_two_steps(const Tensor& frames, const MelConfig& config, int64_t p) {
  const int64_t n = config.n_fft, q = n / p, half = q / 2 + 1;
  const Dim& t = frames.dim(0);
  const auto [cos_p, sin_p] = turns(p, p, p);
  const Tensor columns = frames.reshape({t, p, q}).transpose(1, 2);           // [t, b, a]
  const auto sums = linear(columns, concat({cos_p, sin_p}, 0)).chunk(-1, 2);  // [t, b, c] each: real, imaginary
  const auto [cos_n, sin_n] = turns(q, p, n);
  const Tensor real = sums[0] * cos_n - sums[1] * sin_n, imaginary = sums[0] * sin_n + sums[1] * cos_n;
  const Tensor turned = concat({real, imaginary}, 1).transpose(1, 2);  // [t, c, 2 b]
  const auto [cos_q, sin_q] = turns(half, q, q);
  const Tensor table = concat({concat({cos_q, -sin_q}, 1), concat({sin_q, cos_q}, 1)}, 0);  // [2 d, 2 b]
  const auto parts = linear(turned, table).chunk(-1, 2);                                    // [t, c, d] each
  const Tensor power = parts[0] * parts[0] + parts[1] * parts[1];
  return power.transpose(1, 2).reshape({t, half * p}).slice(1, 0, config.bins());
}

/// The front end with the transform in two steps; samples [n] of f32.
Tensor fast_mel(const Tensor& samples, const MelConfig& config, int64_t p) {
  Tensor signal = samples.cast(DType::kF64);
  if (config.center) signal = signal.reflect_pad({{config.n_fft / 2, config.n_fft / 2}});
  const Tensor frames = signal.window(0, config.n_fft, config.hop_length) * hann_window(config.n_fft);
  const Tensor mel = linear(power_in_two_steps(frames, config, p), mel_filterbank(config).transpose(0, 1));
  return log(minimum(maximum(mel, 1e-9), 1e9)).cast(DType::kF32).transpose(0, 1);
}

Session prepared(const char* name, int64_t n, const std::function<Tensor(const Tensor&)>& forward) {
  Session session(name);
  session.declare_input("samples", DType::kF32, {n});
  PrepareConfig config;
  config.backend_name = "native";
  config.threads = 1;
  const auto build = [&](const Trace& trace) {
    return Outputs({NamedTensor{"mel", forward(trace.tensor("samples"))}});
  };
  if (auto done = session.prepare({}, build, config); !done) throw std::runtime_error(done.error().text());
  float* samples = session.input(0)->span<float>()->data();
  // Two tones and a little noise: every band holds something.
  uint32_t state = 1;
  for (int64_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    const double time = static_cast<double>(i) / 16000.0;
    samples[i] = static_cast<float>(0.3 * std::sin(2 * kPi * 440 * time) + 0.1 * std::sin(2 * kPi * 3100 * time) +
                                    0.02 * (static_cast<double>(state) / 4294967296.0 - 0.5));
  }
  return session;
}

void compare(Report& report, const std::string& name, const MelConfig& config, int64_t p) {
  if (!report.wants(name)) return;
  const int64_t n = kSeconds * config.sample_rate;
  const MelFrontEnd front_end(config);
  Session table = prepared("contraction", n, [&](const Tensor& samples) { return front_end.forward(samples); });
  Session fast = prepared("two steps", n, [&](const Tensor& samples) { return fast_mel(samples, config, p); });
  const auto timings = compete({{"contraction", [&] { static_cast<void>(table.execute()); }},
                                {"two steps", [&] { static_cast<void>(fast.execute()); }}},
                               20, 1000);
  const auto first = *table.output(0)->to_vector<float>(), second = *fast.output(0)->to_vector<float>();
  float difference = 0;
  for (size_t i = 0; i < first.size(); i++) difference = std::max(difference, std::abs(first[i] - second[i]));
  if (!(difference < 1e-4f)) throw std::runtime_error(concat("the two transforms differ by ", number_text(difference)));
  report.row(name, {{"contraction us", timings[0].median},
                    {"two steps us", timings[1].median},
                    {"contraction / two steps", ratio(timings[0], timings[1])},
                    {"largest difference", number_text(difference)}});
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  tandem::register_native_backends();
  using tandem::bench::compare;
  tandem::bench::Report report(
      argc, argv, "Log-mel of 20 s of sound, f64, one thread: the DFT as one contraction, and as an FFT of two steps");
  try {
    tandem::MelConfig v3, v2;
    v3.n_fft = 320, v3.center = false;
    v2.n_fft = 400, v2.center = true;
    compare(report, "v3: 320 = 16 x 20 samples", v3, 16);
    compare(report, "v2: 400 = 20 x 20 samples", v2, 20);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  report.finish();
  return 0;
}
