// tandem bench: what preparing a model and one step of it cost on this machine.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "native/built_in_models.h"
#include "native/command.h"
#include "native/number_option.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

/// A cache folder of its own, so that the first preparation finds nothing and the next ones find all of it.
class TemporaryCache {
 public:
  TemporaryCache() : folder_(std::filesystem::temp_directory_path() / concat("tandem_bench_", ::getpid())) {
    std::filesystem::remove_all(folder_);
    ::setenv("TANDEM_CACHE_DIR", folder_.c_str(), 1);
  }
  ~TemporaryCache() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryCache(const TemporaryCache&) = delete;
  TemporaryCache& operator=(const TemporaryCache&) = delete;

 private:
  std::filesystem::path folder_;
};

/// Runs `work` in a fork of this process, which so far has only loaded its libraries, and hands back its number.
Result<double> in_fresh_process(const std::function<Result<double>()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorCode::kRuntime, "no pipe to a child process could be made");
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::kRuntime, "no child process could be started");
  if (child == 0) {
    const auto number = work();
    int code = kExitSuccess;
    if (!number)
      code = report_error(number.error());
    else if (::write(ends[1], &*number, sizeof *number) != sizeof *number)
      code = kExitFailure;
    ::_exit(code);
  }
  ::close(ends[1]);
  double number = 0;
  const bool complete = ::read(ends[0], &number, sizeof number) == sizeof number;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!complete) return fail(ErrorCode::kRuntime, "the model could not be prepared in a child process");
  return number;
}

double at(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

struct BenchCommand {
  std::string model, weights;
  TargetOptions target;
  int64_t steps = 2000;
  bool json = false;

  Result<PreparedModel> prepare(const BuiltInModel& built_in) const {
    TANDEM_TRY(made, target.config());
    const nlohmann::json options = nlohmann::json::object();
    return built_in.prepare({weights, options, made});
  }

  /// Microseconds of each step, sorted. The first tenth of the steps isn't counted.
  Result<std::vector<double>> time_steps(const PreparedModel& prepared) const {
    std::vector<double> times;
    for (int64_t i = -steps / 10; i < steps; i++) {
      const auto start = Clock::now();
      if (auto done = prepared.step(); !done) return tl::unexpected<JitError>(done.error());
      if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  Result<nlohmann::ordered_json> measure() const {
    if (model.empty()) return tl::unexpected<JitError>(missing_argument("bench", "MODEL"));
    if (auto usable = target.config(); !usable) return tl::unexpected<JitError>(usable.error());
    TANDEM_TRY(found, find_model(model));
    const BuiltInModel& built_in = *found;
    const TemporaryCache cache;
    const auto fresh = [&]() -> Result<double> {
      TANDEM_TRY(prepared, prepare(built_in));
      return prepared.prepare_ms;
    };
    TANDEM_TRY(cold, in_fresh_process(fresh));
    std::vector<double> warm;
    for (int i = 0; i < 5; i++) {
      TANDEM_TRY(one, in_fresh_process(fresh));
      warm.push_back(one);
    }
    std::sort(warm.begin(), warm.end());
    TANDEM_TRY(used, target.config());
    TANDEM_TRY(prepared, prepare(built_in));
    report_target_notes(used);
    TANDEM_TRY(times, time_steps(prepared));
    const Plan& plan = *prepared.session->plan();
    int64_t bytes = 0, flops = 0;
    for (const Work& work : plan.schedule().step_work) {
      flops += work.flops.upper();
      bytes += work.bytes.upper();
    }
    return nlohmann::ordered_json{
        {"model", model},
        {"target", target_text(used)},
        {"threads", used.threads},
        {"step_us", {{"median", at(times, 0.5)}, {"min", times.front()}, {"p99", at(times, 0.99)}}},
        {"prepare_ms", {{"cold", cold}, {"warm", at(warm, 0.5)}}},
        {"bytes", bytes},
        {"flops", flops},
        {"arena_bytes", plan.statistics().arena_bytes},
    };
  }

  static std::string text(const nlohmann::ordered_json& result) {
    char line[512];
    std::snprintf(line, sizeof line,
                  "%s, %s\nstep: median %.2f us, fastest %.2f us, 99 of 100 within %.2f us\n"
                  "prepare: %.1f ms the first time, %.1f ms with kernels from the cache\n"
                  "a step does %.3f Mflop and moves %.3f MB\n",
                  result["model"].get<std::string>().c_str(), result["target"].get<std::string>().c_str(),
                  result["step_us"]["median"].get<double>(), result["step_us"]["min"].get<double>(),
                  result["step_us"]["p99"].get<double>(), result["prepare_ms"]["cold"].get<double>(),
                  result["prepare_ms"]["warm"].get<double>(), result["flops"].get<double>() * 1e-6,
                  result["bytes"].get<double>() * 1e-6);
    return line;
  }
};

}  // namespace

void add_bench_command(CLI::App& tool, int& exit_code) {
  const auto state = std::make_shared<BenchCommand>();
  CLI::App& command = *tool.add_subcommand("bench", "Time preparing a model (in fresh processes) and one step of it");
  command.add_option("MODEL", state->model, "Name of the model: see tandem run --help");
  command.add_option("--weights", state->weights, "File or folder of weights; default: the installed npm package's");
  add_threads_option(command, state->target);
  add_whole_number(command, "--steps", state->steps, 1, kMostSteps, "How many steps are timed");
  command.add_flag("--json", state->json, "Print one JSON object and nothing else");
  state->target.add_to(command);
  command.callback([state, &exit_code] {
    auto result = state->measure();
    if (!result) {
      exit_code = report_error(result.error());
      return;
    }
    const std::string text = state->json ? result->dump(2) + "\n" : BenchCommand::text(*result);
    if (auto written = write_standard_output(text); !written) exit_code = report_error(written.error());
  });
}

}  // namespace tandem
