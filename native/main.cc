// tandem: the command-line tool.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "native/command.h"
#include "native/printable.h"
#include "native/tool_options.h"

namespace {

constexpr const char* kFooter =
    "Exit codes: 0 success; 1 the machine failed (compiler, Node, memory, writing a file); 2 an option, file, weight "
    "or\n"
    "number is not right. Results go to standard output, all messages to standard error.";

constexpr const char* kEmptyValue = "the value is empty; give one, or leave the option out";

/// Has every option refuse an empty value, which would pass as one that was not given.
void need_values(CLI::App& tool) {
  for (CLI::App* command : tool.get_subcommands({}))
    for (CLI::Option* option : command->get_options()) {
      const bool has_value = option->get_items_expected_max() > 0 && !option->get_positional();
      if (has_value)
        option->check([](const std::string& value) { return value.empty() ? kEmptyValue : std::string(); });
    }
}

/// The parser takes the word after "--name=" for the value.
void refuse_empty_assignments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      throw CLI::ValidationError(std::string(word.substr(0, word.size() - 1)), kEmptyValue);
  }
}

/// "vad " when the first word is a command: what to put before --help.
std::string command_of(const CLI::App& tool, int argc, char** argv) {
  for (const CLI::App* command : tool.get_subcommands({}))
    if (argc > 1 && command->get_name() == argv[1]) return command->get_name() + " ";
  return "";
}

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
    need_values(tool);
    try {
      refuse_empty_assignments(argc, argv);
      tool.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return tool.exit(error);  // --help, --version
      std::fprintf(stderr, "tandem: %s; see tandem %s--help\n", tandem::printable(error.what()).c_str(),
                   command_of(tool, argc, argv).c_str());
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
