#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// The same work done by OpenBLAS and oneDNN, one thread, with constant operands in the layout that the library likes
/// best. Every maker returns a function that does the work once; it owns copies of the constant operands and reads and
/// writes the other ones where they are.
namespace tandem::bench::peers {

using Work = std::function<void()>;

/// y[m, n] = x[m, k] * weight[k, n].
Work openblas_matmul(const float* x, const std::vector<float>& weight, float* y, int64_t m, int64_t n, int64_t k);
Work onednn_matmul(const float* x, const std::vector<float>& weight, float* y, int64_t m, int64_t n, int64_t k);
/// x [channels, time], weight [outputs, channels, taps], y [outputs, out_time].
Work onednn_conv1d(const float* x, const std::vector<float>& weight, float* y, int64_t channels, int64_t time,
                   int64_t outputs, int64_t taps, int64_t stride, int64_t padding);
/// Along the rows of x [rows, columns].
Work onednn_softmax(const float* x, float* y, int64_t rows, int64_t columns);
Work onednn_layer_norm(const float* x, const std::vector<float>& scale, const std::vector<float>& shift, float* y,
                       int64_t rows, int64_t columns);
/// x [3 * heads, time, width]: queries, keys, values; y [heads, time, width] = softmax(queries * keys' / sqrt(width)) *
/// values, in three primitives.
Work onednn_attention(const float* x, float* y, int64_t heads, int64_t time, int64_t width);

}  // namespace tandem::bench::peers
