// Graphs that belong to no model, at sizes that suit no vector: each against the plain loop for the same work, compiled
// by clang at -O3 for this machine. The engine must take at most 1.5 times as long.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "backends/clang/clang_backend.h"
#include "core/base/text.h"
#include "core/plan/plan.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"
#include "tests/bench/contest.h"
#include "tests/bench/yardstick_loops.h"

namespace tandem::bench {
namespace {

constexpr double kBar = 1.5;

/// A graph of tensors, of which the first `inputs` come at run time and the others are constants.
struct Case {
  std::string name;
  std::vector<Shape> shapes;
  size_t inputs;
  std::function<Tensor(const std::vector<Tensor>&)> graph;
  std::function<void(const std::vector<const float*>&, float*)> loop;
};

Case matmul_case(const std::string& name, int64_t m, int64_t n, int64_t k, bool left, bool right, size_t inputs) {
  const Shape a = left ? Shape{k, m} : Shape{m, k}, b = right ? Shape{n, k} : Shape{k, n};
  return {name,
          {a, b},
          inputs,
          [=](const std::vector<Tensor>& x) {
            return matmul(left ? x[0].transpose(0, 1) : x[0], right ? x[1].transpose(0, 1) : x[1]);
          },
          [=](const std::vector<const float*>& x, float* y) { loops::matmul(x[0], x[1], y, m, n, k, left, right); }};
}

Case conv_case(const std::string& name, int64_t channels, int64_t time, int64_t outputs, int64_t taps, int64_t stride,
               int64_t dilation, int64_t groups) {
  const int64_t out = (time - (taps - 1) * dilation - 1) / stride + 1;
  return {name,
          {{1, channels, time}, {outputs, channels / groups, taps}},
          1,
          [=](const std::vector<Tensor>& x) {
            return conv1d(x[0], x[1], {}, {.stride = stride, .dilation = dilation, .groups = groups});
          },
          [=](const std::vector<const float*>& x, float* y) {
            loops::conv1d(x[0], x[1], y, channels, time, outputs, taps, stride, dilation, groups, out);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      matmul_case("matmul 67x101x53", 67, 101, 53, false, false, 2),
      matmul_case("matmul K = 1, 33x65", 33, 65, 1, false, false, 2),
      matmul_case("matmul N = 3, 129x3x77", 129, 3, 77, false, false, 2),
      matmul_case("matmul A transposed 61x47x85", 61, 47, 85, true, false, 2),
      matmul_case("matmul B transposed 61x47x85", 61, 47, 85, false, true, 2),
      matmul_case("matmul both transposed 35x39x64", 35, 39, 64, true, true, 2),
      matmul_case("linear, constant weight 50x100x75", 50, 100, 75, false, true, 1),
      matmul_case("matvec 1x301x203", 1, 301, 203, false, false, 2),
      matmul_case("matvec B transposed 1x301x203", 1, 301, 203, false, true, 2),
      matmul_case("matrix times column 301x1x203", 301, 1, 203, false, false, 2),
      conv_case("conv1d dilation 3", 21, 150, 35, 5, 1, 3, 1),
      conv_case("conv1d stride 2", 21, 201, 35, 3, 2, 1, 1),
      conv_case("conv1d 3 groups", 24, 150, 36, 3, 1, 1, 3),
      conv_case("conv1d depthwise", 48, 210, 48, 9, 1, 1, 48),
      conv_case("conv1d 1 channel", 1, 1000, 16, 11, 1, 1, 1),
  };
  all.push_back({"matmul 6 batches of 9x17x31",
                 {{6, 9, 31}, {6, 31, 17}},
                 2,
                 [](const std::vector<Tensor>& x) { return matmul(x[0], x[1]); },
                 [](const std::vector<const float*>& x, float* y) {
                   for (int64_t i = 0; i < 6; i++)
                     loops::matmul(x[0] + i * 9 * 31, x[1] + i * 31 * 17, y + i * 9 * 17, 9, 17, 31, false, false);
                 }});
  all.push_back({"conv2d 3x3",
                 {{1, 5, 37, 41}, {11, 5, 3, 3}},
                 1,
                 [](const std::vector<Tensor>& x) { return conv2d(x[0], x[1]); },
                 [](const std::vector<const float*>& x, float* y) { loops::conv2d(x[0], x[1], y, 5, 37, 41, 11); }});
  all.push_back({"sum along rows 97x211",
                 {{97, 211}},
                 1,
                 [](const std::vector<Tensor>& x) { return x[0].sum({1}); },
                 [](const std::vector<const float*>& x, float* y) { loops::sum_rows(x[0], y, 97, 211); }});
  all.push_back({"sum along columns 97x211",
                 {{97, 211}},
                 1,
                 [](const std::vector<Tensor>& x) { return x[0].sum({0}); },
                 [](const std::vector<const float*>& x, float* y) { loops::sum_columns(x[0], y, 97, 211); }});
  all.push_back({"transpose 97x211",
                 {{97, 211}},
                 1,
                 [](const std::vector<Tensor>& x) { return x[0].transpose(0, 1); },
                 [](const std::vector<const float*>& x, float* y) { loops::transpose(x[0], y, 97, 211); }});
  all.push_back({"softmax 13x501",
                 {{13, 501}},
                 1,
                 [](const std::vector<Tensor>& x) { return softmax(x[0], 1); },
                 [](const std::vector<const float*>& x, float* y) { loops::softmax(x[0], y, 13, 501); }});
  all.push_back(
      {"layer norm 29x333",
       {{29, 333}, {333}, {333}},
       1,
       [](const std::vector<Tensor>& x) { return layer_norm(x[0], x[1], x[2]); },
       [](const std::vector<const float*>& x, float* y) { loops::layer_norm(x[0], x[1], x[2], y, 29, 333); }});
  all.push_back({"x * sigmoid(1.702 x), 5001",
                 {{5001}},
                 1,
                 [](const std::vector<Tensor>& x) { return x[0] * sigmoid(x[0] * 1.702); },
                 [](const std::vector<const float*>& x, float* y) { loops::gated(x[0], y, 5001); }});
  return all;
}

int64_t count(const Shape& shape) {
  int64_t product = 1;
  for (const Dim& dim : shape) product *= dim.constant();
  return product;
}

/// Measures one case; returns the ratio.
double measure(Report& report, const Case& c, const std::shared_ptr<Backend>& backend) {
  std::vector<std::vector<float>> data;
  std::vector<const float*> pointers;
  uint32_t seed = 12345;
  for (const Shape& shape : c.shapes) {
    data.emplace_back();
    for (int64_t i = 0; i < count(shape); i++) {
      seed = seed * 1664525u + 1013904223u;
      data.back().push_back(static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f);
    }
  }
  GraphModule module;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < c.shapes.size(); i++)
    tensors.push_back(
        i < c.inputs ? Tensor::input(module.graph, static_cast<int32_t>(i), concat("x", i), DType::kF32, c.shapes[i])
                     : Tensor::constant<float>(c.shapes[i], data[i]));
  const Tensor result = c.graph(tensors);
  module.outputs = {result.node_in(module.graph)};
  module.output_names = {"y"};
  PlanOptions options;
  options.schedule.capabilities = backend->capabilities();
  auto made = Plan::make(module, backend, options);
  if (!made) throw std::runtime_error(made.error().text());
  Plan& plan = **made;
  for (size_t i = 0; i < c.inputs; i++) std::memcpy(plan.input_data(i), data[i].data(), data[i].size() * sizeof(float));
  // Both read and write memory of their own, equally aligned.
  std::vector<float> expected(static_cast<size_t>(count(result.shape())));
  for (const std::vector<float>& values : data) pointers.push_back(values.data());
  c.loop(pointers, expected.data());
  if (!plan.run(nullptr)) throw std::runtime_error(plan.failure());
  const ScheduledOutput& output = plan.outputs()[0];
  std::vector<int64_t> strides;
  for (const Dim& stride : output.buffer.strides) strides.push_back(stride.constant());
  double worst = 0;
  for (size_t i = 0; i < expected.size(); i++) {
    int64_t rest = static_cast<int64_t>(i), offset = 0;
    for (size_t axis = strides.size(); axis-- > 0;) {
      offset += rest % output.shape[axis].constant() * strides[axis];
      rest /= output.shape[axis].constant();
    }
    worst = std::max<double>(worst, std::abs(reinterpret_cast<float*>(plan.output_data(0))[offset] - expected[i]));
  }
  if (!(worst < 1e-3)) throw std::runtime_error(concat(c.name, " differs from the plain loop by ", worst));
  const std::vector<Timing> timings =
      compete({{"engine", [&] { plan.run(nullptr); }}, {"loop", [&] { c.loop(pointers, expected.data()); }}}, 30, 500);
  const double result_ratio = ratio(timings[0], timings[1]);
  std::string kernels;
  for (const KernelCall& call : plan.program().step_calls)
    kernels += concat(kernels.empty() ? "" : " ", plan.program().kernels[call.kernel].name);
  report.row(c.name, {{"engine us", timings[0].median},
                      {"loop us", timings[1].median},
                      {"ratio", result_ratio},
                      {"", result_ratio > kBar ? "SLOW" : ""},
                      {"kernels", kernels}});
  return result_ratio;
}

int run(Report& report) {
  const std::shared_ptr<Backend> backend = make_clang_backend(ClangBackendOptions::from_environment());
  int slow = 0, measured = 0;
  for (const Case& c : cases()) {
    if (!report.wants(c.name)) continue;
    measured++;
    slow += measure(report, c, backend) > kBar;
  }
  report.note(concat(slow, " of ", measured, " graphs take more than ", kBar, " times as long as their loop"));
  return slow;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  tandem::bench::Report report(argc, argv, "Graphs of no model against plain loops, one thread");
  try {
    const int slow = tandem::bench::run(report);
    report.finish();
    return slow == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
