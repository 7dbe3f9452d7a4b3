#pragma once

#include <CLI/App.hpp>
#include <string>

#include "core/audio/segmentation.h"
#include "core/jit/prepare_config.h"
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
JitError missing_argument(const std::string& name);
/// "tandem: note: ..." on standard error.
void report_note(const std::string& note);
/// Writes all of it to standard output; kRuntime with the system's reason (a full disk, a closed pipe).
Result<void> write_standard_output(std::string_view text);
/// Standard output as binary or text that a person looks at?
bool error_is_terminal();

/// --target, --isa, --numerics. What is not given comes from the environment (PrepareConfig::from_env).
struct TargetOptions {
  std::string target;
  std::string isa;
  std::string numerics;

  void add_to(CLI::App& command);
  /// Registers the backends of this program and finds the wanted one. kInvalidArgument also for an instruction set that
  /// this machine or this target does not have.
  Result<PrepareConfig> config() const;
};
/// "native avx512, fast": what a plan is made for.
std::string target_text(const PrepareConfig& config);
/// Notes what the target has to say once it is in use: that kernels are not cached.
void report_target_notes(const PrepareConfig& config);

/// The options that `vad` and `segment` share.
struct SegmentOptions {
  SegmentationOptions segmentation;
  double neg_threshold = 0;
  CLI::Option* neg_threshold_option = nullptr;
  std::string format = "text";
  bool probabilities = false;

  void add_to(CLI::App& command);
  /// Takes what was parsed into `segmentation` and checks it all.
  Result<SegmentFormat> finish();
};

}  // namespace tandem
