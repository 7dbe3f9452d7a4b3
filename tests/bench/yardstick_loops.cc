#include "tests/bench/yardstick_loops.h"

#include <algorithm>
#include <cmath>

namespace tandem::bench::loops {

void matmul(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, bool a_transposed,
            bool b_transposed) {
  const auto left = [&](int64_t row, int64_t i) { return a_transposed ? a[i * m + row] : a[row * k + i]; };
  for (int64_t row = 0; row < m; row++) {
    if (b_transposed) {
      for (int64_t column = 0; column < n; column++) {
        float sum = 0;
        for (int64_t i = 0; i < k; i++) sum += left(row, i) * b[column * k + i];
        c[row * n + column] = sum;
      }
      continue;
    }
    float* __restrict to = c + row * n;
    std::fill(to, to + n, 0.0f);
    for (int64_t i = 0; i < k; i++) {
      const float scale = left(row, i);
      for (int64_t column = 0; column < n; column++) to[column] += scale * b[i * n + column];
    }
  }
}

void conv1d(const float* x, const float* weight, float* y, int64_t channels, int64_t time, int64_t outputs,
            int64_t taps, int64_t stride, int64_t dilation, int64_t groups, int64_t out_time) {
  const int64_t inner = channels / groups, outer = outputs / groups;
  for (int64_t output = 0; output < outputs; output++) {
    float* __restrict to = y + output * out_time;
    std::fill(to, to + out_time, 0.0f);
    for (int64_t channel = 0; channel < inner; channel++)
      for (int64_t tap = 0; tap < taps; tap++) {
        const float scale = weight[(output * inner + channel) * taps + tap];
        const float* from = x + (output / outer * inner + channel) * time + tap * dilation;
        for (int64_t t = 0; t < out_time; t++) to[t] += scale * from[t * stride];
      }
  }
}

void conv2d(const float* x, const float* weight, float* y, int64_t channels, int64_t h, int64_t w, int64_t outputs) {
  for (int64_t output = 0; output < outputs; output++)
    for (int64_t row = 0; row + 2 < h; row++) {
      float* __restrict to = y + (output * (h - 2) + row) * (w - 2);
      std::fill(to, to + (w - 2), 0.0f);
      for (int64_t channel = 0; channel < channels; channel++)
        for (int64_t i = 0; i < 3; i++)
          for (int64_t j = 0; j < 3; j++) {
            const float scale = weight[((output * channels + channel) * 3 + i) * 3 + j];
            const float* from = x + (channel * h + row + i) * w + j;
            for (int64_t column = 0; column + 2 < w; column++) to[column] += scale * from[column];
          }
    }
}

void sum_rows(const float* x, float* y, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; row++) {
    float sum = 0;
    for (int64_t column = 0; column < columns; column++) sum += x[row * columns + column];
    y[row] = sum;
  }
}

void sum_columns(const float* x, float* __restrict y, int64_t rows, int64_t columns) {
  std::fill(y, y + columns, 0.0f);
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column++) y[column] += x[row * columns + column];
}

void transpose(const float* x, float* __restrict y, int64_t rows, int64_t columns) {
  for (int64_t column = 0; column < columns; column++)
    for (int64_t row = 0; row < rows; row++) y[column * rows + row] = x[row * columns + column];
}

void softmax(const float* x, float* __restrict y, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; row++) {
    const float* from = x + row * columns;
    float* to = y + row * columns;
    float most = from[0], sum = 0;
    for (int64_t i = 1; i < columns; i++) most = std::max(most, from[i]);
    for (int64_t i = 0; i < columns; i++) sum += to[i] = std::exp(from[i] - most);
    for (int64_t i = 0; i < columns; i++) to[i] /= sum;
  }
}

void layer_norm(const float* x, const float* scale, const float* shift, float* __restrict y, int64_t rows,
                int64_t columns) {
  for (int64_t row = 0; row < rows; row++) {
    const float* from = x + row * columns;
    float mean = 0, square = 0;
    for (int64_t i = 0; i < columns; i++) mean += from[i];
    mean /= static_cast<float>(columns);
    for (int64_t i = 0; i < columns; i++) square += (from[i] - mean) * (from[i] - mean);
    const float factor = 1.0f / std::sqrt(square / static_cast<float>(columns) + 1e-5f);
    for (int64_t i = 0; i < columns; i++) y[row * columns + i] = (from[i] - mean) * factor * scale[i] + shift[i];
  }
}

void gated(const float* x, float* __restrict y, int64_t count) {
  for (int64_t i = 0; i < count; i++) y[i] = x[i] / (1.0f + std::exp(-1.702f * x[i]));
}

void element(const float* x, float* y, int64_t i) { *y = *x * 2 + static_cast<float>(i); }

}  // namespace tandem::bench::loops
