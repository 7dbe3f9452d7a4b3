#pragma once

#include <cstdint>

/// Plain loops, as one writes them without thinking of the machine, for a compiler that may do what it likes with them
/// (but not reorder sums). They are what the engine's kernels for graphs of no model are held against.
namespace tandem::bench::loops {

/// c[m, n] = sum over k of a[m, k] * b[k, n]; `b_transposed`: b is [n, k]; `a_transposed`: a is [k, m].
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, bool a_transposed,
            bool b_transposed);
/// x [channels, time] with `groups`, weight [outputs, channels / groups, taps], y [outputs, out_time]; no padding.
void conv1d(const float* x, const float* weight, float* y, int64_t channels, int64_t time, int64_t outputs,
            int64_t taps, int64_t stride, int64_t dilation, int64_t groups, int64_t out_time);
/// x [channels, h, w], weight [outputs, channels, 3, 3], y [outputs, h - 2, w - 2].
void conv2d(const float* x, const float* weight, float* y, int64_t channels, int64_t h, int64_t w, int64_t outputs);
/// Sum along rows or along columns of x [rows, columns].
void sum_rows(const float* x, float* y, int64_t rows, int64_t columns);
void sum_columns(const float* x, float* y, int64_t rows, int64_t columns);
void transpose(const float* x, float* y, int64_t rows, int64_t columns);
void softmax(const float* x, float* y, int64_t rows, int64_t columns);
void layer_norm(const float* x, const float* scale, const float* shift, float* y, int64_t rows, int64_t columns);
/// y = gelu-like x * sigmoid(a * x + b)
void gated(const float* x, float* y, int64_t count);

/// One element, for loops over function pointers: y = x * 2 + i.
void element(const float* x, float* y, int64_t i);
using ElementFunction = void (*)(const float*, float*, int64_t);

}  // namespace tandem::bench::loops
