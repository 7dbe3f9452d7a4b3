#pragma once

#include <CLI/App.hpp>

namespace tandem {

/// Each adds one command to the tool, with its options and help. When the command line names it, it runs and leaves its
/// exit code (see ExitCode) in `exit_code`.
void add_vad_command(CLI::App& tool, int& exit_code);
void add_segment_command(CLI::App& tool, int& exit_code);
void add_transcribe_command(CLI::App& tool, int& exit_code);
void add_run_command(CLI::App& tool, int& exit_code);
void add_convert_command(CLI::App& tool, int& exit_code);
void add_weights_command(CLI::App& tool, int& exit_code);
void add_show_command(CLI::App& tool, int& exit_code);
void add_profile_command(CLI::App& tool, int& exit_code);
void add_bench_command(CLI::App& tool, int& exit_code);

}  // namespace tandem
