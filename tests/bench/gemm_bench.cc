// The kernels that large models consist of, at their sizes: the engine at every instruction set, beside OpenBLAS and
// oneDNN, all in alternation in one process, with the share of what one core can do as measured in the same run.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "backends/clang/clang_backend.h"
#include "core/base/text.h"
#include "core/plan/plan.h"
#include "core/plan/tune.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"
#include "tests/bench/contest.h"
#include "tests/bench/gemm_peers.h"
#include "tests/bench/yardstick_peak.h"

namespace tandem::bench {
namespace {

using Values = std::vector<float>;

/// One piece of work: x comes at run time, the other tensors are constants.
struct Case {
  std::string name;
  Shape x;                     ///< May have one variable, which then is `live` in the measurement.
  std::vector<Shape> weights;  ///< Of the constants.
  std::function<Tensor(const Tensor& x, const std::vector<Tensor>& weights)> graph;
  int64_t outputs = 0;  ///< Elements of the result.
  double flops = 0;     ///< 0: what counts is bytes alone.
  double bytes = 0;     ///< Read once by every call; 0: what counts is flops.
  using Peer = std::function<peers::Work(const float* x, const std::vector<Values>& weights, float* y)>;
  Peer openblas, onednn;
  int64_t live = 0;
};

Case matmul_case(const std::string& name, int64_t m, int64_t n, int64_t k, int64_t most_rows = 0) {
  Case c;
  c.name = concat(name, " ", m, "x", n, "x", k);
  c.x = {most_rows ? Index::variable("t", 1, most_rows) : Dim(m), k};
  c.live = m;
  c.weights = {{k, n}};
  c.graph = [](const Tensor& x, const std::vector<Tensor>& weights) { return matmul(x, weights[0]); };
  c.outputs = m * n;
  c.flops = 2.0 * static_cast<double>(m * n * k);
  if (m == 1) c.bytes = 4.0 * static_cast<double>(n * k);
  c.openblas = [=](const float* x, const std::vector<Values>& weights, float* y) {
    return peers::openblas_matmul(x, weights[0], y, m, n, k);
  };
  c.onednn = [=](const float* x, const std::vector<Values>& weights, float* y) {
    return peers::onednn_matmul(x, weights[0], y, m, n, k);
  };
  return c;
}

Case conv_case(const std::string& name, int64_t channels, int64_t time, int64_t outputs, int64_t taps, int64_t stride,
               int64_t padding) {
  Case c;
  c.name = name;
  c.x = {1, channels, time};
  c.weights = {{outputs, channels, taps}};
  c.graph = [=](const Tensor& x, const std::vector<Tensor>& weights) {
    return conv1d(x, weights[0], {}, {.stride = stride, .padding = padding});
  };
  c.outputs = outputs * ((time + 2 * padding - taps) / stride + 1);
  c.flops = 2.0 * static_cast<double>(c.outputs * channels * taps);
  c.onednn = [=](const float* x, const std::vector<Values>& weights, float* y) {
    return peers::onednn_conv1d(x, weights[0], y, channels, time, outputs, taps, stride, padding);
  };
  return c;
}

Case row_case(const std::string& name, int64_t rows, int64_t columns, bool norm) {
  Case c;
  c.name = name;
  c.x = {rows, columns};
  if (norm) c.weights = {{columns}, {columns}};
  c.graph = [norm](const Tensor& x, const std::vector<Tensor>& weights) {
    return norm ? layer_norm(x, weights[0], weights[1]) : softmax(x, 1);
  };
  c.outputs = rows * columns;
  c.bytes = 4.0 * static_cast<double>(rows * columns);
  c.onednn = [=](const float* x, const std::vector<Values>& weights, float* y) {
    return norm ? peers::onednn_layer_norm(x, weights[0], weights[1], y, rows, columns)
                : peers::onednn_softmax(x, y, rows, columns);
  };
  return c;
}

/// Of `heads` heads: x holds queries, keys and values.
Case attention_case(int64_t heads, int64_t time, int64_t width) {
  Case c;
  c.name = concat("attention ", heads, " heads, ", time, "x", width);
  c.x = {3 * heads, time, width};
  c.graph = [=](const Tensor& x, const std::vector<Tensor>&) {
    const auto part = [&](int64_t i) { return x.slice(0, i * heads, (i + 1) * heads); };
    const Tensor scores = matmul(part(0), part(1).transpose(1, 2)) * (1 / std::sqrt(static_cast<double>(width)));
    return matmul(softmax(scores, 2), part(2));
  };
  c.outputs = heads * time * width;
  c.flops = 4.0 * static_cast<double>(heads * time * time * width);
  c.onednn = [=](const float* x, const std::vector<Values>&, float* y) {
    return peers::onednn_attention(x, y, heads, time, width);
  };
  return c;
}

std::vector<Case> cases() {
  std::vector<Case> all = {matmul_case("gemm", 256, 768, 768), matmul_case("gemm", 256, 766, 768)};
  for (int64_t t : {141, 143, 144}) {
    all.push_back(matmul_case("feed forward up", t, 3072, 768));
    all.push_back(matmul_case("feed forward down", t, 768, 3072));
  }
  all.push_back(matmul_case("t <= 512, up", 143, 3072, 768, 512));
  all.push_back(matmul_case("t <= 512, down", 143, 768, 3072, 512));
  all.push_back(matmul_case("gemv", 1, 128, 512));
  all.push_back(matmul_case("gemv", 1, 2048, 2048));
  all.push_back(conv_case("conv1d 129 -> 128, 3 taps, 4 frames", 129, 4, 128, 3, 1, 1));
  all.push_back(conv_case("conv1d 64 -> 768, 5 taps, stride 2, 570 frames", 64, 570, 768, 5, 2, 2));
  all.push_back(row_case("softmax 64x500", 64, 500, false));
  all.push_back(row_case("layer norm 143x768", 143, 768, true));
  for (int64_t t : {143, 500}) all.push_back(attention_case(16, t, 48));
  return all;
}

Values random_values(int64_t count, uint32_t seed) {
  Values values;
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f);
  }
  return values;
}

int64_t most_elements(const Shape& shape) {
  int64_t product = 1;
  for (const Dim& dim : shape) product *= dim.upper();
  return product;
}

/// `tune`: with the tiles that are fastest here.
std::unique_ptr<Plan> make_plan(const Case& c, const std::vector<Values>& weights, std::shared_ptr<Backend> backend,
                                const Capabilities& capabilities, bool tune = false) {
  GraphModule module;
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, c.x);
  std::vector<Tensor> constants;
  for (size_t i = 0; i < weights.size(); i++) constants.push_back(Tensor::constant<float>(c.weights[i], weights[i]));
  module.outputs = {c.graph(x, constants).node_in(module.graph)};
  module.output_names = {"y"};
  PlanOptions options;
  options.schedule.capabilities = capabilities;
  if (tune) options.schedule.tiles = tune_tiles(module, *backend, options.schedule, 0).tiles;
  auto plan = Plan::make(module, std::move(backend), options);
  if (!plan) throw std::runtime_error(plan.error().text());
  return std::move(*plan);
}

/// Operations for each byte that has to be moved at least: operands once, the result once.
double intensity(const Case& c) {
  int64_t elements = c.outputs;
  const auto add = [&](const Shape& shape) {
    int64_t count = 1;
    for (const Dim& dim : shape) count *= dim.is_constant() ? dim.upper() : c.live;
    elements += count;
  };
  add(c.x);
  for (const Shape& shape : c.weights) add(shape);
  return c.flops / (4.0 * static_cast<double>(elements));
}

void check(const Case& c, const Plan& plan, const Values& expected, const std::string& by) {
  const auto* result = reinterpret_cast<const float*>(plan.output_data(0));
  double worst = 0;
  for (size_t i = 0; i < expected.size(); i++)
    worst = std::max<double>(worst, std::abs(static_cast<double>(result[i]) - expected[i]));
  if (!(worst < 2e-3)) throw std::runtime_error(concat(c.name, ": the engine differs from ", by, " by ", worst));
}

std::string kernels(const Plan& plan) {
  std::string names;
  for (const KernelCall& call : plan.program().step_calls)
    names += concat(names.empty() ? "" : " ", plan.program().kernels[call.kernel].name);
  return names;
}

void measure(Report& report, const Case& c, const std::shared_ptr<Backend>& backend) {
  std::vector<Values> weights;
  for (const Shape& shape : c.weights)
    weights.push_back(random_values(most_elements(shape), static_cast<uint32_t>(weights.size()) + 7));
  const Values x = random_values(most_elements(c.x), 12345);
  const Values swept = random_values(static_cast<int64_t>(c.bytes / 4), 3);
  Values y(static_cast<size_t>(c.outputs));
  for (const char* isa : {"avx512", "avx2", "sse+fma", "sse"}) {
    const Capabilities capabilities = *capabilities_named(isa);
    if (capabilities.vector_bytes > backend->capabilities().vector_bytes) continue;
    if (!report.wants(concat(c.name, ", ", isa))) continue;
    const std::unique_ptr<Plan> plan = make_plan(c, weights, backend, capabilities);
    const std::unique_ptr<Plan> tuned = make_plan(c, weights, backend, capabilities, true);
    for (const auto& one : {plan.get(), tuned.get()})
      std::memcpy(one->input_data(0), x.data(), x.size() * sizeof(float));
    const int64_t live = c.live;
    std::vector<Contender> contenders = {{"engine", [&] { plan->run(&live); }}};
    const int64_t peak_flops = peak::multiply_adds(capabilities.lanes(4), capabilities.fma);
    contenders.push_back(
        {"peak", [&] { static_cast<void>(peak::multiply_adds(capabilities.lanes(4), capabilities.fma)); }});
    volatile float sink = 0;
    contenders.push_back({"read", [&] { sink = peak::read(swept.data(), swept.size()); }});
    contenders.push_back({"tuned", [&] { tuned->run(&live); }});
    // The libraries take the best instructions that there are; only the engine's best competes with them.
    if (capabilities.vector_bytes == backend->capabilities().vector_bytes) {
      if (c.openblas) contenders.push_back({"OpenBLAS", c.openblas(x.data(), weights, y.data())});
      if (c.onednn) contenders.push_back({"oneDNN", c.onednn(x.data(), weights, y.data())});
    }
    plan->run(&live);
    for (size_t i = 4; i < contenders.size(); i++) {
      contenders[i].work();
      check(c, *plan, y, contenders[i].name);
    }
    const std::vector<Timing> timings = compete(contenders, 25, 2000);
    const double us = timings[0].median;
    const auto dash = [] { return nlohmann::ordered_json("-"); };
    const auto peer = [&](const char* name) {
      for (const Timing& timing : timings)
        if (timing.name == name) return nlohmann::ordered_json(ratio(timing, timings[0]));
      return dash();
    };
    const double peak_rate = static_cast<double>(peak_flops) / timings[1].median;
    const auto when = [&](bool known, double value) { return known ? nlohmann::ordered_json(value) : dash(); };
    report.row(concat(c.name, ", ", isa), {{"us", us},
                                           {"GFLOP/s", when(c.flops > 0, c.flops / us * 1e-3)},
                                           {"% of peak", when(c.flops > 0, 100 * c.flops / us / peak_rate)},
                                           {"% of read", when(c.bytes > 0, 100 * ratio(timings[2], timings[0]))},
                                           {"flop/byte", when(c.flops > 0, intensity(c))},
                                           {"peak", peak_rate * 1e-3},
                                           {"read GB/s", when(c.bytes > 0, c.bytes / timings[2].median * 1e-3)},
                                           {"tuned/us", peer("tuned")},
                                           {"OpenBLAS/us", peer("OpenBLAS")},
                                           {"oneDNN/us", peer("oneDNN")},
                                           {"kernels", kernels(*plan)},
                                           {"tuned kernels", kernels(*tuned)}});
  }
}

/// The libraries read these before main begins.
void restart_with_one_thread(char** argv) {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  if (threads && std::strcmp(threads, "1") == 0 && !std::getenv("OPENBLAS_CORETYPE")) return;
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  unsetenv("OPENBLAS_CORETYPE");
  execv("/proc/self/exe", argv);
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  tandem::bench::restart_with_one_thread(argv);
  tandem::bench::Report report(argc, argv,
                               "Kernels of large models, f32, one thread; columns of peers: their time / ours");
  try {
    tandem::ClangBackendOptions options = tandem::ClangBackendOptions::from_environment();
    options.threads = 1;
    const std::shared_ptr<tandem::Backend> backend = tandem::make_clang_backend(options);
    for (const tandem::bench::Case& c : tandem::bench::cases()) measure(report, c, backend);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  report.finish();
  return 0;
}
