// tandem: the command-line tool.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "native/command.h"
#include "native/printable.h"
#include "native/tool_options.h"

namespace {

constexpr const char* kFooter =
    "Exit codes: 0 success; 1 the machine failed (compiler, Node, memory, writing a file); 2 an option, file, weight "
    "or\n"
    "number is not right. Results go to standard output, all messages to standard error.";

}  // namespace

int main(int argc, char** argv) {
  try {
    int exit_code = tandem::kExitSuccess;
    CLI::App tool("Speech models compiled while you wait: native code or WebAssembly, with the same answer.", "tandem");
    tool.require_subcommand(0, 1);
    tool.footer(kFooter);
    tool.set_version_flag("--version", "tandem " TANDEM_VERSION, "Print the version and exit");
    tandem::add_vad_command(tool, exit_code);
    tandem::add_segment_command(tool, exit_code);
    tandem::add_transcribe_command(tool, exit_code);
    tandem::add_run_command(tool, exit_code);
    tandem::add_convert_command(tool, exit_code);
    tandem::add_weights_command(tool, exit_code);
    tandem::add_show_command(tool, exit_code);
    tandem::add_profile_command(tool, exit_code);
    tandem::add_bench_command(tool, exit_code);
    try {
      tool.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return tool.exit(error);  // --help, --version
      const auto commands = tool.get_subcommands();
      const std::string command = commands.empty() ? "" : commands.front()->get_name() + " ";
      std::fprintf(stderr, "tandem: %s; see tandem %s--help\n", tandem::printable(error.what()).c_str(),
                   command.c_str());
      return tandem::kExitUserError;
    }
    if (tool.get_subcommands().empty()) {
      std::fprintf(stderr, "tandem: a command is missing; see tandem --help\n");
      return tandem::kExitUserError;
    }
    return exit_code;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tandem: out of memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
  }
  return tandem::kExitFailure;
}
