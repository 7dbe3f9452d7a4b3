#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/jit/prepare_config.h"
#include "core/jit/session.h"
#include "core/weights/weight_file.h"

namespace tandem {

/// What a model is run on.
struct ModelRequest {
  std::string weights;            ///< --weights, may be empty.
  const nlohmann::json& options;  ///< An object; empty without --config.
  PrepareConfig config;
};

/// A prepared model, for looking into it. `owner` keeps the session alive.
struct PreparedModel {
  std::shared_ptr<void> owner;
  Session* session = nullptr;
  std::function<Result<void>()> step;  ///< One step with all that its driver does.
  double prepare_ms = 0;               ///< How long preparing took, after the weights had been read.
};

/// A model that `tandem run`, `show` and `profile` know by name.
struct BuiltInModel {
  std::string name;
  std::string summary;  ///< Its inputs and outputs, for --help.
  /// Runs it on tensors by name. The result owns its bytes.
  std::function<Result<WeightFile>(const ModelRequest& request, const WeightFile& inputs)> run;
  /// Prepares one step, its inputs zero.
  std::function<Result<PreparedModel>(const ModelRequest& request)> prepare;
  /// Names of all inputs that `run` looks at, also those with "input." before them.
  std::vector<std::string> inputs;
  /// Without --weights, the weights are among the inputs.
  bool takes_weights_from_inputs = false;
};

const std::vector<BuiltInModel>& built_in_models();
/// kInvalidArgument lists the names.
Result<const BuiltInModel*> find_model(const std::string& name);

}  // namespace tandem
