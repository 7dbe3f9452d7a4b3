#include "tests/bench/yardstick_silero.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace tandem::bench {
namespace {

constexpr int kBins = 129, kPaddedBins = 144, kFrames = 4, kHidden = 128;

/// Numbers on cache line boundaries, zero at first.
template <typename Number>
class Numbers {
 public:
  explicit Numbers(size_t count) : size_(count) {
    const size_t bytes = (count * sizeof(Number) + 63) / 64 * 64;
    data_ = static_cast<Number*>(std::aligned_alloc(64, bytes));
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(data_, 0, bytes);
  }
  ~Numbers() { std::free(data_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  Number* operator+(size_t offset) const { return data_ + offset; }
  Number& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return size_; }

 private:
  Number* data_ = nullptr;
  size_t size_;
};
using Floats = Numbers<float>;

/// A subscript; none here comes near 2^31.
constexpr size_t place(int index) { return static_cast<size_t>(index); }

/// A weight [outputs, inputs, taps] as [tap][input][output], the order in which columns are computed.
template <typename Number>
void transpose(const WeightTensor& weight, int outputs, int inputs, int taps, const Numbers<Number>& to, int width,
               int first) {
  const std::vector<float> from = *weight.values<float>();
  for (int output = 0; output < outputs; output++)
    for (int input = 0; input < inputs; input++)
      for (int tap = 0; tap < taps; tap++)
        to[place((tap * inputs + input) * width + first + output)] =
            static_cast<Number>(from[place((output * inputs + input) * taps + tap)]);
}

template <int kWidth>
struct Vectors {
  typedef float Vector __attribute__((vector_size(kWidth * 4)));
  typedef float Loose __attribute__((vector_size(kWidth * 4), aligned(4)));
  typedef _Float16 Halves __attribute__((vector_size(kWidth * 2), aligned(2)));
  typedef int Integers __attribute__((vector_size(kWidth * 4)));

  static Vector splat(float value) { return value - Vector{}; }
  static Vector load(const float* from) { return *reinterpret_cast<const Loose*>(from); }
  static Vector load(const _Float16* from) {
    return __builtin_convertvector(*reinterpret_cast<const Halves*>(from), Vector);
  }
  static void store(float* to, Vector value) { *reinterpret_cast<Loose*>(to) = value; }
  static Vector positive(Vector x) { return x > 0.0f ? x : Vector{}; }

  /// 2^n * e^f with n the nearest integer of x / ln 2; Taylor's series up to f^7 is exact to the last bit or two.
  static Vector exponential(Vector x) {
    x = x < -87.0f ? splat(-87.0f) : x;
    x = x > 88.0f ? splat(88.0f) : x;
    const Vector n = __builtin_elementwise_roundeven(x * 1.44269502f);
    const Vector f = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    Vector sum = splat(1.0f / 5040);
    constexpr float coefficients[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
    for (float coefficient : coefficients) sum = sum * f + coefficient;
    const Integers exponent = (__builtin_convertvector(n, Integers) + 127) << 23;
    Vector power;
    std::memcpy(&power, &exponent, sizeof power);
    return sum * power;
  }
  static Vector logistic(Vector x) { return 1.0f / (1.0f + exponential(-x)); }
  static Vector hyperbolic_tangent(Vector x) { return 1.0f - 2.0f / (1.0f + exponential(x + x)); }
};

template <int kWidth, typename Weight>
class Frame final : public SileroYardstick {
  using S = Vectors<kWidth>;
  using Vector = typename S::Vector;

 public:
  explicit Frame(const SileroWeights& weights) {
    // Real and imaginary parts stand apart, each padded to whole vectors of any width.
    transpose_halves(weights.stft_basis);
    transpose(weights.conv1_weight, 128, kBins, 3, conv1_, 128, 0);
    transpose(weights.conv2_weight, 64, 128, 3, conv2_, 64, 0);
    transpose(weights.conv3_weight, 64, 64, 3, conv3_, 64, 0);
    transpose(weights.conv4_weight, 128, 64, 3, conv4_, 128, 0);
    transpose(weights.lstm_weight_ih, 512, kHidden, 1, input_gates_, 512, 0);
    transpose(weights.lstm_weight_hh, 512, kHidden, 1, hidden_gates_, 512, 0);
    copy(weights.conv1_bias, bias1_);
    copy(weights.conv2_bias, bias2_);
    copy(weights.conv3_bias, bias3_);
    copy(weights.conv4_bias, bias4_);
    copy(weights.lstm_bias_ih, gate_bias_);
    const std::vector<float> second = *weights.lstm_bias_hh.values<float>();
    for (size_t i = 0; i < second.size(); i++) gate_bias_[i] += second[i];
    copy(weights.final_weight, final_weight_);
    copy(weights.final_bias, final_bias_);
  }

  float step(const float* chunk) override {
    spectrum(chunk);
    const float* const frames[] = {magnitude_ + 0, magnitude_ + kPaddedBins, magnitude_ + 2 * kPaddedBins,
                                   magnitude_ + 3 * kPaddedBins};
    layer<4, 4, 3>(frames, kPaddedBins, kBins, conv1_ + 0, bias1_ + 0, 128, first_ + 128, 128);
    const float* const pairs[] = {first_ + 0, first_ + 256};
    layer<2, 4, 3>(pairs, 128, 128, conv2_ + 0, bias2_ + 0, 64, second_ + 0, 64);
    // Of the last two layers all other taps meet padding only.
    const float* const both[] = {second_ + 0};
    layer<1, 4, 2>(both, 64, 64, conv3_ + 64 * 64, bias3_ + 0, 64, third_ + 0, 64);
    const float* const one[] = {third_ + 0};
    layer<1, 8, 1>(one, 64, 64, conv4_ + 64 * 128, bias4_ + 0, 128, fourth_ + 0, 128);
    return recurrent();
  }

 private:
  static void copy(const WeightTensor& from, const Floats& to) {
    const std::vector<float> values = *from.values<float>();
    std::memcpy(to + 0, values.data(), values.size() * sizeof(float));
  }

  void transpose_halves(const WeightTensor& basis) {
    const std::vector<float> from = *basis.values<float>();
    for (int part = 0; part < 2; part++)
      for (int bin = 0; bin < kBins; bin++)
        for (int k = 0; k < 256; k++)
          basis_[place(k * 2 * kPaddedBins + part * kPaddedBins + bin)] = from[place((part * kBins + bin) * 256 + k)];
  }

  /// sums[row][i] += rows[row][k] * weight[k][column + i * kWidth ...] over `depth` k.
  template <int kRows, int kVectors, typename Number>
  static inline __attribute__((always_inline)) void multiply(const float* const* rows, const Number* weight, int depth,
                                                             int stride, Vector (&sums)[kRows][kVectors]) {
    for (int k = 0; k < depth; k++) {
      const Number* at = weight + static_cast<long>(k) * stride;
#pragma unroll
      for (int i = 0; i < kVectors; i++) {
        const Vector column = S::load(at + i * kWidth);
#pragma unroll
        for (int row = 0; row < kRows; row++) sums[row][i] += S::splat(rows[row][k]) * column;
      }
    }
  }

  void spectrum(const float* chunk) {
    std::memcpy(signal_ + 0, chunk, 576 * sizeof(float));
    for (size_t i = 0; i < 64; i++) signal_[576 + i] = chunk[574 - i];
    const float* const frames[] = {signal_ + 0, signal_ + 128, signal_ + 256, signal_ + 384};
    int column = 0;
    for (; column + 4 * kWidth <= 2 * kPaddedBins; column += 4 * kWidth) spectrum_columns<4>(frames, column);
    for (; column < 2 * kPaddedBins; column += kWidth) spectrum_columns<1>(frames, column);
    for (int frame = 0; frame < kFrames; frame++)
      for (int bin = 0; bin < kPaddedBins; bin += kWidth) {
        const float* parts = parts_ + place(frame * 2 * kPaddedBins + bin);
        const Vector real = S::load(parts), imaginary = S::load(parts + kPaddedBins);
        S::store(magnitude_ + place((frame + 1) * kPaddedBins + bin),
                 __builtin_elementwise_sqrt(real * real + imaginary * imaginary));
      }
  }

  template <int kVectors>
  void spectrum_columns(const float* const* frames, int column) {
    Vector sums[kFrames][kVectors] = {};
    multiply<kFrames, kVectors>(frames, basis_ + static_cast<size_t>(column), 256, 2 * kPaddedBins, sums);
    for (int frame = 0; frame < kFrames; frame++)
      for (int i = 0; i < kVectors; i++)
        S::store(parts_ + place(frame * 2 * kPaddedBins + column + i * kWidth), sums[frame][i]);
  }

  /// relu(bias + sum over taps); tap t of a row lies `step` floats behind tap t - 1.
  template <int kRows, int kVectors, int kTaps>
  static void layer(const float* const (&rows)[kRows], int step, int depth, const Weight* weight, const float* bias,
                    int width, float* to, int to_stride) {
    for (int column = 0; column < width; column += kVectors * kWidth) {
      Vector sums[kRows][kVectors];
      for (int row = 0; row < kRows; row++)
        for (int i = 0; i < kVectors; i++) sums[row][i] = S::load(bias + column + i * kWidth);
      for (int tap = 0; tap < kTaps; tap++) {
        const float* shifted[kRows];
        for (int row = 0; row < kRows; row++) shifted[row] = rows[row] + tap * step;
        multiply<kRows, kVectors>(shifted, weight + static_cast<long>(tap) * depth * width + column, depth, width,
                                  sums);
      }
      for (int row = 0; row < kRows; row++)
        for (int i = 0; i < kVectors; i++)
          S::store(to + row * to_stride + column + i * kWidth, S::positive(sums[row][i]));
    }
  }

  float recurrent() {
    const float* const input[] = {fourth_ + 0};
    const float* const hidden[] = {hidden_ + 0};
    for (int column = 0; column < 512; column += 8 * kWidth) {
      Vector sums[1][8];
      for (int i = 0; i < 8; i++) sums[0][i] = S::load(gate_bias_ + place(column + i * kWidth));
      multiply<1, 8>(input, input_gates_ + static_cast<size_t>(column), kHidden, 512, sums);
      multiply<1, 8>(hidden, hidden_gates_ + static_cast<size_t>(column), kHidden, 512, sums);
      for (int i = 0; i < 8; i++) S::store(gates_ + place(column + i * kWidth), sums[0][i]);
    }
    Vector sum{};
    for (size_t i = 0; i < kHidden; i += kWidth) {
      const Vector keep = S::logistic(S::load(gates_ + (kHidden + i)));
      const Vector take = S::logistic(S::load(gates_ + i));
      const Vector show = S::logistic(S::load(gates_ + (3 * kHidden + i)));
      const Vector cell = keep * S::load(cell_ + i) + take * S::hyperbolic_tangent(S::load(gates_ + (2 * kHidden + i)));
      const Vector out = show * S::hyperbolic_tangent(cell);
      S::store(cell_ + i, cell);
      S::store(hidden_ + i, out);
      sum += S::positive(out) * S::load(final_weight_ + i);
    }
    float total = final_bias_[0];
    for (int lane = 0; lane < kWidth; lane++) total += sum[lane];
    return 1.0f / (1.0f + std::exp(-total));
  }

  // Rows of zeros before and after the frames are the padding of the convolutions.
  Floats basis_{256 * 2 * kPaddedBins};
  Numbers<Weight> conv1_{3 * kBins * 128}, conv2_{3 * 128 * 64}, conv3_{3 * 64 * 64}, conv4_{3 * 64 * 128},
      input_gates_{128 * 512}, hidden_gates_{128 * 512};
  Floats bias1_{128}, bias2_{64}, bias3_{64}, bias4_{128}, gate_bias_{512}, final_weight_{128}, final_bias_{16};
  Floats signal_{640}, parts_{kFrames * 2 * kPaddedBins}, magnitude_{6 * kPaddedBins}, first_{6 * 128}, second_{2 * 64},
      third_{64}, fourth_{128}, gates_{512}, hidden_{kHidden}, cell_{kHidden};
};

}  // namespace

namespace {

template <typename Weight>
std::unique_ptr<SileroYardstick> frame(const SileroWeights& weights, int width) {
  if (width == 16) return std::make_unique<Frame<16, Weight>>(weights);
  if (width == 8) return std::make_unique<Frame<8, Weight>>(weights);
  if (width == 4) return std::make_unique<Frame<4, Weight>>(weights);
  return nullptr;
}

}  // namespace

std::unique_ptr<SileroYardstick> SileroYardstick::make(const SileroWeights& weights, int width, bool half) {
  return half ? frame<_Float16>(weights, width) : frame<float>(weights, width);
}

}  // namespace tandem::bench
