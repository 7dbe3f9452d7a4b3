// How long it takes from nothing to the first step of Silero VAD: fresh processes, with an empty cache and with a full
// one, stage by stage.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "backends/clang/clang_backend.h"
#include "core/base/text.h"
#include "core/models/silero.h"
#include "core/plan/plan.h"
#include "core/weights/weight_file.h"
#include "tests/bench/contest.h"
#include "tests/bench/onnxruntime_peer.h"
#include "tests/support/golden.h"

namespace tandem::bench {
namespace {

constexpr int kRuns = 7;

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs in a fresh process; prints "stage wall cpu" lines.
void prepare_once() {
  double wall = wall_ms(), cpu = process_cpu_ms();
  // What the process used before main is the dynamic linker's work, most of it for libLLVM.
  std::printf("load libraries|0|%.3f\n", cpu);
  const double first_wall = wall, first_cpu = cpu;
  const auto stage = [&](const char* name) {
    const double now = wall_ms(), used = process_cpu_ms();
    std::printf("%s|%.3f|%.3f\n", name, now - wall, used - cpu);
    wall = wall_ms();
    cpu = process_cpu_ms();
  };
  const std::string path = testing::silero_onnx_path("v5");
  const auto file = read_weights(ByteSource::own(testing::file_bytes(path)), path);
  if (!file) throw std::runtime_error(file.error().text());
  const auto weights = find_silero_weights(*file, 16000);
  if (!weights) throw std::runtime_error(weights.error().text());
  stage("read weights");
  const double begin_wall = wall, begin_cpu = cpu;
  const Silero model(*weights);
  GraphModule module;
  const Tensor chunk = Tensor::input(module.graph, 0, "chunk", DType::kF32, {1, 576});
  const Tensor h = Tensor::input(module.graph, 1, "h", DType::kF32, {1, kSileroHidden});
  const Tensor c = Tensor::input(module.graph, 2, "c", DType::kF32, {1, kSileroHidden});
  module.outputs = {model.forward_chunk(chunk, h, c).node_in(module.graph)};
  module.output_names = {"output"};
  stage("build the graph");
  const std::shared_ptr<Backend> backend = make_clang_backend(ClangBackendOptions::from_environment());
  PlanOptions options;
  options.schedule.capabilities = backend->capabilities();
  stage("start the backend");
  auto plan = Plan::make(module, backend, options);
  if (!plan) throw std::runtime_error(plan.error().text());
  const PlanStatistics& statistics = (*plan)->statistics();
  const auto part = [](const char* name, double milliseconds) { std::printf("%s|%.3f|0\n", name, milliseconds); };
  part("- schedule", statistics.schedule_ms);
  part("- print C", statistics.compile.generate_ms);
  part("- compile or fetch", statistics.compile.compile_ms);
  part("- link", statistics.compile.load_ms);
  part("- pack weights", statistics.prepare_ms);
  stage("make the plan");
  std::printf("prepare|%.3f|%.3f\n", wall - begin_wall, cpu - begin_cpu);
  std::printf("all|%.3f|%.3f\n", wall - first_wall, cpu - first_cpu);
}

struct Stage {
  std::vector<double> wall, cpu;
};

void run_child(const char* program, std::vector<std::string>& order, std::map<std::string, Stage>& stages) {
  const std::string command = concat("'", program, "' --child");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no child process could be started");
  char line[200];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    char* const bar = std::strchr(line, '|');
    if (bar == nullptr) continue;
    const std::string name(line, bar);
    char* next = nullptr;
    const double wall = std::strtod(bar + 1, &next);
    if (*next != '|') continue;
    const double cpu = std::strtod(next + 1, nullptr);
    if (stages.find(name) == stages.end()) order.emplace_back(name);
    stages[name].wall.push_back(wall);
    stages[name].cpu.push_back(cpu);
  }
  if (pclose(pipe) != 0) throw std::runtime_error("a child process failed");
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(Report& report, const char* program) {
  const std::string folder = (std::filesystem::temp_directory_path() / concat("tandem_prepare_", getpid())).string();
  setenv("TANDEM_CACHE_DIR", folder.c_str(), 1);
  std::vector<std::string> order, again;
  std::map<std::string, Stage> cold, warm;
  for (int i = 0; i < kRuns; i++) {
    std::filesystem::remove_all(folder);
    run_child(program, order, cold);
    run_child(program, again, warm);
  }
  std::filesystem::remove_all(folder);
  for (const std::string& name : order)
    report.row(name, {{"cold ms", median(cold[name].wall)},
                      {"cold CPU ms", median(cold[name].cpu)},
                      {"warm ms", median(warm[name].wall)},
                      {"warm CPU ms", median(warm[name].cpu)}});
  std::string reason;
  if (const auto peer = OnnxruntimeSilero::make(testing::silero_onnx_path("v5"), reason))
    report.note(concat("onnxruntime makes its session in ", std::to_string(peer->session_ms()), " ms"));
  else
    report.note(reason);
  report.note(
      concat("medians of ", kRuns,
             " fresh processes; prepare = graph, backend and plan. CPU adds up all threads (two compile); parts "
             "of the plan are timed by the clock only, which other programs slow down"));
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::strcmp(argv[1], "--child") == 0) {
      tandem::bench::prepare_once();
      return 0;
    }
    tandem::bench::Report report(argc, argv, "From nothing to the first step of Silero VAD v5, 16 kHz, native");
    tandem::bench::run(report, argv[0]);
    report.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
