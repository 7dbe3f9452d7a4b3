// tandem bench: what preparing a model and one step of it cost on this machine.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
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

/// What preparing and one step cost a process of its own.
struct FreshCost {
  double prepare_ms = 0;
  int64_t peak_bytes = 0;  ///< Most physical memory at one time, pages of mapped files included.
};

/// The most memory that this process has had: VmHWM; 0 where the system doesn't say.
int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  return 0;
}

/// What a child process answers: its cost, or an error whose text follows.
struct Answer {
  bool failed = false;
  ErrorCode code = ErrorCode::kRuntime;
  FreshCost cost;
};

void send(int pipe, const Answer& answer, const std::string& text) {
  std::string bytes(reinterpret_cast<const char*>(&answer), sizeof answer);
  bytes += text;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(pipe, bytes.data() + at, bytes.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

/// Runs `work` in a fork of this process, which so far has only loaded its libraries, and hands back its result.
Result<FreshCost> in_fresh_process(const std::function<Result<FreshCost>()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorCode::kRuntime, "no pipe to a child process could be made");
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::kRuntime, "no child process could be started");
  if (child == 0) {
    const auto cost = work();
    if (cost)
      send(ends[1], {false, ErrorCode::kRuntime, *cost}, "");
    else
      send(ends[1], {true, cost.error().code, {}}, cost.error().message);
    ::_exit(kExitSuccess);
  }
  ::close(ends[1]);
  std::string bytes;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(ends[0], part, sizeof part)) > 0;)
    bytes.append(part, static_cast<size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Answer answer;
  if (bytes.size() < sizeof answer)
    return fail(ErrorCode::kRuntime,
                concat("the child process that prepared the model died",
                       WIFSIGNALED(status) ? concat(" of signal ", WTERMSIG(status)) : "", " without an answer"));
  std::memcpy(&answer, bytes.data(), sizeof answer);
  if (answer.failed) return fail(answer.code, bytes.substr(sizeof answer));
  return answer.cost;
}

/// The least value that `share` of all don't exceed.
double at(const std::vector<double>& sorted, double share) {
  const auto count = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(count, 1, sorted.size()) - 1];
}

struct BenchCommand {
  std::string model, weights, variables, options;
  PrecisionOptions precision;
  TargetOptions target;
  std::optional<int64_t> steps;
  bool json = false;

  /// Everything but the target, which each process finds for itself.
  struct Subject {
    const BuiltInModel* model = nullptr;
    nlohmann::json options;
    Precision precision;
    std::map<std::string, int64_t> variables;
    std::optional<WeightFile> seeded;
  };

  Result<Subject> subject() const {
    Subject subject;
    TANDEM_TRY(found, find_model(model));
    subject.model = found;
    TANDEM_TRY(model_options, read_model_options(options));
    subject.options = std::move(model_options);
    TANDEM_TRY(stored, precision.of(*found));
    subject.precision = stored;
    TANDEM_TRY(values, sizes_of(*found, variables));
    subject.variables = std::move(values);
    if (weights.empty() && found->seeded_weights) {
      TANDEM_TRY(seeded, found->seeded_weights({"", subject.options, {}}));
      subject.seeded = std::move(seeded);
    }
    return subject;
  }

  Result<PreparedModel> prepare(const Subject& subject) const {
    TANDEM_TRY(made, target.config());
    return subject.model->prepare(
        {weights, subject.options, made, subject.precision, subject.variables, subject.seeded});
  }

  /// Microseconds of each step, sorted. The first tenth of the steps isn't counted. A number of steps that nobody gave
  /// is cut to what a few seconds allow, but for five.
  Result<std::vector<double>> time_steps(const PreparedModel& prepared) const {
    constexpr auto kLongest = std::chrono::seconds(10);
    constexpr int64_t kUsualSteps = 2000, kFewestSteps = 5;
    const int64_t count = steps.value_or(kUsualSteps);
    const auto begin = Clock::now();
    std::vector<double> times;
    int64_t warm_up = count / 10;
    while (static_cast<int64_t>(times.size()) < count) {
      const auto start = Clock::now();
      const bool late = !steps && start - begin > kLongest;
      if (late && times.size() >= kFewestSteps) break;
      if (auto done = prepared.step(); !done) return tl::unexpected<JitError>(done.error());
      if (warm_up-- > 0 && !late && (steps || start - begin < kLongest / 10)) continue;
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  Result<nlohmann::ordered_json> measure() const {
    if (model.empty()) return tl::unexpected<JitError>(missing_argument("bench", "MODEL"));
    if (auto usable = target.config(); !usable) return tl::unexpected<JitError>(usable.error());
    TANDEM_TRY(what, subject());
    const TemporaryCache cache;
    const auto fresh = [&]() -> Result<FreshCost> {
      TANDEM_TRY(prepared, prepare(what));
      if (auto done = prepared.step(); !done) return tl::unexpected<JitError>(done.error());
      return FreshCost{prepared.prepare_ms, peak_memory()};
    };
    TANDEM_TRY(cold, in_fresh_process(fresh));
    std::vector<double> warm;
    int64_t warm_peak = 0;
    for (int i = 0; i < 5; i++) {
      TANDEM_TRY(one, in_fresh_process(fresh));
      warm.push_back(one.prepare_ms);
      warm_peak = std::max(warm_peak, one.peak_bytes);
    }
    std::sort(warm.begin(), warm.end());
    TANDEM_TRY(used, target.config());
    TANDEM_TRY(prepared, prepare(what));
    const Plan& plan = *prepared.session->plan();
    const bool dots = multiplies_bfloat16(plan);
    report_target_notes(used, dots);
    TANDEM_TRY(times, time_steps(prepared));
    int64_t bytes = 0, flops = 0;
    for (const Work& work : plan.schedule().step_work) {
      flops += work.flops.upper();
      bytes += work.bytes.upper();
    }
    nlohmann::ordered_json result{{"model", model}, {"target", target_text(used, dots)}, {"threads", used.threads}};
    if (what.model->seeded_weights) result["weights"] = what.seeded ? "seeded random" : weights;
    if (!what.model->weights_dtypes.empty()) result["weights_dtype"] = precision.weights_text();
    if (what.model->rounds_activations) result["activations"] = name_of(what.precision.activations);
    for (const auto& [name, value] : what.variables) result["vars"][name] = value;
    result.update({
        {"step_us", {{"median", at(times, 0.5)}, {"min", times.front()}, {"p99", at(times, 0.99)}}},
        {"steps", times.size()},
        {"prepare_ms", {{"cold", cold.prepare_ms}, {"warm", at(warm, 0.5)}}},
        {"bytes", bytes},
        {"flops", flops},
        {"arena_bytes", plan.statistics().arena_bytes},
        {"peak_memory_bytes", {{"cold", cold.peak_bytes}, {"warm", warm_peak}}},
    });
    return result;
  }

  std::string text(const nlohmann::ordered_json& result) const {
    const auto found = find_model(model);
    const std::string subject =
        concat(model, ", ", result["target"].get<std::string>(), found ? precision.text(**found) : "");
    const double cold = result["peak_memory_bytes"]["cold"].get<double>(),
                 warm = result["peak_memory_bytes"]["warm"].get<double>();
    // Of fewer steps nothing but the slowest is known.
    const bool few = result["steps"].get<int64_t>() < 100;
    char line[1024];
    std::snprintf(
        line, sizeof line,
        "%s\nstep: median %.2f us, fastest %.2f us, %s %.2f us\n"
        "prepare: %.1f ms the first time, %.1f ms with kernels from the cache\n"
        "a step does %.3f Mflop and moves %.3f MB; preparing and one step take at most %.1f MB the first time, "
        "%.1f MB from the cache%s\n",
        subject.c_str(), result["step_us"]["median"].get<double>(), result["step_us"]["min"].get<double>(),
        few ? "slowest" : "99 of 100 within", result["step_us"]["p99"].get<double>(),
        result["prepare_ms"]["cold"].get<double>(), result["prepare_ms"]["warm"].get<double>(),
        result["flops"].get<double>() * 1e-6, result["bytes"].get<double>() * 1e-6, cold * 1e-6, warm * 1e-6,
        result.value("weights", "") == "seeded random" ? "\nweights are random: speed and size alone count" : "");
    return line;
  }
};

}  // namespace

void add_bench_command(CLI::App& tool, int& exit_code) {
  const auto state = std::make_shared<BenchCommand>();
  CLI::App& command = *tool.add_subcommand("bench", "Time preparing a model (in fresh processes) and one step of it");
  command.add_option("MODEL", state->model, "Name of the model: see tandem run --help");
  command.add_option("--weights", state->weights,
                     "File or folder of weights; default: the installed npm package's, gigaam: random ones");
  state->precision.add_to(command);
  command.add_option("--vars", state->variables, "Sizes of the step, like b=1,t=569 (gigaam-mel, gigaam-e2e: n)");
  command.add_option("--config", state->options, "JSON file with options of the model");
  add_threads_option(command, state->target);
  add_whole_number(
      command, "--steps", [steps = &state->steps](int64_t value) { *steps = value; }, 1, kMostSteps,
      "How many steps are timed; default: 2000, or what 10 seconds allow");
  command.add_flag("--json", state->json, "Print one JSON object and nothing else");
  state->target.add_to(command);
  command.callback([state, &exit_code] {
    auto result = state->measure();
    if (!result) {
      exit_code = report_error(result.error());
      return;
    }
    const std::string text = state->json ? result->dump(2) + "\n" : state->text(*result);
    if (auto written = write_standard_output(text); !written) exit_code = report_error(written.error());
  });
}

}  // namespace tandem
