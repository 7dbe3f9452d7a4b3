#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <span>
#include <string>

#include "core/audio/segmentation.h"
#include "core/jit/prepare_config.h"
#include "core/jit/session.h"
#include "native/segment_output.h"

namespace tandem {

/// Exit codes of the tool.
enum ExitCode : int {
  kExitSuccess = 0,
  kExitFailure = 1,    ///< The machine: compiler, Node, memory, writing a file.
  kExitUserError = 2,  ///< An option, file, weight or number that is not right.
};
ExitCode exit_code_of(ErrorCode code);

/// "tandem: ..." on standard error; returns the exit code for it.
ExitCode report_error(const JitError& error);
/// kInvalidArgument: a command cannot run without this argument.
JitError missing_argument(const std::string& command, const std::string& name);
/// Most steps that a command times.
inline constexpr int64_t kMostSteps = 1'000'000;
/// "b=1,t=300" as values for the variables of a call; the names are views of `text`. A number beyond 64 bits becomes
/// the nearest that fits, which is beyond the bounds of every variable. kInvalidArgument for anything else.
Result<std::vector<VariableValue>> parse_variables(std::string_view text);
/// The same for one of several files, whose names stand in a report: the exit code and what the report says.
ExitCode report_failure(const JitError& error, SegmentReport& report);
/// "tandem: note: ..." on standard error.
void report_note(const std::string& note);
/// Writes all of it to standard output; kRuntime with the system's reason (a full disk, a closed pipe).
Result<void> write_standard_output(std::string_view text);
/// Standard output as binary or text that a person looks at?
bool error_is_terminal();

/// --target, --isa, --numerics, --bf16-dot, --tune. What is not given comes from the environment
/// (PrepareConfig::from_env); a variable whose option is given is not looked at.
struct TargetOptions {
  std::string target;
  std::string isa;
  std::string numerics;
  std::string bf16_dot;            ///< "true" or "false"; empty: not given.
  std::string tune;                ///< The same.
  std::optional<int64_t> threads;  ///< 0 to 1024; for commands that have --threads.

  void add_to(CLI::App& command);
  /// Registers the backends of this program and finds the wanted one. kInvalidArgument also for an instruction set that
  /// this machine or this target does not have.
  Result<PrepareConfig> config() const;

 private:
  /// A variable of the environment, unless an option stands above it.
  const char* environment(const char* name) const;
};
/// --threads, for commands whose work is worth more than one.
void add_threads_option(CLI::App& command, TargetOptions& options);
/// Does a plan have bf16 dot products?
bool multiplies_bfloat16(const Plan& plan);
/// "native avx512, fast": what a plan is made for. `dots`: it has bf16 dot products.
std::string target_text(const PrepareConfig& config, bool dots = false);
/// Notes samples far beyond full scale, which is 1: they were normalised in no usual way.
void note_high_peak(const std::string& file, std::span<const float> samples);
/// How long the recordings of a command last, and how long working on them and preparing took; seconds.
struct CommandTimes {
  double sound, compute, prepare;
};
/// The real-time factor on standard error; nothing when there was no sound. `dots`: of target_text.
void report_speed(const CommandTimes& times, const PrepareConfig& config, bool dots = false);
/// Notes what is known once the target is in use: that kernels are not cached, that TANDEM_WEIGHTS_DIR lacked a file.
/// `dots`, if known: that bf16 dot products were asked for and there are none.
void report_target_notes(const PrepareConfig& config, std::optional<bool> dots = std::nullopt);

/// The options that `vad` and `segment` share.
struct SegmentOptions {
  SegmentationOptions segmentation;
  double neg_threshold = 0;
  CLI::Option* neg_threshold_option = nullptr;
  std::string format = "text";
  bool probabilities = false;

  void add_to(CLI::App& command);
  /// Takes what was parsed into `segmentation` and checks what depends on more than one number.
  Result<SegmentFormat> finish();
};

}  // namespace tandem
