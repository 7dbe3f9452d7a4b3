// tandem convert: weights of an ONNX file as safetensors.

#include <memory>

#include "native/command.h"
#include "native/tool_options.h"
#include "native/weight_files.h"

namespace tandem {

void add_convert_command(CLI::App& tool, int& exit_code) {
  struct Paths {
    std::string from, to;
  };
  const auto paths = std::make_shared<Paths>();
  CLI::App& command = *tool.add_subcommand("convert", "Write the weights of an ONNX file as safetensors");
  command.add_option("IN", paths->from, "ONNX (or safetensors) file");
  command.add_option("OUT", paths->to, "safetensors file to write; - is standard output");
  command.callback([paths, &exit_code] {
    if (paths->to.empty()) {
      exit_code = report_error(missing_argument("convert", paths->from.empty() ? "IN" : "OUT"));
      return;
    }
    const auto lost = convert_weight_file(paths->from, paths->to);
    if (!lost) {
      exit_code = report_error(lost.error());
      return;
    }
    for (const std::string& sentence : *lost) report_note(sentence);
  });
}

}  // namespace tandem
