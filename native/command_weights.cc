// tandem weights: what a weight file holds, and whether a model can use it.

#include <cstdio>
#include <memory>

#include "core/base/text.h"
#include "core/models/gigaam_weights.h"
#include "native/command.h"
#include "native/counted.h"
#include "native/model_weights.h"
#include "native/speech_files.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

std::string size_text(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return bytes < 100000 ? concat(bytes, " bytes") : text;
}

std::string list_text(const std::string& title, const std::vector<std::string>& entries) {
  std::string text = concat(title, ": ", entries.size(), "\n");
  for (const std::string& entry : entries) text += concat("  ", entry, "\n");
  return text;
}

struct WeightsCommand {
  std::string path, config_path;

  Result<void> run() const {
    if (path.empty()) return tl::unexpected<JitError>(missing_argument("weights", "FILE"));
    TANDEM_TRY(file, read_model_weights(path));
    std::string text;
    size_t total = 0;
    for (const WeightTensor& tensor : file.tensors()) {
      text += concat(tensor.name, " ", tensor.type_text(), " ", size_text(tensor.bytes.size()), "\n");
      total += tensor.bytes.size();
    }
    for (const auto& [name, reason] : file.unreadable()) text += concat(name, " cannot be read: ", reason, "\n");
    text += concat(file.tensors().size(), " tensors, ", size_text(total), "\n");
    const auto config = find_gigaam_config(path, file, config_path);
    if (!config && !config_path.empty()) return tl::unexpected<JitError>(config.error());
    if (!config) {
      text += config.error().code == ErrorCode::kNotFound
                  ? "No configuration: give one with --config to see what a GigaAM model misses\n"
                  : concat("The configuration cannot be used: ", config.error().message, "\n");
      return write_standard_output(text);
    }
    const GigaAmWeightCheck check = check_gigaam_weights(file, *config);
    text += list_text("Missing", check.missing) + list_text("Wrong", check.wrong) + list_text("Surplus", check.surplus);
    if (check.fits() && !check.surplus.empty())
      text += concat("The weights have all that the configuration needs; it leaves ",
                     counted(check.surplus.size(), "tensor"), " unused, as that of a smaller model would\n");
    else
      text += check.fits() ? "The weights fit the configuration\n" : "The weights do not fit the configuration\n";
    return write_standard_output(text);
  }
};

}  // namespace

void add_weights_command(CLI::App& tool, int& exit_code) {
  const auto state = std::make_shared<WeightsCommand>();
  CLI::App& command =
      *tool.add_subcommand("weights", "List the tensors of a weight file, and what a GigaAM model misses");
  command.add_option("FILE", state->path, "safetensors or ONNX file, index of several, or a folder with one");
  command.add_option("--config", state->config_path,
                     "JSON file with the model's configuration; default: the file's own, or config.json beside it");
  command.callback([state, &exit_code] {
    if (auto done = state->run(); !done) exit_code = report_error(done.error());
  });
}

}  // namespace tandem
