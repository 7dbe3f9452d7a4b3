// How long it takes from nothing to the first step of Silero VAD, and of GigaAM at its published size with weights from
// a mapped file: fresh processes, with an empty cache and with a full one, stage by stage.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

#include "backends/clang/clang_backend.h"
#include "core/base/half.h"
#include "core/base/text.h"
#include "core/models/gigaam_jit.h"
#include "core/models/silero.h"
#include "core/plan/plan.h"
#include "core/rewrite/rewrite.h"
#include "core/weights/safetensors.h"
#include "core/weights/weight_file.h"
#include "native/model_weights.h"
#include "native/seeded_weights.h"
#include "tests/bench/contest.h"
#include "tests/bench/onnxruntime_peer.h"
#include "tests/support/gigaam_golden.h"
#include "tests/support/golden.h"
#include "tests/support/value_or_throw.h"

namespace tandem::bench {
namespace {

using testing::value_or_throw;

constexpr int kRuns = 7;
/// 20 seconds: the plan of one clip of a usual length.
constexpr int64_t kMelFrames = 2000;

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Prints "stage|wall|cpu" lines, in milliseconds.
class Stages {
 public:
  /// What the process used before main is the dynamic linker's work, most of it for libLLVM.
  Stages() { std::printf("load libraries|0|%.3f\n", first_cpu_); }

  void end(const char* name) {
    line(name, wall_, cpu_);
    wall_ = wall_ms();
    cpu_ = process_cpu_ms();
  }
  static void part(const char* name, double milliseconds) { std::printf("%s|%.3f|0\n", name, milliseconds); }
  /// From here on it is prepare() that works.
  void begin_prepare() {
    prepare_wall_ = wall_;
    prepare_cpu_ = cpu_;
  }
  void finish() const {
    line("prepare", prepare_wall_, prepare_cpu_);
    line("all", first_wall_, first_cpu_);
  }

 private:
  static void line(const char* name, double wall, double cpu) {
    std::printf("%s|%.3f|%.3f\n", name, wall_ms() - wall, process_cpu_ms() - cpu);
  }

  double wall_ = wall_ms(), cpu_ = process_cpu_ms();
  const double first_wall_ = wall_, first_cpu_ = cpu_;
  double prepare_wall_ = 0, prepare_cpu_ = 0;
};

SileroWeights read_silero() {
  const std::string path = testing::silero_onnx_path("v5");
  const WeightFile file = value_or_throw(read_weights(ByteSource::own(testing::file_bytes(path)), path));
  return value_or_throw(find_silero_weights(file, 16000));
}

GraphModule silero_graph(const SileroWeights& weights) {
  const Silero model(weights);
  GraphModule module;
  const Tensor chunk = Tensor::input(module.graph, 0, "chunk", DType::kF32, {1, 576});
  const Tensor h = Tensor::input(module.graph, 1, "h", DType::kF32, {1, kSileroHidden});
  const Tensor c = Tensor::input(module.graph, 2, "c", DType::kF32, {1, kSileroHidden});
  module.outputs = {model.forward_chunk(chunk, h, c).node_in(module.graph)};
  module.output_names = {"output"};
  return module;
}

/// The first layers of the model in this file.
std::shared_ptr<const GigaAmModel> read_gigaam(const std::string& path, int64_t layers) {
  const WeightFile file = value_or_throw(read_model_weights(path));
  GigaAmConfig config = value_or_throw(gigaam_config_of(file));
  config.encoder->n_layers = layers;
  return value_or_throw(GigaAmModel::make(file, config));
}

GraphModule gigaam_graph(const GigaAmModel& model) {
  GraphModule module;
  const Tensor mel = Tensor::input(module.graph, 0, "mel", DType::kF32, {1, model.config.encoder->feat_in, kMelFrames});
  const Tensor lengths = Tensor::input(module.graph, 1, "lengths", DType::kI32, {1});
  const EncodedBatch batch = model.encoder.forward_batch(mel, lengths, 1, kMelFrames);
  module.outputs = {batch.encoded.node_in(module.graph), batch.lengths.node_in(module.graph),
                    model.ctc->forward(batch.encoded).limit(1, batch.lengths).node_in(module.graph)};
  module.output_names = {"encoded", "encoded_lengths", "scores"};
  return module;
}

/// The rest of prepare(): what the graph is does not matter any more.
void make_plan(Stages& stages, const GraphModule& built) {
  const GraphModule module = rewrite(built, {.reorder_sums = true});
  stages.end("rewrite it");
  const std::shared_ptr<Backend> backend = make_clang_backend(ClangBackendOptions::from_environment());
  PlanOptions options;
  options.schedule.capabilities = backend->capabilities();
  stages.end("start the backend");
  const auto plan = value_or_throw(Plan::make(module, backend, options));
  const PlanStatistics& statistics = plan->statistics();
  Stages::part("- schedule", statistics.schedule_ms);
  Stages::part("- print C", statistics.compile.generate_ms);
  Stages::part("- compile or fetch", statistics.compile.compile_ms);
  Stages::part("- link", statistics.compile.load_ms);
  Stages::part("- pack weights", statistics.prepare_ms);
  stages.end("make the plan");
  stages.finish();
}

/// Runs in a fresh process.
void prepare_silero() {
  Stages stages;
  const SileroWeights weights = read_silero();
  stages.end("read weights");
  stages.begin_prepare();
  const GraphModule module = silero_graph(weights);
  stages.end("build the graph");
  make_plan(stages, module);
}

/// Runs in a fresh process.
void prepare_gigaam(const std::string& path, int64_t layers) {
  Stages stages;
  const auto model = read_gigaam(path, layers);
  stages.end("read weights");
  stages.begin_prepare();
  const GraphModule module = gigaam_graph(*model);
  stages.end("build the graph");
  make_plan(stages, module);
}

/// Runs in a fresh process: what packing could not be faster than. The mapped file is copied to new memory as it lies,
/// by as many threads as there are processors.
void copy_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) throw std::runtime_error(concat("cannot read ", path));
  const auto size = static_cast<size_t>(status.st_size);
  Stages stages;
  stages.begin_prepare();
  void* const from = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  void* const to = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (from == MAP_FAILED || to == MAP_FAILED) throw std::runtime_error(concat("no memory for ", size, " bytes"));
  madvise(to, size, MADV_HUGEPAGE);
  const size_t count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; i++)
    threads.emplace_back([=] {
      const size_t begin = size / count * i, end = i + 1 == count ? size : size / count * (i + 1);
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
    });
  for (std::thread& thread : threads) thread.join();
  stages.end("copy");
  close(file);
}

struct Stage {
  std::vector<double> wall, cpu;
};

void run_child(const std::string& command, std::vector<std::string>& order, std::map<std::string, Stage>& stages) {
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

/// A folder for the caches and weights of all children, removed at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / concat("tandem_prepare_", getpid())) {
    std::filesystem::create_directories(path_);
    setenv("TANDEM_CACHE_DIR", cache().c_str(), 1);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string cache() const { return (path_ / "cache").string(); }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void compare(Report& report, const Folder& folder, const std::string& name, const std::string& command) {
  if (!report.wants(name)) return;
  std::vector<std::string> order, again;
  std::map<std::string, Stage> cold, warm;
  for (int i = 0; i < kRuns; i++) {
    std::filesystem::remove_all(folder.cache());
    run_child(command, order, cold);
    run_child(command, again, warm);
  }
  for (const std::string& stage : order)
    report.row(concat(name, ": ", stage), {{"cold ms", median(cold[stage].wall)},
                                           {"cold CPU ms", median(cold[stage].cpu)},
                                           {"warm ms", median(warm[stage].wall)},
                                           {"warm CPU ms", median(warm[stage].cpu)}});
}

/// Seeded weights at the published size as a safetensors file.
void write_gigaam(const std::string& path, DType dtype) {
  const testing::GigaAmGolden golden("real_v3_ctc_expected");
  const WeightFile seeded = value_or_throw(seeded_gigaam_weights(golden.config, 1));
  std::vector<WeightTensor> tensors = seeded.tensors();
  std::vector<std::vector<uint16_t>> halves;
  for (WeightTensor& tensor : tensors) {
    if (dtype == DType::kF32) break;
    std::vector<uint16_t>& half = halves.emplace_back();
    for (const float value : value_or_throw(tensor.values<float>())) half.push_back(f16_from_f32(value));
    tensor.dtype = DType::kF16;
    tensor.bytes = std::as_bytes(std::span<const uint16_t>(half));
  }
  const std::vector<std::byte> bytes = value_or_throw(write_safetensors(tensors, golden.file.metadata()));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error(concat("cannot write ", path));
}

void run(Report& report, const std::string& program) {
  const Folder folder;
  const std::string child = concat("'", program, "' --child ");
  compare(report, folder, "Silero", child + "silero");
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    const std::string path = folder.file(name_of(dtype));
    bool written = false;
    for (const int layers : {16, 4, 1}) {
      const std::string name = concat("GigaAM ", name_of(dtype), ", ", layers, layers == 1 ? " layer" : " layers");
      if (!report.wants(name)) continue;
      if (!written) write_gigaam(path, dtype);
      written = true;
      compare(report, folder, name, concat(child, "'", path, "' ", layers));
    }
    if (const std::string name = concat("GigaAM ", name_of(dtype), ", all weights"); written)
      compare(report, folder, name, concat("'", program, "' --copy '", path, "'"));
    std::filesystem::remove(path);
  }
  std::string reason;
  if (const auto peer = OnnxruntimeSilero::make(testing::silero_onnx_path("v5"), reason))
    report.note(concat("onnxruntime makes its session of Silero in ", std::to_string(peer->session_ms()), " ms"));
  else
    report.note(reason);
  report.note(
      concat("medians of ", kRuns,
             " fresh processes; prepare = graph, rewriting, backend and plan. CPU adds up all threads; parts of the "
             "plan are timed by the clock only, which other programs slow down"));
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::strcmp(argv[1], "--child") == 0) {
      tandem::bench::prepare_silero();
      return 0;
    }
    if (argc == 3 && std::strcmp(argv[1], "--copy") == 0) {
      tandem::bench::copy_file(argv[2]);
      return 0;
    }
    if (argc == 4 && std::strcmp(argv[1], "--child") == 0) {
      tandem::bench::prepare_gigaam(argv[2], static_cast<int>(std::strtol(argv[3], nullptr, 10)));
      return 0;
    }
    tandem::bench::Report report(argc, argv, "From nothing to the first step, native: Silero VAD v5, GigaAM v3 CTC");
    tandem::bench::run(report, argv[0]);
    report.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
