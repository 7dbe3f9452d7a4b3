// Writes what the JavaScript package is compared with: for every case of the table and every Silero model the bits that
// other machines compute, the bounds of the float64 reference, and the modules that the native emitter makes.
//
// Usage: tandem_expectations FOLDER CLIPS    writes FOLDER/index.json and FOLDER/data.bin; CLIPS holds <clip id>.f32

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "backends/interpreter/interpreter.h"
#include "backends/wasm/emit.h"
#include "core/models/silero_vad.h"
#include "core/rewrite/rewrite.h"
#include "core/schedule/schedule.h"
#include "tests/reference/cases.h"
#include "tests/reference/scalar.h"
#include "tests/support/golden.h"
#include "tests/support/graph_runner.h"
#include "tests/support/native_kernels.h"
#include "tests/support/silero_stepper.h"
#include "tests/support/value_or_throw.h"

namespace tandem {
namespace {

using testing::value_or_throw;

using nlohmann::json;

constexpr const char* kMachines[] = {"wasm-simd128", "wasm-relaxed"};
constexpr Numerics kNumerics[] = {Numerics::kFast, Numerics::kReproducible};

/// The file of all bytes; the index names places in it.
class Data {
 public:
  explicit Data(const std::filesystem::path& path) : stream_(path, std::ios::binary) {}

  /// [first byte, bytes]; places are multiples of 8, so that arrays of any type can view them.
  json add(const void* bytes, size_t size) {
    const json place = {position_, size};
    stream_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    const char zeros[8] = {};
    const size_t padding = (8 - size % 8) % 8;
    stream_.write(zeros, static_cast<std::streamsize>(padding));
    position_ += size + padding;
    return place;
  }
  template <typename T>
  json add(const std::vector<T>& values) {
    return add(values.data(), values.size() * sizeof(T));
  }
  void finish() {
    stream_.close();
    if (!stream_) throw std::runtime_error("the data could not be written");
  }

 private:
  std::ofstream stream_;
  size_t position_ = 0;
};

/// A machine that only emits: for plans that are made to look at their modules.
class EmittingBackend : public Backend {
 public:
  std::string name() const override { return "wasm"; }
  Capabilities capabilities() const override { return *capabilities_named("wasm-relaxed"); }
  Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& machine, Numerics,
                                              CompileStatistics&) override {
    TANDEM_TRY(bytes, emit_module(program, machine));
    return std::unique_ptr<Executable>(std::make_unique<Module>(std::move(bytes)));
  }
  void* allocate(size_t bytes) override { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
  void release(void* memory, size_t) override { std::free(memory); }

 private:
  struct Module : Executable {
    explicit Module(std::vector<uint8_t> module) : bytes(std::move(module)) {}
    bool run(Phase, void* const*, const int64_t*, size_t, size_t) noexcept override { return true; }
    std::vector<uint8_t> binary() const override { return bytes; }
    std::vector<uint8_t> bytes;
  };
};

/// The module for every machine and kind of numerics, by "isa/numerics".
json modules_of(Data& data, const std::function<std::vector<uint8_t>(const ScheduleOptions&)>& module_for) {
  json modules;
  for (const char* isa : kMachines)
    for (const Numerics numerics : kNumerics)
      modules[std::string(isa) + "/" + std::string(name_of(numerics))] =
          data.add(module_for({*capabilities_named(isa), numerics}));
  return modules;
}

/// Lowest and highest value that each element may have: [low, high], both as f64.
json bounds_of(Data& data, const reference::ReferenceResult& result, bool exact) {
  std::vector<double> low, high;
  for (size_t i = 0; i < result.values.size(); i++) {
    const double value = result.values[i];
    double allowed = 0;
    if (!exact && std::isinf(result.error[i])) {
      allowed = INFINITY;
    } else if (!exact && std::isfinite(value) && is_float(result.dtype)) {
      allowed = result.error[i] + std::fabs(reference::round_to(result.dtype, value) - value);
    }
    low.push_back(std::isinf(allowed) ? -INFINITY : value - allowed);
    high.push_back(std::isinf(allowed) ? INFINITY : value + allowed);
    // Subtracting 0 would keep the sign of zero, but not that of what is compared exactly.
    if (allowed == 0) low.back() = high.back() = value;
  }
  return {{"dtype", name_of(result.dtype)}, {"low", data.add(low)}, {"high", data.add(high)}};
}

json case_entry(Data& data, const reference::Case& from) {
  reference::LoadedCase loaded = reference::load(from);
  const bool exact = from.tolerance == reference::Tolerance::kExact;
  json entry = {{"name", from.name}, {"graph", from.graph}, {"denormals", from.denormals}, {"exact", exact}};
  entry["variables"] = from.variables;
  entry["inputs"] = json::array();
  for (size_t i = 0; i < from.inputs.size(); i++) {
    const auto bytes = loaded.options.inputs.find(static_cast<int32_t>(i));
    entry["inputs"].push_back(bytes == loaded.options.inputs.end() ? json() : data.add(bytes->second));
  }
  entry["constants"] = json::object();
  for (const NodeId id : reachable_nodes(*loaded.module.graph, loaded.module.outputs)) {
    const Node& node = loaded.module.graph->node(id);
    if (node.op != Op::kConstant || !from.constants.contains(node.attributes.data->name)) continue;
    entry["constants"][node.attributes.data->name] = data.add(node.attributes.data->bytes, node.attributes.data->size);
  }
  static const auto interpreter = std::make_shared<InterpreterBackend>();
  const auto outputs =
      test::run_graph(loaded.module, loaded.options, {"interpreter", interpreter, interpreter->capabilities()},
                      Numerics::kReproducible);
  if (!outputs) throw std::runtime_error(outputs.error().text());
  loaded.options.mode = exact ? reference::Mode::kRounded : reference::Mode::kExact;
  const auto expected = reference::evaluate(loaded.module, loaded.options);
  for (size_t i = 0; i < outputs->size(); i++) {
    json output = bounds_of(data, expected[i], exact);
    output["bits"] = data.add((*outputs)[i]);
    entry["outputs"].push_back(output);
  }
  entry["modules"] = modules_of(data, [&](const ScheduleOptions& options) {
    RewriteOptions rewriting;
    rewriting.reorder_sums = options.numerics == Numerics::kFast;
    const Schedule schedule = make_schedule(rewrite(loaded.module, rewriting), options);
    return value_or_throw(emit_module(schedule.program, options.capabilities));
  });
  return entry;
}

/// A recording's probabilities and its last state, by reproducible numerics of the native machine, which is compared
/// with the others elsewhere.
json clip_entry(Data& data, SileroVad& vad, const std::filesystem::path& file) {
  const auto bytes = testing::file_bytes(file.string());
  std::vector<float> samples(bytes.size() / sizeof(float)), probabilities;
  std::memcpy(samples.data(), bytes.data(), bytes.size());
  if (auto reset = vad.reset(); !reset) throw std::runtime_error(reset.error().text());
  if (auto pushed = vad.push(samples, probabilities); !pushed) throw std::runtime_error(pushed.error().text());
  if (auto flushed = vad.flush(probabilities); !flushed) throw std::runtime_error(flushed.error().text());
  const auto h = value_or_throw(vad.h()), c = value_or_throw(vad.c());
  return {{"probabilities", data.add(probabilities)},
          {"h", data.add(h.data(), h.size_bytes())},
          {"c", data.add(c.data(), c.size_bytes())}};
}

json silero_entry(Data& data, const std::string& version, int64_t rate, const std::filesystem::path& clips) {
  const SileroWeights weights = testing::silero_weights(version, rate);
  PrepareConfig config;
  config.backend = test::uncached_backend();
  config.numerics = Numerics::kReproducible;
  SileroVad vad = value_or_throw(SileroVad::create(weights, config));
  json entry = {{"version", version}, {"sampleRate", rate}};
  const std::string name = "silero/" + version + (rate == 16000 ? "_16k.json" : "_8k.json");
  const json golden = testing::golden_json(name)["clips"];
  for (const json& clip : golden) {
    const std::string id = clip["id"];
    entry["clips"][id] = clip_entry(data, vad, clips / (id + ".f32"));
  }
  entry["modules"] = modules_of(data, [&](const ScheduleOptions& options) {
    PrepareConfig emitting;
    emitting.backend = std::make_shared<EmittingBackend>();
    emitting.isa = options.capabilities.isa;
    emitting.numerics = options.numerics;
    SileroVad emitted = value_or_throw(SileroVad::create(weights, emitting));
    return emitted.jit().session().plan()->executable().binary();
  });
  return entry;
}

void write(const std::filesystem::path& folder, const std::filesystem::path& clips) {
  std::filesystem::create_directories(folder);
  Data data(folder / "data.bin");
  json index;
  for (const reference::Case& from : reference::load_cases(TANDEM_SOURCE_DIR)) {
    try {
      index["cases"].push_back(case_entry(data, from));
    } catch (const std::exception& error) {
      throw std::runtime_error("case " + from.name + ": " + error.what());
    }
  }
  for (const char* version : {"v5", "v6"})
    for (const int64_t rate : {16000, 8000}) index["silero"].push_back(silero_entry(data, version, rate, clips));
  data.finish();
  std::ofstream(folder / "index.json") << index.dump();
}

}  // namespace
}  // namespace tandem

int main(int count, char** values) {
  if (count != 3) {
    std::fprintf(stderr, "usage: tandem_expectations FOLDER CLIPS\n");
    return 2;
  }
  try {
    tandem::write(values[1], values[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem_expectations: %s\n", error.what());
    return 1;
  }
}
