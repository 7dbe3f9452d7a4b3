#include "core/models/silero.h"

#include "core/base/text.h"
#include "core/models/weight_constant.h"

namespace tandem {

Result<SileroSizes> silero_sizes(int64_t sample_rate) {
  if (sample_rate == 16000) return SileroSizes{512, 64, 128};
  if (sample_rate == 8000) return SileroSizes{256, 32, 64};
  return fail(ErrorCode::kInvalidArgument, concat("the sample rate is ", sample_rate,
                                                  " Hz, Silero VAD takes 16000 or 8000; resample the recording"));
}

namespace {

SileroSizes sizes_or_throw(int64_t sample_rate) {
  const auto sizes = silero_sizes(sample_rate);
  if (!sizes) throw TensorError(sizes.error().message, sizes.error().code);
  return *sizes;
}

/// A convolution in the dtype of its input, and relu.
Tensor convolve(const char* name, const Tensor& x, const Tensor& weight, const Tensor& bias,
                const Conv1dOptions& options) {
  const Scope scope(x, name);
  return relu(conv1d(x, weight.cast(x.dtype()), bias.cast(x.dtype()), options));
}

}  // namespace

Silero::Silero(const SileroWeights& weights)
    : sample_rate_(weights.sample_rate),
      sizes_(sizes_or_throw(weights.sample_rate)),
      stft_basis_(weight_constant(weights.stft_basis, weights.file)),
      conv1_weight_(weight_constant(weights.conv1_weight, weights.file)),
      conv1_bias_(weight_constant(weights.conv1_bias, weights.file)),
      conv2_weight_(weight_constant(weights.conv2_weight, weights.file)),
      conv2_bias_(weight_constant(weights.conv2_bias, weights.file)),
      conv3_weight_(weight_constant(weights.conv3_weight, weights.file)),
      conv3_bias_(weight_constant(weights.conv3_bias, weights.file)),
      conv4_weight_(weight_constant(weights.conv4_weight, weights.file)),
      conv4_bias_(weight_constant(weights.conv4_bias, weights.file)),
      lstm_weight_ih_(weight_constant(weights.lstm_weight_ih, weights.file)),
      lstm_weight_hh_(weight_constant(weights.lstm_weight_hh, weights.file)),
      lstm_bias_ih_(weight_constant(weights.lstm_bias_ih, weights.file)),
      lstm_bias_hh_(weight_constant(weights.lstm_bias_hh, weights.file)),
      final_weight_(weight_constant(weights.final_weight, weights.file)),
      final_bias_(weight_constant(weights.final_bias, weights.file)) {}

Tensor Silero::spectrum(const Tensor& chunk) const {
  const Scope scope(chunk, "spectrum");
  // Mirrored samples go to the right only: the context stands on the left.
  const Tensor signal = chunk.reflect_pad({{0, 0}, {0, sizes_.context}}).unsqueeze(1);
  const std::vector<Tensor> parts = conv1d(signal, stft_basis_, {}, {.stride = sizes_.stride}).chunk(1, 2);
  const Tensor& real = parts[0];
  const Tensor& imaginary = parts[1];
  return sqrt(real * real + imaginary * imaginary);
}

Silero::Step Silero::step(const Tensor& chunk, const Tensor& h, const Tensor& c) const {
  if (!same(chunk.shape(), Shape{1, sizes_.chunk()}))
    throw TensorError(concat("Silero VAD at ", sample_rate_, " Hz takes a chunk of shape [1, ", sizes_.chunk(), "] (",
                             sizes_.context, " samples of context and ", sizes_.window, " new ones), not ",
                             text(chunk.shape())));
  Tensor x = spectrum(chunk);                                            // [1, 129 or 65, 4]
  x = convolve("conv1", x, conv1_weight_, conv1_bias_, {.padding = 1});  // [1, 128, 4]
  // The second layer of v6 adds large terms that nearly cancel: in f32 its rounding errors would show in the fifth
  // decimal of the probability of quiet sound (1.0e-5 at 16 kHz, 4.5e-5 at 8 kHz, where the next two layers matter as
  // well).
  x = convolve("conv2", x.cast(DType::kF64), conv2_weight_, conv2_bias_, {.stride = 2, .padding = 1});  // [1, 64, 2]
  if (sample_rate_ != 8000) x = x.cast(DType::kF32);
  x = convolve("conv3", x, conv3_weight_, conv3_bias_, {.stride = 2, .padding = 1});  // [1, 64, 1]
  x = convolve("conv4", x, conv4_weight_, conv4_bias_, {.padding = 1});               // [1, 128, 1]
  x = x.cast(DType::kF32).squeeze(2);
  const LstmOutput state = lstm_cell(x, h, c, lstm_weight_ih_, lstm_weight_hh_, lstm_bias_ih_, lstm_bias_hh_);
  const Scope scope(x, "decoder");
  // The state that goes on is the one before this relu.
  const Tensor speech = sigmoid(conv1d(relu(state.h).unsqueeze(2), final_weight_, final_bias_));  // [1, 1, 1]
  return {speech.mean({2}), state};
}

Tensor Silero::forward_chunk(const Tensor& chunk, const Tensor& h, const Tensor& c) const {
  const Step result = step(chunk, h, c);
  return concat({result.probability, result.state.h, result.state.c}, 1);
}

}  // namespace tandem
