#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tandem {

/// The stages of preparing, in order; the number is the debug level from which a stage is printed (level_of).
enum class Stage : int {
  kSummary = 1,    ///< One line: times, kernels, bytes.
  kGraph = 2,      ///< The graph as the build function made it.
  kRewritten = 3,  ///< The graph after the rewrite rules.
  kSchedule = 4,   ///< Groups with reasons, buffers, calls.
  kKernels = 5,    ///< Kernel IR.
  kSource = 6,     ///< What the backend compiles: C, WebAssembly text.
  kTuning = 7,     ///< What PrepareConfig::tune measured; before the schedule, and printed from level 1 on.
};
inline constexpr int kMaxDebugLevel = 6;
/// "summary", "graph", "rewritten", "schedule", "kernel", "source", "tuning".
std::string_view name_of(Stage stage);
constexpr int level_of(Stage stage) { return stage == Stage::kTuning ? 1 : static_cast<int>(stage); }

/// Where the texts of the stages go.
struct DebugOptions {
  int level = 0;       ///< Stages up to this number go to stderr.
  std::string folder;  ///< All stages go to files here, `NAME.N-stage.txt`; made when it is missing; empty: none.
  /// All stages go here as well.
  std::function<void(Stage stage, const std::string& text)> observer;

  /// Does anyone want the text of this stage?
  bool wants(Stage stage) const { return level >= level_of(stage) || !folder.empty() || observer; }
};

/// The one place through which texts of stages leave. `name` is the wrapper's; in a file's name, blanks and
/// what a shell would read are '_'. Writes what it can: a folder that can't be written to costs a line on stderr, never
/// the plan.
void show_stage(const DebugOptions& options, const std::string& name, Stage stage, const std::string& text);

}  // namespace tandem
