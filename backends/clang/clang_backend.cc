#include "backends/clang/clang_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>

#include "backends/clang/compile_options.h"
#include "backends/clang/compiler_abi.h"
#include "backends/clang/compiler_loader.h"
#include "backends/clang/kept_measurements.h"
#include "backends/clang/native_program.h"
#include "backends/clang/object_cache.h"
#include "backends/clang/orc.h"
#include "backends/clang/print_c.h"
#include "backends/clang/sha256.h"
#include "backends/clang/worker_pool.h"
#include "core/base/text.h"

namespace tandem {

namespace {

/// Counts up whenever the C that means the same would compile to something else.
constexpr int kEngineVersion = 1;
constexpr const char* kFileName = "kernels.c";
/// From this size on the system gives whole, zeroed pages.
constexpr size_t kPagedBytes = size_t{256} << 10;
/// From this size on large pages waste little.
constexpr size_t kHugeBytes = size_t{64} << 20;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// One translation unit on its way to an object.
struct Unit {
  std::vector<uint32_t> kernels;  ///< Numbers in the program.
  CUnit c;
  std::string key;
  std::vector<uint8_t> object;
  bool cached = false;
  std::optional<JitError> error;
};

/// Shares the kernels out so that units take about equally long. The number of units depends on the program alone:
/// machines with more or fewer processors share cached objects.
std::vector<Unit> split_program(const Program& program) {
  constexpr size_t kInstructionsPerUnit = 600;
  constexpr size_t kMaxUnits = 4;
  size_t total = 0;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < program.kernels.size(); i++) {
    total += program.kernels[i].instructions.size();
    order.push_back(i);
  }
  size_t count = std::min({kMaxUnits, 1 + total / kInstructionsPerUnit, std::max<size_t>(1, order.size())});
  if (count == 3) count = 2;  // Two processors would wait for the third unit.
  const auto size_of_kernel = [&](uint32_t i) { return program.kernels[i].instructions.size(); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return size_of_kernel(a) != size_of_kernel(b) ? size_of_kernel(a) > size_of_kernel(b) : a < b;
  });
  std::vector<Unit> units(count);
  std::vector<size_t> load(count, 0);
  for (uint32_t kernel : order) {
    const size_t lightest = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    units[lightest].kernels.push_back(kernel);
    load[lightest] += size_of_kernel(kernel) + 20;
  }
  for (Unit& unit : units) std::sort(unit.kernels.begin(), unit.kernels.end());
  return units;
}

bool uses_bfloat16_dots(const Program& program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(),
                     [](const Kernel& kernel) { return uses(kernel, Opcode::kDotBFloat16); });
}

std::string cache_key(const std::string& source, const CompileOptions& options) {
  Sha256 hash;
  hash.field(concat("tandem ", kEngineVersion, " plugin ", TANDEM_COMPILER_ABI));
  hash.field(compiler_identity());
  hash.field(source);
  hash.field(concat(options.arguments.size()));
  for (const std::string& argument : options.arguments) hash.field(argument);
  hash.field(options.passes);
  hash.field(concat(options.codegen_level));
  return hash.finish_text();
}

class ClangBackendImplementation : public ClangBackend {
 public:
  explicit ClangBackendImplementation(const ClangBackendOptions& options)
      : options_(options),
        cache_(options.cache_folder, options.cache_limit_bytes),
        pool_(std::make_shared<WorkerPool>(options.threads)),
        measurements_(cache_, concat("tandem ", kEngineVersion, " ", compiler_identity(), " on ", host_processor()),
                      pool_->threads()) {}

  std::string name() const override { return "native"; }
  Capabilities capabilities() const override { return host_capabilities(); }
  std::string cache_warning() const override {
    return options_.cache_folder.empty() ? options_.cache_warning : cache_.warning();
  }
  Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& capabilities,
                                              Numerics numerics, CompileStatistics& statistics) override;
  Result<std::string> assembly(const Program& program, const Capabilities& capabilities) override;
  Measurements* measurements() override { return &measurements_; }
  void* allocate(size_t bytes) override;
  void release(void* memory, size_t bytes) override;

 private:
  Result<std::shared_ptr<Linker>> linker();
  std::vector<Unit> print_units(const Program& program, const Capabilities& capabilities,
                                const CompileOptions& compile);
  void compile_units(std::vector<Unit>& units, const CompileOptions& compile, CompileStatistics& statistics);
  void compile_unit(Unit& unit, const CompileOptions& compile);
  Result<std::unique_ptr<LoadedCode>> load(std::vector<Unit>& units, size_t kernel_count);
  Result<std::unique_ptr<Executable>> compile_or_throw(const Program& program, const Capabilities& capabilities,
                                                       Numerics numerics, CompileStatistics& statistics);

  const ClangBackendOptions options_;
  const ObjectCache cache_;
  const std::shared_ptr<WorkerPool> pool_;
  KeptMeasurements measurements_;
  std::mutex mutex_;
  std::shared_ptr<Linker> linker_;
};

// Started by the first program: a tool that compiles nothing pays nothing.
Result<std::shared_ptr<Linker>> ClangBackendImplementation::linker() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (linker_ == nullptr) {
    LinkerOptions linker_options;
    linker_options.debugger = options_.debugger;
    linker_options.perf = options_.perf;
    TANDEM_TRY(made, Linker::create(linker_options));
    linker_ = std::move(made);
  }
  return linker_;
}

std::vector<Unit> ClangBackendImplementation::print_units(const Program& program, const Capabilities& capabilities,
                                                          const CompileOptions& compile) {
  std::vector<Unit> units = split_program(program);
  for (Unit& unit : units) {
    std::vector<const Kernel*> kernels;
    for (uint32_t kernel : unit.kernels) kernels.push_back(&program.kernels[kernel]);
    unit.c = print_c(kernels, capabilities);
    unit.key = cache_key(unit.c.source, compile);
  }
  return units;
}

void ClangBackendImplementation::compile_unit(Unit& unit, const CompileOptions& compile) {
  try {
    auto object = compile_c(unit.c.source, kFileName, compile, CompilerOutput::kObject, options_.compiler_plugin);
    if (object) {
      unit.object = std::move(*object);
      cache_.store(unit.key, unit.object);
    } else {
      unit.error = object.error();
    }
  } catch (const std::exception& error) {
    unit.error = JitError{ErrorCode::kDevice, concat("a kernel could not be compiled: ", error.what())};
  }
}

/// Compiles all units that have no object yet, side by side.
void ClangBackendImplementation::compile_units(std::vector<Unit>& units, const CompileOptions& compile,
                                               CompileStatistics& statistics) {
  std::vector<Unit*> missing;
  for (Unit& unit : units)
    if (unit.object.empty()) missing.push_back(&unit);
  statistics.compiled_units += static_cast<int>(missing.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < missing.size(); i = next++) compile_unit(*missing[i], compile);
  };
  size_t threads = options_.compile_threads > 0 ? static_cast<size_t>(options_.compile_threads)
                                                : std::min(4u, std::max(1u, std::thread::hardware_concurrency()));
  threads = std::min(threads, missing.size());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < threads; i++) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // No more threads to be had: this one does the work.
    }
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

Result<std::unique_ptr<LoadedCode>> ClangBackendImplementation::load(std::vector<Unit>& units, size_t kernel_count) {
  TANDEM_TRY(loader, linker());
  std::vector<std::vector<uint8_t>> objects;
  std::vector<std::string> symbols(kernel_count);
  for (Unit& unit : units) {
    objects.push_back(unit.object);
    for (size_t i = 0; i < unit.kernels.size(); i++) symbols[unit.kernels[i]] = unit.c.symbols[i];
  }
  return loader->load(objects, symbols);
}

Result<std::unique_ptr<Executable>> ClangBackendImplementation::compile_or_throw(const Program& program,
                                                                                 const Capabilities& capabilities,
                                                                                 Numerics numerics,
                                                                                 CompileStatistics& statistics) {
  auto start = std::chrono::steady_clock::now();
  const CompileOptions compile = compile_options_for(capabilities, options_.debugger || options_.perf);
  std::vector<Unit> units = print_units(program, capabilities, compile);
  statistics.kernels += static_cast<int>(program.kernels.size());
  statistics.generate_ms += milliseconds_since(start);

  const int compiled_before = statistics.compiled_units;
  start = std::chrono::steady_clock::now();
  for (Unit& unit : units) {
    if (auto object = cache_.find(unit.key)) {
      unit.object = std::move(*object);
      unit.cached = true;
      statistics.cached_units++;
    }
  }
  compile_units(units, compile, statistics);
  for (const Unit& unit : units)
    if (unit.error) return tl::unexpected<JitError>(*unit.error);
  statistics.compile_ms += milliseconds_since(start);

  start = std::chrono::steady_clock::now();
  auto code = load(units, program.kernels.size());
  if (!code && statistics.cached_units > 0) {
    // A cached object that doesn't link, whatever its checksum says, is replaced.
    for (Unit& unit : units)
      if (unit.cached) unit.object.clear();
    compile_units(units, compile, statistics);
    for (const Unit& unit : units)
      if (unit.error) return tl::unexpected<JitError>(*unit.error);
    code = load(units, program.kernels.size());
  }
  if (!code) return tl::unexpected<JitError>(code.error());
  // Not before the linker, which is in the same library, is through.
  if (statistics.compiled_units > compiled_before) rest_compiler();
  statistics.load_ms += milliseconds_since(start);

  std::string source;
  std::vector<uint8_t> binary;
  for (Unit& unit : units) {
    source += unit.c.source;
    binary.insert(binary.end(), unit.object.begin(), unit.object.end());
  }
  return std::unique_ptr<Executable>(
      new NativeProgram(program, numerics, std::move(*code), pool_, std::move(source), std::move(binary)));
}

Result<std::unique_ptr<Executable>> ClangBackendImplementation::compile(const Program& program,
                                                                        const Capabilities& capabilities,
                                                                        Numerics numerics,
                                                                        CompileStatistics& statistics) {
  if (!host_supports(capabilities))
    return fail(ErrorCode::kDevice, concat("this machine cannot run code for \"", capabilities.isa, "\"; it has \"",
                                           host_capabilities().isa,
                                           "\", and what the native backend knows is avx512, avx2, sse+fma and sse"));
  if (!host_capabilities().bfloat16_dot && uses_bfloat16_dots(program))
    return fail(ErrorCode::kDevice, "this machine has no bf16 dot products, which the program was planned with");
  try {
    return compile_or_throw(program, capabilities, numerics, statistics);
  } catch (const std::exception& error) {
    return fail(ErrorCode::kDevice, concat("native code could not be made: ", error.what()));
  }
}

Result<std::string> ClangBackendImplementation::assembly(const Program& program, const Capabilities& capabilities) {
  try {
    const CompileOptions compile = compile_options_for(capabilities, false);
    std::string text;
    for (const Unit& unit : print_units(program, capabilities, compile)) {
      TANDEM_TRY(bytes,
                 compile_c(unit.c.source, kFileName, compile, CompilerOutput::kAssembly, options_.compiler_plugin));
      text.append(bytes.begin(), bytes.end());
    }
    return text;
  } catch (const std::exception& error) {
    return fail(ErrorCode::kDevice, concat("no assembly could be made: ", error.what()));
  }
}

void* ClangBackendImplementation::allocate(size_t bytes) {
  if (bytes >= kPagedBytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    // Weights are written once and read at every step: fewer, larger pages serve both. Where there are none, so be it.
    if (bytes >= kHugeBytes) ::madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  const size_t rounded = std::max<size_t>(64, (bytes + 63) / 64 * 64);
  void* memory = std::aligned_alloc(64, rounded);
  if (memory != nullptr) std::memset(memory, 0, rounded);
  return memory;
}

void ClangBackendImplementation::release(void* memory, size_t bytes) {
  if (memory != nullptr && bytes >= kPagedBytes)
    ::munmap(memory, bytes);
  else
    std::free(memory);
}

}  // namespace

Result<void> ClangBackendOptions::check_environment() {
  for (const char* name : {"TANDEM_JIT_DEBUG", "TANDEM_JIT_PERF"}) {
    const char* found = std::getenv(name);
    const std::string_view value = found == nullptr ? "" : found;
    if (!value.empty() && value != "0" && value != "1")
      return fail(ErrorCode::kInvalidArgument, concat(name, " is \"", value, "\"; allowed: 0, 1"));
  }
  return ObjectCache::check_environment();
}

ClangBackendOptions ClangBackendOptions::from_environment() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && std::strcmp(value, "1") == 0;
  };
  ClangBackendOptions options;
  if (const char* plugin = std::getenv("TANDEM_COMPILER_PLUGIN")) options.compiler_plugin = plugin;
  options.cache_folder = ObjectCache::folder_from_environment();
  options.cache_warning = ObjectCache::missing_folder_warning();
  options.cache_limit_bytes = ObjectCache::limit_from_environment();
  options.debugger = set("TANDEM_JIT_DEBUG");
  options.perf = set("TANDEM_JIT_PERF");
  return options;
}

std::unique_ptr<ClangBackend> make_clang_backend(const ClangBackendOptions& options) {
  return std::make_unique<ClangBackendImplementation>(options);
}

}  // namespace tandem
