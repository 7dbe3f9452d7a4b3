#include "core/models/silero.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/text.h"
#include "core/models/largest_weight.h"
#include "core/models/weight_constant.h"

namespace tandem {

Result<SileroSizes> silero_sizes(int64_t sample_rate) {
  if (sample_rate == 16000) return SileroSizes{512, 64, 128};
  if (sample_rate == 8000) return SileroSizes{256, 32, 64};
  return fail(ErrorCode::kInvalidArgument, concat("the sample rate is ", sample_rate,
                                                  " Hz, Silero VAD takes 16000 or 8000; resample the recording"));
}

namespace {

SileroSizes sizes_or_throw(const SileroWeights& weights) {
  if (auto checked = check_silero_weights(weights); !checked)
    throw TensorError(checked.error().message, checked.error().code);
  return *silero_sizes(weights.sample_rate);
}

/// A convolution in the dtype of its input, and relu.
Tensor convolve_whole(const char* name, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const Conv1dOptions& options) {
  const Scope scope(x, name);
  return relu(conv1d(x, weight.cast(x.dtype()), bias.cast(x.dtype()), options));
}

/// The same, of kernel 3 with padding 1, without the taps that meet padding: places that see the same taps are products
/// of their own.
Tensor convolve_pieces(const char* name, const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Conv1dOptions& options) {
  const Scope scope(x, name);
  const int64_t length = x.dim(2).constant(), taps = weight.dim(2).constant();
  const int64_t places = (length + 2 * options.padding - taps) / options.stride + 1;
  const auto first_tap = [&](int64_t place) { return std::max<int64_t>(options.padding - place * options.stride, 0); };
  const auto end_tap = [&](int64_t place) { return std::min(length + options.padding - place * options.stride, taps); };
  std::vector<Tensor> pieces;
  for (int64_t place = 0, next = 0; place < places; place = next) {
    while (next < places && first_tap(next) == first_tap(place) && end_tap(next) == end_tap(place)) next++;
    const int64_t begin = place * options.stride - options.padding + first_tap(place);
    const int64_t end = (next - 1) * options.stride - options.padding + end_tap(place);
    pieces.push_back(
        relu(conv1d(x.slice(2, begin, end), weight.slice(2, first_tap(place), end_tap(place)).cast(x.dtype()),
                    bias.cast(x.dtype()), {.stride = options.stride})));
  }
  return pieces.size() == 1 ? pieces[0] : concat(pieces, 2);
}

/// The channels of axis 1 in the order 0, 2, 4, .., 1, 3, .., last.
Tensor by_parity(const Tensor& weight) {
  const Dim last = weight.dim(1) - 1;
  return concat({weight.slice(1, 0, last, 2), weight.slice(1, 1, last, 2), weight.slice(1, last)}, 1);
}

/// Is the basis [2 bins, 1, size] what it is in all published files, a Fourier transform under a symmetric window with
/// the real parts first, to the rounding of f32?
bool is_fourier_basis(const WeightTensor& basis) {
  const auto bins = static_cast<size_t>(basis.shape[0]) / 2, size = static_cast<size_t>(basis.shape[2]);
  const auto read = basis.values<float>();
  if (!read) return false;
  const std::vector<float>& values = *read;
  if (size % 4 != 0 || bins != size / 2 + 1 || values[0] != 0) return false;
  std::vector<double> cosine(size);
  for (size_t i = 0; i < size; i++)
    cosine[i] = std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size));
  for (size_t bin = 0; bin < bins; bin++)
    for (size_t i = 0, angle = 0; i < size; i++, angle += bin) {
      angle -= angle < size ? 0 : size;
      const double window = values[i], angle_cosine = cosine[angle];
      const double angle_sine = cosine[angle < size / 4 ? angle + 3 * size / 4 : angle - size / 4];
      const double error = std::fabs(values[bin * size + i] - window * angle_cosine) +
                           std::fabs(values[(bins + bin) * size + i] + window * angle_sine);
      if (!(error <= 3e-7 * window) || (i > 0 && values[i] != values[size - i])) return false;
    }
  return true;
}

/// Do the third and fourth convolution need f64, as the second does? See Silero::features.
bool sums_in_f64(const SileroWeights& weights) { return weights.sample_rate == 8000; }

/// A matrix as plans keep it; where sums need f64, rounded weights would spoil them.
Tensor matrix(const SileroWeights& weights, const WeightTensor& weight) {
  const Tensor stored = weight_constant(weight, weights.file);
  return weights.kept ? stored.cast(*weights.kept) : stored;
}

}  // namespace

Silero::Silero(const SileroWeights& weights)
    : sample_rate_(weights.sample_rate),
      sizes_(sizes_or_throw(weights)),
      stft_weight_(weights.stft_basis),
      stft_basis_(weight_constant(weights.stft_basis, weights.file)),
      conv1_weight_(matrix(weights, weights.conv1_weight)),
      conv1_bias_(weight_constant(weights.conv1_bias, weights.file)),
      conv2_weight_(weight_constant(weights.conv2_weight, weights.file)),
      conv2_bias_(weight_constant(weights.conv2_bias, weights.file)),
      conv3_weight_(sums_in_f64(weights) ? weight_constant(weights.conv3_weight, weights.file)
                                         : matrix(weights, weights.conv3_weight)),
      conv3_bias_(weight_constant(weights.conv3_bias, weights.file)),
      conv4_weight_(sums_in_f64(weights) ? weight_constant(weights.conv4_weight, weights.file)
                                         : matrix(weights, weights.conv4_weight)),
      conv4_bias_(weight_constant(weights.conv4_bias, weights.file)),
      lstm_weight_ih_(matrix(weights, weights.lstm_weight_ih)),
      lstm_weight_hh_(matrix(weights, weights.lstm_weight_hh)),
      lstm_bias_ih_(weight_constant(weights.lstm_bias_ih, weights.file)),
      lstm_bias_hh_(weight_constant(weights.lstm_bias_hh, weights.file)),
      final_weight_(weight_constant(weights.final_weight, weights.file)),
      final_bias_(weight_constant(weights.final_bias, weights.file)) {}

tl::unexpected<JitError> Silero::overflow(std::span<const float> frame, int64_t number) const {
  const float reach = largest_magnitude(frame);
  return fail(ErrorCode::kNonFinite,
              concat("window ", number, " (from sample ", number * sizes_.window,
                     " on) has no finite probability: the network overflows, and its samples reach ", reach,
                     reach > 1 ? "; scale them to -1 to 1" : ", which is usual: a weight is damaged or too large"));
}

Tensor Silero::spectrum(const Tensor& chunks) const {
  const Scope scope(chunks, "spectrum");
  // Mirrored samples go to the right only: the context stands on the left.
  const Tensor signal = chunks.reflect_pad({{0, 0}, {0, sizes_.context}}).unsqueeze(1);
  const std::vector<Tensor> parts = conv1d(signal, stft_basis_, {}, {.stride = sizes_.stride}).chunk(1, 2);
  const Tensor& real = parts[0];
  const Tensor& imaginary = parts[1];
  return sqrt(real * real + imaginary * imaginary);
}

Tensor Silero::folded_spectrum(const Tensor& chunks) const {
  const Scope scope(chunks, "spectrum");
  const int64_t size = stft_basis_.dim(2).constant(), half = size / 2, quarter = size / 4, bins = half + 1;
  const Tensor basis = stft_basis_.squeeze(1);  // [2 bins, size]
  const Tensor window = basis.slice(0, 0, 1);   // Its first row: cos 0 = 1.
  const Tensor signal = chunks.reflect_pad({{0, 0}, {0, sizes_.context}});
  const Tensor frames = signal.window(1, size, sizes_.stride);  // [n, 4, size]
  const Tensor x = frames * window;
  const Tensor middle = frames.slice(2, half, half + 1) * window.slice(1, half, half + 1);
  // A cosine is the same at i and size - i and, but for the sign of odd bins, at half - i; a sine changes its sign at
  // size - i. So for i = 1 .. quarter four elements share a weight.
  const Tensor first = x.slice(2, 1, quarter + 1), fourth = x.slice(2, size - quarter, size).flip({2});
  const Tensor second = x.slice(2, quarter, half).flip({2}), third = x.slice(2, half + 1, half + quarter + 1);
  const Tensor sum = first + fourth, mirrored_sum = second + third;
  const Tensor difference = first - fourth, mirrored_difference = second - third;
  // At i = quarter elements meet themselves.
  std::vector<float> share(static_cast<size_t>(quarter), 1.0f);
  share.back() = 0.5f;
  const Tensor waves = basis.slice(1, 1, quarter + 1) / window.slice(1, 1, quarter + 1) *
                       Tensor::constant<float>({quarter}, share);  // [2 bins, quarter]
  // Real and imaginary parts of even bins, then of odd ones, in one product.
  const auto side_by_side = [](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
    return concat({a.unsqueeze(0), b.unsqueeze(0), c.unsqueeze(0), d.unsqueeze(0)}, 0);
  };
  const auto every_second = [&](int64_t begin, int64_t end) { return waves.slice(0, begin, end, 2); };
  const Tensor folded = side_by_side(sum + mirrored_sum, difference - mirrored_difference, sum - mirrored_sum,
                                     difference + mirrored_difference);  // [4, n, 4, quarter]
  const Tensor weights = side_by_side(every_second(0, half), every_second(bins, bins + half), every_second(1, half),
                                      every_second(bins + 1, bins + half));   // [4, quarter, quarter]
  const Tensor parts = matmul(folded, weights.unsqueeze(1).transpose(2, 3));  // [4, n, 4, quarter]
  const auto part = [&](int64_t number) { return parts.slice(0, number, number + 1).squeeze(0); };
  const auto magnitude = [](const Tensor& real, const Tensor& imaginary) {
    return sqrt(real * real + imaginary * imaginary);
  };
  // The last bin has no imaginary part, and would need a vector of its own in the products.
  const Tensor last_bin = abs((folded.slice(0, 0, 1).squeeze(0) * waves.slice(0, half, bins)).sum({2}, true) + middle);
  return concat({magnitude(part(0) + middle, part(1)), magnitude(part(2) - middle, part(3)), last_bin}, 2)
      .permute({0, 2, 1});
}

Silero::Step Silero::step(const Tensor& chunk, const Tensor& h, const Tensor& c) const {
  if (!same(chunk.shape(), Shape{1, sizes_.chunk()}))
    throw TensorError(concat("Silero VAD at ", sample_rate_, " Hz takes a chunk of shape [1, ", sizes_.chunk(), "] (",
                             sizes_.context, " samples of context and ", sizes_.window, " new ones), not ",
                             text(chunk.shape())));
  const Tensor x = features(chunk, false);
  const LstmOutput state = lstm_cell(x, h, c, lstm_weight_ih_.cast(x.dtype()), lstm_weight_hh_.cast(x.dtype()),
                                     lstm_bias_ih_, lstm_bias_hh_);
  return {probability(state.h), state};
}

Tensor Silero::features(const Tensor& chunks, bool many) const {
  const auto convolve = many ? convolve_pieces : convolve_whole;
  const bool folds = is_fourier_basis(stft_weight_);
  Tensor x = convolve("conv1", folds ? folded_spectrum(chunks) : spectrum(chunks),
                      folds ? by_parity(conv1_weight_) : conv1_weight_, conv1_bias_, {.padding = 1});  // [n, 128, 4]
  // The second layer of v6 adds large terms that nearly cancel: in f32 its rounding errors would show in the fifth
  // decimal of the probability of quiet sound (1.0e-5 at 16 kHz, 4.5e-5 at 8 kHz, where the next two layers matter as
  // well).
  x = convolve("conv2", x.cast(DType::kF64), conv2_weight_, conv2_bias_, {.stride = 2, .padding = 1});  // [n, 64, 2]
  if (sample_rate_ != 8000) x = x.cast(DType::kF32);
  x = convolve("conv3", x, conv3_weight_, conv3_bias_, {.stride = 2, .padding = 1});  // [n, 64, 1]
  x = convolve("conv4", x, conv4_weight_, conv4_bias_, {.padding = 1});               // [n, 128, 1]
  return x.cast(DType::kF32).squeeze(2);
}

Tensor Silero::probability(const Tensor& h) const {
  const Scope scope(h, "decoder");
  // The state that goes on is the one before this relu.
  return sigmoid(conv1d(relu(h).unsqueeze(2), final_weight_, final_bias_)).mean({2});
}

Tensor Silero::gates(const Tensor& samples, const Dim& windows) const {
  if (!same(samples.shape(), Shape{windows * sizes_.window + sizes_.context}))
    throw TensorError(concat("Silero VAD at ", sample_rate_, " Hz takes ", sizes_.context, " samples of context and ",
                             windows.text(), " windows of ", sizes_.window, ", not samples of shape ",
                             text(samples.shape())));
  const Tensor chunks = samples.window(0, sizes_.chunk(), sizes_.window);
  const Tensor x = features(chunks, true);
  return linear(x, lstm_weight_ih_.cast(x.dtype()), lstm_bias_ih_ + lstm_bias_hh_);
}

Silero::Step Silero::step_from_gates(const Tensor& gates, const Tensor& h, const Tensor& c) const {
  const LstmOutput state = lstm_cell(gates, h, c, lstm_weight_hh_.cast(gates.dtype()));
  return {probability(state.h), state};
}

Tensor Silero::forward_chunk(const Tensor& chunk, const Tensor& h, const Tensor& c) const {
  const Step result = step(chunk, h, c);
  return concat({result.probability, result.state.h, result.state.c}, 1);
}

}  // namespace tandem
