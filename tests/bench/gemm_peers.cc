#include "tests/bench/gemm_peers.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>

namespace tandem::bench::peers {
namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

struct Machine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};
Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

memory::desc plain(const memory::dims& dims, memory::format_tag tag) { return {dims, memory::data_type::f32, tag}; }
memory::desc any(const memory::dims& dims) { return plain(dims, memory::format_tag::any); }

memory view(const memory::desc& layout, const float* data) {
  return {layout, machine().engine, const_cast<float*>(data)};
}

/// A copy of constant values in the wanted layout.
memory reordered(const std::vector<float>& values, const memory::desc& from, const memory::desc& wanted) {
  memory source = view(from, values.data());
  memory result(wanted, machine().engine);
  dnnl::reorder(source, result).execute(machine().stream, source, result);
  machine().stream.wait();
  return result;
}

Work run(const dnnl::primitive& primitive, const Arguments& arguments) {
  return [primitive, arguments] {
    primitive.execute(machine().stream, arguments);
    machine().stream.wait();
  };
}

}  // namespace

Work openblas_matmul(const float* x, const std::vector<float>& weight, float* y, int64_t m, int64_t n, int64_t k) {
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), depth = static_cast<int>(k);
  const auto copy = std::make_shared<std::vector<float>>(weight);
  if (m == 1)
    return [=] { cblas_sgemv(CblasRowMajor, CblasTrans, depth, columns, 1, copy->data(), columns, x, 1, 0, y, 1); };
  return [=] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, depth, 1, x, depth, copy->data(), columns, 0,
                y, columns);
  };
}

Work onednn_matmul(const float* x, const std::vector<float>& weight, float* y, int64_t m, int64_t n, int64_t k) {
  const auto rows = memory::format_tag::ab;
  const memory::desc from = plain({m, k}, rows), to = plain({m, n}, rows);
  const dnnl::matmul::primitive_desc plan(dnnl::matmul::desc(from, any({k, n}), to), machine().engine);
  return run(dnnl::matmul(plan), {{DNNL_ARG_SRC, view(from, x)},
                                  {DNNL_ARG_WEIGHTS, reordered(weight, plain({k, n}, rows), plan.weights_desc())},
                                  {DNNL_ARG_DST, view(to, y)}});
}

Work onednn_conv1d(const float* x, const std::vector<float>& weight, float* y, int64_t channels, int64_t time,
                   int64_t outputs, int64_t taps, int64_t stride, int64_t padding) {
  const int64_t out_time = (time + 2 * padding - taps) / stride + 1;
  const auto frames = memory::format_tag::ncw;
  const memory::desc from = plain({1, channels, time}, frames), to = plain({1, outputs, out_time}, frames);
  const memory::dims kernel = {outputs, channels, taps}, steps = {stride}, pads = {padding};
  const dnnl::convolution_forward::primitive_desc plan(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, from,
                                      any(kernel), to, steps, pads, pads),
      machine().engine);
  return run(dnnl::convolution_forward(plan),
             {{DNNL_ARG_SRC, view(from, x)},
              {DNNL_ARG_WEIGHTS, reordered(weight, plain(kernel, memory::format_tag::oiw), plan.weights_desc())},
              {DNNL_ARG_DST, view(to, y)}});
}

Work onednn_softmax(const float* x, float* y, int64_t rows, int64_t columns) {
  const memory::desc layout = plain({rows, columns}, memory::format_tag::ab);
  const dnnl::softmax_forward::primitive_desc plan(
      dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, layout, 1), machine().engine);
  return run(dnnl::softmax_forward(plan), {{DNNL_ARG_SRC, view(layout, x)}, {DNNL_ARG_DST, view(layout, y)}});
}

Work onednn_layer_norm(const float* x, const std::vector<float>& scale, const std::vector<float>& shift, float* y,
                       int64_t rows, int64_t columns) {
  const memory::desc layout = plain({rows, columns}, memory::format_tag::ab);
  const dnnl::layer_normalization_forward::primitive_desc plan(
      dnnl::layer_normalization_forward::desc(dnnl::prop_kind::forward_inference, layout, 1e-5f,
                                              dnnl::normalization_flags::use_scale_shift),
      machine().engine);
  // One tensor [2, columns]: scales, then shifts.
  std::vector<float> both = scale;
  both.insert(both.end(), shift.begin(), shift.end());
  const memory::desc both_layout = plain({2, columns}, memory::format_tag::ab);
  return run(dnnl::layer_normalization_forward(plan),
             {{DNNL_ARG_SRC, view(layout, x)},
              {DNNL_ARG_SCALE_SHIFT, reordered(both, both_layout, both_layout)},
              {DNNL_ARG_DST, view(layout, y)}});
}

Work onednn_attention(const float* x, float* y, int64_t heads, int64_t time, int64_t width) {
  using Tag = memory::format_tag;
  const int64_t operand = heads * time * width;
  const memory::desc rows = plain({heads, time, width}, Tag::abc), columns = plain({heads, width, time}, Tag::acb),
                     square = plain({heads, time, time}, Tag::abc);
  dnnl::primitive_attr scaled;
  scaled.set_output_scales(0, {1 / std::sqrt(static_cast<float>(width))});
  const auto scores = std::make_shared<std::vector<float>>(static_cast<size_t>(heads * time * time));
  const memory between = view(square, scores->data());
  const Work first =
      run(dnnl::matmul({dnnl::matmul::desc(rows, columns, square), scaled, machine().engine}),
          {{DNNL_ARG_SRC, view(rows, x)}, {DNNL_ARG_WEIGHTS, view(columns, x + operand)}, {DNNL_ARG_DST, between}});
  const Work softmax =
      run(dnnl::softmax_forward(
              {dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, square, 2), machine().engine}),
          {{DNNL_ARG_SRC, between}, {DNNL_ARG_DST, between}});
  const Work second =
      run(dnnl::matmul({dnnl::matmul::desc(square, rows, rows), machine().engine}),
          {{DNNL_ARG_SRC, between}, {DNNL_ARG_WEIGHTS, view(rows, x + 2 * operand)}, {DNNL_ARG_DST, view(rows, y)}});
  return [=] {
    static_cast<void>(scores);  // Kept as long as the work.
    first();
    softmax();
    second();
  };
}

}  // namespace tandem::bench::peers
