// tandem show and tandem profile: what a model became, and where its time goes.

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends/clang/clang_backend.h"
#include "core/base/text.h"
#include "native/built_in_models.h"
#include "native/command.h"
#include "native/number_option.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

/// What both commands need: a model by name, prepared.
struct Prepared {
  const char* command_name;
  std::string model, weights, vars, options;
  PrecisionOptions precision;
  TargetOptions target;

  explicit Prepared(const char* name) : command_name(name) {}

  void add_to(CLI::App& command) {
    command.add_option("MODEL", model, "Name of the model: see tandem run --help");
    command.add_option("--weights", weights,
                       "File or folder of weights; default: the installed npm package's, gigaam: random ones");
    precision.add_to(command);
    command.add_option("--vars", vars, "Sizes of the plan and the step, such as b=1,t=300");
    command.add_option("--config", options, "JSON file with options of the model");
    target.add_to(command);
  }

  /// What the model is made of and runs on.
  std::string subject_text(const PrepareConfig& config, bool dots) const {
    const auto found = find_model(model);
    return concat(target_text(config, dots), found ? precision.text(**found) : "");
  }

  Result<PreparedModel> prepare(const PrepareConfig& config) const {
    if (model.empty()) return tl::unexpected<JitError>(missing_argument(command_name, "MODEL"));
    TANDEM_TRY(found, find_model(model));
    TANDEM_TRY(values, sizes_of(*found, vars));
    TANDEM_TRY(stored, precision.of(*found));
    TANDEM_TRY(model_options, read_model_options(options));
    std::optional<WeightFile> seeded;
    if (weights.empty() && found->seeded_weights) {
      TANDEM_TRY(made, found->seeded_weights({"", model_options, {}}));
      seeded = std::move(made);
    }
    return found->prepare({weights, model_options, config, stored, values, seeded});
  }
};

/// A word of --stage.
struct StageName {
  const char* name;
  Stage stage;
  const char* target;  ///< The only target that has it; null: all have it.
};
constexpr StageName kStageNames[] = {
    {"graph", Stage::kGraph, nullptr},       {"rewritten", Stage::kRewritten, nullptr},
    {"schedule", Stage::kSchedule, nullptr}, {"kernel", Stage::kKernels, nullptr},
    {"c", Stage::kSource, "native"},         {"wat", Stage::kSource, "wasm"},
    {"tuning", Stage::kTuning, nullptr},
};

struct ShowCommand : Prepared {
  using Prepared::Prepared;
  std::string stage;

  Result<std::string> text() const {
    if (stage.empty()) return tl::unexpected<JitError>(missing_argument("show", "--stage"));
    // A stage that one target alone has says by itself which target is meant.
    TargetOptions chosen = target;
    if (const char* only = only_target(); only && chosen.target.empty()) chosen.target = only;
    if (stage == name_of(Stage::kTuning) && chosen.tune.empty()) chosen.tune = "true";
    TANDEM_TRY(config, chosen.config());
    if (stage == "asm" || stage == "wasm") return machine_code(config);
    for (const StageName& known : kStageNames)
      if (stage == known.name) return observed(config, known);
    return fail(
        ErrorCode::kInvalidArgument,
        concat("--stage is \"", stage, "\": use graph, rewritten, tuning, schedule, kernel, c, asm, wat or wasm"));
  }

 private:
  const char* only_target() const {
    if (stage == "asm") return "native";
    if (stage == "wasm") return "wasm";
    for (const StageName& known : kStageNames)
      if (stage == known.name) return known.target;
    return nullptr;
  }

  Result<void> need_target(const PrepareConfig& config, const char* name) const {
    if (!name || config.backend->name() == name) return {};
    return fail(ErrorCode::kInvalidArgument, concat("--stage ", stage, " needs --target ", name));
  }

  Result<std::string> observed(PrepareConfig config, const StageName& wanted) const {
    if (auto right = need_target(config, wanted.target); !right) return tl::unexpected<JitError>(right.error());
    std::string found;
    config.debug.observer = [&](Stage at, const std::string& text) {
      if (at == wanted.stage) found += text;
    };
    TANDEM_TRY(prepared, prepare(config));
    report_target_notes(config, multiplies_bfloat16(*prepared.session->plan()));
    return found;
  }

  /// Assembly text, or the bytes of the WebAssembly module.
  Result<std::string> machine_code(const PrepareConfig& config) const {
    if (auto right = need_target(config, stage == "asm" ? "native" : "wasm"); !right)
      return tl::unexpected<JitError>(right.error());
    TANDEM_TRY(prepared, prepare(config));
    const Plan& plan = *prepared.session->plan();
    report_target_notes(config, multiplies_bfloat16(plan));
    if (stage == "wasm") {
      const std::vector<uint8_t> bytes = plan.executable().binary();
      return std::string(bytes.begin(), bytes.end());
    }
    const auto capabilities = config.isa.empty() ? config.backend->capabilities() : *capabilities_named(config.isa);
    return static_cast<ClangBackend&>(*config.backend).assembly(plan.program(), capabilities);
  }
};

struct ProfileCommand : Prepared {
  using Prepared::Prepared;
  int64_t steps = 200;
  std::string format = "table";

  Result<std::string> text() const {
    if (format != "table" && format != "json" && format != "trace")
      return fail(ErrorCode::kInvalidArgument, concat("--format is \"", format, "\": use table, json or trace"));
    TANDEM_TRY(config, target.config());
    TANDEM_TRY(prepared, prepare(config));
    const bool dots = multiplies_bfloat16(*prepared.session->plan());
    report_target_notes(config, dots);
    std::vector<KernelProfile> best;
    for (int64_t i = 0; i < steps; ++i) {
      TANDEM_TRY(profiles, prepared.session->execute_profiled());
      if (best.empty()) best = profiles;
      for (size_t k = 0; k < best.size(); ++k) best[k].seconds = std::min(best[k].seconds, profiles[k].seconds);
    }
    settle_profile(best);
    if (format == "json") return profile_json(best);
    if (format == "trace") return profile_trace(best, concat(model, ", ", subject_text(config, dots)));
    return profile_table(best) + summary(best, *prepared.session->plan(), config);
  }

  std::string summary(const std::vector<KernelProfile>& profiles, const Plan& plan, const PrepareConfig& config) const {
    double total = 0;
    for (const KernelProfile& profile : profiles) total += profile.seconds;
    char line[512];
    const PlanStatistics& s = plan.statistics();
    std::snprintf(line, sizeof line,
                  "%zu calls, %.2f us in kernels at their fastest (%s)\nprepared in %.1f ms: schedule %.1f, compile "
                  "%.1f (%d units compiled, %d from the cache), weights %.1f\n",
                  profiles.size(), 1e6 * total, subject_text(config, multiplies_bfloat16(plan)).c_str(),
                  s.schedule_ms + s.compile_ms + s.prepare_ms, s.schedule_ms, s.compile_ms, s.compile.compiled_units,
                  s.compile.cached_units, s.prepare_ms);
    return line;
  }
};

template <typename Command>
void run_and_write(const Command& command, int& exit_code) {
  auto text = command.text();
  if (!text) {
    exit_code = report_error(text.error());
  } else if (auto written = write_standard_output(*text); !written) {
    exit_code = report_error(written.error());
  }
}

}  // namespace

void add_show_command(CLI::App& tool, int& exit_code) {
  const auto state = std::make_shared<ShowCommand>("show");
  CLI::App& command = *tool.add_subcommand("show", "Print a stage of a model's way to machine code");
  state->add_to(command);
  command.add_option(
      "--stage", state->stage,
      "graph, rewritten, tuning, schedule, kernel; with the target native c, asm; with the target wasm wat (text), "
      "wasm (the module's bytes)");
  command.callback([state, &exit_code] { run_and_write(*state, exit_code); });
}

void add_profile_command(CLI::App& tool, int& exit_code) {
  const auto state = std::make_shared<ProfileCommand>("profile");
  CLI::App& command = *tool.add_subcommand("profile", "Time the kernels of a model, one by one");
  state->add_to(command);
  add_whole_number(command, "--steps", state->steps, 1, kMostSteps, "How often; the fastest of each kernel counts");
  command.add_option("--format", state->format, "table, json, or trace (for chrome://tracing and Perfetto)")
      ->capture_default_str();
  command.callback([state, &exit_code] { run_and_write(*state, exit_code); });
}

}  // namespace tandem
