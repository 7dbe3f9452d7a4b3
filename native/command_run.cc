// tandem run: any built-in model on tensors by name.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "native/built_in_models.h"
#include "native/command.h"
#include "native/model_weights.h"
#include "native/read_files.h"
#include "native/tool_options.h"
#include "native/weight_files.h"

namespace tandem {
namespace {

constexpr std::string_view kPrefix = "input.";

bool is_marked(const WeightTensor& tensor) { return tensor.name.starts_with(kPrefix); }

bool takes(const BuiltInModel& model, const WeightTensor& tensor) {
  const std::string name = tensor.name.substr(is_marked(tensor) ? kPrefix.size() : 0);
  return std::find(model.inputs.begin(), model.inputs.end(), name) != model.inputs.end();
}

/// Tensors that the model does not look at are most often misspelt. A file that holds more than inputs has them marked
/// by "input.", for several models maybe: all else in it is meant for others.
void note_unused(const BuiltInModel& model, const WeightFile& inputs, bool holds_weights) {
  constexpr size_t kShown = 8;
  const std::vector<WeightTensor>& tensors = inputs.tensors();
  const bool holds_more = holds_weights || std::any_of(tensors.begin(), tensors.end(), is_marked);
  const auto is_used = [&](const WeightTensor& tensor) {
    if (!holds_more) return takes(model, tensor);
    const auto takes_it = [&](const BuiltInModel& any) { return takes(any, tensor); };
    return !is_marked(tensor) || std::any_of(built_in_models().begin(), built_in_models().end(), takes_it);
  };
  std::vector<std::string> unused;
  for (const WeightTensor& tensor : tensors)
    if (!is_used(tensor)) unused.push_back(tensor.name.substr(0, 120));
  if (unused.empty()) return;
  const size_t more = unused.size() - std::min(unused.size(), kShown);
  unused.resize(unused.size() - more);
  report_note(concat(model.name, " does not use these tensors of ", inputs.origin(), ": ", join(unused),
                     more == 0 ? "" : concat(" and ", more, " more")));
}

struct RunCommand {
  std::string model, weights, inputs, outputs, options;
  PrecisionOptions precision;
  TargetOptions target;

  Result<void> run() const {
    if (model.empty()) return tl::unexpected<JitError>(missing_argument("run", "MODEL"));
    if (inputs.empty()) return tl::unexpected<JitError>(missing_argument("run", "--inputs"));
    if (outputs.empty()) return tl::unexpected<JitError>(missing_argument("run", "--outputs"));
    TANDEM_TRY(found, find_model(model));
    TANDEM_TRY(model_options, read_model_options(options));
    TANDEM_TRY(input_file, read_weight_file(inputs));
    // Weights are read later: until then what is known is checked, before any work.
    if (auto free = check_not_read(outputs); !free) return free;
    TANDEM_TRY(config, target.config());
    TANDEM_TRY(stored, precision.of(*found));
    TANDEM_TRY(results, found->run({weights, model_options, config, stored}, input_file));
    note_unused(*found, input_file, takes_weights_from_inputs(*found));
    if (auto free = check_not_read(outputs); !free) return free;
    report_target_notes(config, results.bfloat16_dots);
    return write_safetensors_file(outputs, results.tensors.tensors());
  }

 private:
  bool takes_weights_from_inputs(const BuiltInModel& found) const {
    if (weights.empty()) return found.takes_weights_from_inputs;
    std::error_code ignored;
    return std::filesystem::equivalent(weights, inputs, ignored) ||
           std::filesystem::equivalent(std::filesystem::path(weights) / kModelFileName, inputs, ignored);
  }
};

std::string names_and_summaries() {
  std::string text = "Models:";
  for (const BuiltInModel& model : built_in_models()) text += concat("\n  ", model.name, ": ", model.summary);
  return text;
}

}  // namespace

void add_run_command(CLI::App& tool, int& exit_code) {
  const auto state = std::make_shared<RunCommand>();
  CLI::App& command = *tool.add_subcommand("run", "Run a built-in model on tensors by name");
  command.add_option("MODEL", state->model, "Name of the model, see below");
  command.add_option(
      "--weights", state->weights,
      "File or folder of weights; default: silero: the installed npm package's, gigaam: those in --inputs");
  state->precision.add_to(command);
  command.add_option("--inputs", state->inputs, "safetensors file with the inputs by name");
  command.add_option("--outputs", state->outputs, "safetensors file to write; - is standard output");
  command.add_option("--config", state->options, "JSON file with options of the model");
  state->target.add_to(command);
  command.footer(names_and_summaries());
  command.callback([state, &exit_code] {
    if (auto done = state->run(); !done) exit_code = report_error(done.error());
  });
}

}  // namespace tandem
