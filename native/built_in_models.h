#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/jit/prepare_config.h"
#include "core/jit/session.h"
#include "core/weights/weight_file.h"

namespace tandem {

/// What numbers are stored as.
struct Precision {
  std::optional<DType> weights = {};  ///< What weights are kept as; empty: as they are stored.
  DType activations = DType::kF32;    ///< What products read of values that a step computes: f32 or bf16.
};

/// What a model is run on.
struct ModelRequest {
  std::string weights;            ///< --weights, may be empty.
  const nlohmann::json& options;  ///< An object; null without --config.
  PrepareConfig config;
  Precision precision = {};
  std::map<std::string, int64_t> variables = {};  ///< Sizes of the step that is prepared.
  std::optional<WeightFile> weight_file = {};     ///< Has been read already: `weights` isn't looked at.

  int64_t variable(const std::string& name, int64_t otherwise) const {
    const auto found = variables.find(name);
    return found == variables.end() ? otherwise : found->second;
  }
};

/// A prepared model, for looking into it. `owner` keeps the session alive.
struct PreparedModel {
  std::shared_ptr<void> owner;
  Session* session = nullptr;
  std::function<Result<void>()> step;  ///< One step with all that its driver does.
  double prepare_ms = 0;               ///< How long preparing took, after the weights had been read.
};

/// What a run gives. The tensors own their bytes.
struct ModelOutputs {
  WeightFile tensors;
  std::optional<bool> bfloat16_dots = {};  ///< The plan has them; empty: there was nothing to run.
};

/// A model that `tandem run`, `show` and `profile` know by name.
struct BuiltInModel {
  std::string name;
  std::string summary;  ///< Its inputs and outputs, for --help.
  /// Runs it on tensors by name.
  std::function<Result<ModelOutputs>(const ModelRequest& request, const WeightFile& inputs)> run;
  /// Prepares one step. Its inputs are zero, or noise where zeros would cost less.
  std::function<Result<PreparedModel>(const ModelRequest& request)> prepare;
  /// Names of all inputs that `run` looks at, also those with "input." before them.
  std::vector<std::string> inputs;
  /// Without --weights, the weights are among the inputs.
  bool takes_weights_from_inputs = false;
  /// What its weights may be kept as; empty: it has none.
  std::vector<DType> weights_dtypes = {};
  /// Its activations may be bf16.
  bool rounds_activations = false;
  /// Names of the sizes that ModelRequest::variables may hold.
  std::vector<std::string> variables = {};
  /// Random weights for measuring, of the published size or the configuration's; empty: the model has weights.
  std::function<Result<WeightFile>(const ModelRequest& request)> seeded_weights = {};
};

const std::vector<BuiltInModel>& built_in_models();
/// Everything that weights of some model may be kept as.
inline std::vector<DType> all_weights_dtypes() { return {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}; }
/// The tensor "input.NAME", else "NAME"; null when there is neither.
const WeightTensor* find_input(const WeightFile& inputs, const std::string& name);
/// The options of a model in a JSON file: an object; null without a path. kInvalidFormat, kNotFound.
Result<nlohmann::json> read_model_options(const std::string& path);
/// --weights-dtype and --activations as they were given; empty: the default.
struct PrecisionOptions {
  std::string weights_dtype;  ///< One of the model's; int8 is i8.
  std::string activations;    ///< f32 or bf16.

  void add_to(CLI::App& command);
  /// kInvalidArgument for other words, and for bf16 activations of a model that has no such choice. What has no effect
  /// is a note.
  Result<Precision> of(const BuiltInModel& model) const;
  /// ", weights as stored, activations f32": what `model` has of the two.
  std::string text(const BuiltInModel& model) const;
  std::string weights_text() const { return weights_dtype.empty() ? "as stored" : weights_dtype; }
};
/// --activations alone, for a command whose model has them.
void add_activations_option(CLI::App& command, std::string& text);
Result<DType> parse_activations(const std::string& text);
/// --weights-dtype of a model that may have all of them; empty: as the weights are stored.
Result<std::optional<DType>> parse_weights_dtype(const std::string& text);
/// kInvalidArgument lists the names.
Result<const BuiltInModel*> find_model(const std::string& name);

/// Values of the model's sizes in a text such as "b=1,t=300": kVariable for a name that it does not have, or has twice.
Result<std::map<std::string, int64_t>> sizes_of(const BuiltInModel& model, const std::string& text);

}  // namespace tandem
