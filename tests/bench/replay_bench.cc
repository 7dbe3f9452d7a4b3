// What replaying a plan costs beyond its kernels: 50 kernels of one element each, called by a plan and by a loop over
// function pointers. In WebAssembly, where a step is one call whatever it does: beyond a plan of one kernel.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "core/base/text.h"
#include "core/jit/session.h"
#include "native/native_backends.h"
#include "tests/bench/contest.h"
#include "tests/bench/yardstick_loops.h"

namespace tandem::bench {
namespace {

constexpr int kKernels = 50;
/// Microseconds that a kernel may cost beyond itself, and in WebAssembly.
constexpr double kNativeBar = 0.3, kWasmBar = 0.1;

/// y[i] = x[i] * 2 + i, an output and so a kernel for each i.
Session prepared(int kernels, const char* backend) {
  Session session("replay");
  session.declare_input("x", DType::kF32, {kKernels});
  PrepareConfig config;
  config.backend_name = backend;
  const auto build = [kernels](const Trace& trace) {
    std::vector<NamedTensor> outputs;
    const Tensor& x = trace.tensor("x");
    for (int i = 0; i < kernels; i++) outputs.push_back({concat("y", i), x.slice(0, i, i + 1) * 2 + i});
    return Outputs(std::move(outputs));
  };
  if (auto done = session.prepare({}, build, config); !done) throw std::runtime_error(done.error().text());
  if (session.plan()->program().step_calls.size() != static_cast<size_t>(kernels))
    throw std::runtime_error("the plan has another number of kernels than the graph has outputs");
  return session;
}

double measure_native(Report& report) {
  Session session = prepared(kKernels, "native");
  float* x = session.input(0)->span<float>()->data();
  for (int i = 0; i < kKernels; i++) x[i] = 1;
  std::vector<float> y(kKernels);
  const std::vector<loops::ElementFunction> functions(kKernels, &loops::element);
  const auto timings = compete({{"plan", [&] { static_cast<void>(session.execute()); }},
                                {"loop",
                                 [&] {
                                   for (int i = 0; i < kKernels; i++)
                                     functions[static_cast<size_t>(i)](x + i, &y[static_cast<size_t>(i)], i);
                                 }}},
                               100, 500);
  for (int i = 0; i < kKernels; i++)
    if (*session.output(static_cast<size_t>(i))->span<float>()->data() != y[static_cast<size_t>(i)])
      throw std::runtime_error("the plan and the loop differ");
  const double each = (timings[0].median - timings[1].median) / kKernels;
  report.row("native, 50 kernels", {{"plan us", timings[0].median},
                                    {"loop us", timings[1].median},
                                    {"ratio", ratio(timings[0], timings[1])},
                                    {"beyond the loop, us a kernel", number_text(static_cast<float>(each))},
                                    {"bar", kNativeBar}});
  return each;
}

/// Writes the module and where its buffers may lie, for replay.mjs.
void write_module(const std::string& folder, const std::string& name, const Session& session) {
  const Plan& plan = *session.plan();
  const std::vector<uint8_t> bytes = plan.executable().binary();
  std::ofstream(folder + "/" + name + ".wasm", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  nlohmann::json layout = {{"calls", plan.program().step_calls.size()}, {"slots", nlohmann::json::array()}};
  int64_t next = 1024;
  for (const Slot& slot : plan.program().slots) {
    layout["slots"].push_back(next);
    next += (slot.bytes + 63) / 64 * 64;
  }
  std::ofstream(folder + "/" + name + ".json") << layout;
}

double measure_wasm(Report& report) {
  const std::string folder = std::filesystem::temp_directory_path() / "tandem_replay_bench";
  std::filesystem::create_directories(folder);
  write_module(folder, "one", prepared(1, "wasm"));
  write_module(folder, "many", prepared(kKernels, "wasm"));
  const char* node = std::getenv("TANDEM_NODE");
  const std::string command =
      concat(node ? node : "node", " ", TANDEM_SOURCE_DIR, "/tests/bench/web/replay.mjs ", folder);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("Node.js could not be started");
  char line[256] = "";
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  if (::pclose(pipe) != 0 || !read) throw std::runtime_error(concat("failed: ", command));
  std::filesystem::remove_all(folder);
  const auto times = nlohmann::json::parse(line);
  const double one = times["one"], many = times["many"];
  const double each = (many - one) / (kKernels - 1);
  report.row("WebAssembly, 50 kernels", {{"plan us", many},
                                         {"one kernel us", one},
                                         {"ratio", many / one},
                                         {"beyond one call, us a kernel", number_text(static_cast<float>(each))},
                                         {"bar", kWasmBar}});
  return each;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  tandem::bench::Report report(argc, argv, "Replaying a plan of trivial kernels");
  try {
    tandem::register_native_backends();
    bool good = true;
    if (report.wants("native")) good = tandem::bench::measure_native(report) <= tandem::bench::kNativeBar;
    if (report.wants("WebAssembly")) good = tandem::bench::measure_wasm(report) <= tandem::bench::kWasmBar && good;
    report.finish();
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
