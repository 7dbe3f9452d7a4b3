#include "native/built_in_models.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/json_input.h"
#include "core/base/text.h"
#include "native/byte_input.h"
#include "native/gigaam_models.h"
#include "native/silero_target.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

/// An option that no model takes must not be lost in silence.
Result<void> no_options(const std::string& model, const nlohmann::json& options) {
  if (options.empty()) return {};
  return fail(ErrorCode::kInvalidArgument,
              concat("--config has \"", options.begin().key(), "\", but ", model, " takes no options"));
}

/// The f32 vector `name` of the inputs.
Result<std::vector<float>> vector_input(const WeightFile& inputs, const std::string& name) {
  const WeightTensor* tensor = find_input(inputs, name);
  if (tensor == nullptr) return tl::unexpected<JitError>(inputs.get(name).error());
  if (tensor->shape.size() != 1 || tensor->dtype != DType::kF32)
    return fail(ErrorCode::kDtypeMismatch, concat(inputs.origin(), ": tensor \"", tensor->name, "\" is ",
                                                  tensor->type_text(), "; f32 with one axis is needed"));
  return tensor->values<float>();
}

void add_output(WeightFile& outputs, const std::string& name, std::span<const float> values) {
  const auto owner = std::make_shared<std::vector<float>>(values.begin(), values.end());
  WeightTensor tensor;
  tensor.name = name;
  tensor.shape = {static_cast<int64_t>(owner->size())};
  tensor.bytes = std::as_bytes(std::span<const float>(*owner));
  outputs.keep(owner);
  if (auto added = outputs.add(std::move(tensor)); !added) throw InternalError(added.error().message);
}

Result<ModelOutputs> run_silero(SileroVad& vad, const WeightFile& inputs) {
  TANDEM_TRY(samples, vector_input(inputs, "samples"));
  std::vector<float> probabilities;
  if (auto pushed = vad.push(samples, probabilities); !pushed)
    return fail(pushed.error().code, concat(inputs.origin(), ": samples: ", pushed.error().message));
  if (auto flushed = vad.flush(probabilities); !flushed) return tl::unexpected<JitError>(flushed.error());
  TANDEM_TRY(h, vad.h());
  TANDEM_TRY(c, vad.c());
  WeightFile outputs;
  add_output(outputs, "probabilities", probabilities);
  add_output(outputs, "h", h);
  add_output(outputs, "c", c);
  return ModelOutputs{std::move(outputs), multiplies_bfloat16(*vad.jit().session().plan())};
}

BuiltInModel silero(const std::string& version, int64_t rate) {
  BuiltInModel model;
  model.name = concat("silero-", version, rate == 16000 ? "-16k" : "-8k");
  model.summary = "samples f32 [n] -> probabilities f32 [windows], h and c f32 [128]";
  model.inputs = {"samples"};
  model.weights_dtypes = {DType::kF32, DType::kF16, DType::kBF16};
  const auto load = [name = model.name, version, rate](const ModelRequest& request) -> Result<SileroVad> {
    if (auto checked = no_options(name, request.options); !checked) return tl::unexpected<JitError>(checked.error());
    TANDEM_TRY(weights, load_silero_weights(version, rate, request.weights));
    weights.kept = request.precision.weights;
    return SileroVad::create(weights, request.config);
  };
  model.run = [load](const ModelRequest& request, const WeightFile& inputs) -> Result<ModelOutputs> {
    TANDEM_TRY(vad, load(request));
    return run_silero(vad, inputs);
  };
  model.prepare = [name = model.name, version, rate](const ModelRequest& request) -> Result<PreparedModel> {
    if (auto checked = no_options(name, request.options); !checked) return tl::unexpected<JitError>(checked.error());
    TANDEM_TRY(weights, load_silero_weights(version, rate, request.weights));
    weights.kept = request.precision.weights;
    const auto start = std::chrono::steady_clock::now();
    TANDEM_TRY(vad, SileroVad::create(weights, request.config));
    const double taken = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    const auto owner = std::make_shared<SileroVad>(std::move(vad));
    std::vector<float> window(static_cast<size_t>(owner->window()));
    for (size_t i = 0; i < window.size(); i++) window[i] = 0.3f * std::sin(0.05f * static_cast<float>(i));
    const auto step = [owner, window]() -> Result<void> {
      if (auto probability = owner->step(window); !probability) return tl::unexpected<JitError>(probability.error());
      return {};
    };
    return PreparedModel{owner, &owner->jit().session(), step, taken};
  };
  return model;
}

}  // namespace

const std::vector<BuiltInModel>& built_in_models() {
  static const std::vector<BuiltInModel> models = [] {
    std::vector<BuiltInModel> all = {silero("v5", 16000), silero("v5", 8000), silero("v6", 16000), silero("v6", 8000)};
    for (BuiltInModel& model : gigaam_models()) all.push_back(std::move(model));
    return all;
  }();
  return models;
}

const WeightTensor* find_input(const WeightFile& inputs, const std::string& name) {
  const WeightTensor* tensor = inputs.find("input." + name);
  return tensor != nullptr ? tensor : inputs.find(name);
}

Result<nlohmann::json> read_model_options(const std::string& path) {
  if (path.empty()) return nlohmann::json();
  TANDEM_TRY(bytes, read_all_bytes(path, kMostJsonBytes));
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  TANDEM_TRY(options, parse_json({begin, bytes.size()}, path));
  if (!options.is_object())
    return fail(ErrorCode::kInvalidFormat, concat("the options in ", path, " are not a JSON object"));
  return std::move(options);
}

void add_activations_option(CLI::App& command, std::string& text) {
  command.add_option(
      "--activations", text,
      "What products read of values that a step computes: f32 (default), or rounded to bf16, for bf16 dot products");
}

Result<DType> parse_activations(const std::string& text) {
  if (text.empty() || text == "f32") return DType::kF32;
  if (text == "bf16") return DType::kBF16;
  return fail(ErrorCode::kInvalidArgument, concat("--activations is \"", text, "\": use f32 or bf16"));
}

void PrecisionOptions::add_to(CLI::App& command) {
  command.add_option("--weights-dtype", weights_dtype,
                     "What weights are kept as: f32, f16, bf16 or i8; default: as they are stored (silero: not i8)");
  add_activations_option(command, activations);
}

namespace {

/// `choice` begins the list of what is allowed.
Result<std::optional<DType>> parse_dtype(const std::string& text, const std::vector<DType>& allowed,
                                         const std::string& choice) {
  if (text.empty()) return std::nullopt;
  const std::optional<DType> dtype = dtype_named(text == "int8" ? "i8" : text);
  std::vector<std::string> names;
  for (const DType one : allowed) {
    if (dtype == one) return dtype;
    names.emplace_back(name_of(one));
  }
  return fail(ErrorCode::kInvalidArgument, concat("--weights-dtype is \"", text, "\": ", choice, " ", join(names)));
}

Result<std::optional<DType>> weights_dtype_of(const BuiltInModel& model, const std::string& text) {
  if (!model.weights_dtypes.empty())
    return parse_dtype(text, model.weights_dtypes, concat("the weights of ", model.name, " can be kept as"));
  auto parsed = parse_weights_dtype(text);
  if (!parsed || !*parsed) return parsed;
  report_note(concat("--weights-dtype has no effect: ", model.name, " has no weights"));
  return std::nullopt;
}

}  // namespace

Result<std::optional<DType>> parse_weights_dtype(const std::string& text) {
  return parse_dtype(text, all_weights_dtypes(), "use");
}

Result<Precision> PrecisionOptions::of(const BuiltInModel& model) const {
  TANDEM_TRY(weights, weights_dtype_of(model, weights_dtype));
  TANDEM_TRY(stored, parse_activations(activations));
  if (stored != DType::kF32 && !model.rounds_activations)
    return fail(ErrorCode::kInvalidArgument, concat("--activations is ", activations, ", but ", model.name,
                                                    " has no such choice: it computes in f32"));
  return Precision{weights, stored};
}

std::string PrecisionOptions::text(const BuiltInModel& model) const {
  std::string text = model.weights_dtypes.empty() ? "" : ", weights " + weights_text();
  if (model.rounds_activations) text += ", activations " + (activations.empty() ? "f32" : activations);
  return text;
}

Result<const BuiltInModel*> find_model(const std::string& name) {
  std::vector<std::string> names;
  for (const BuiltInModel& model : built_in_models()) {
    if (model.name == name) return &model;
    names.push_back(model.name);
  }
  return fail(ErrorCode::kInvalidArgument, concat("unknown model \"", name, "\"; there are ", join(names)));
}

Result<std::map<std::string, int64_t>> sizes_of(const BuiltInModel& model, const std::string& text) {
  TANDEM_TRY(values, parse_variables(text));
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, value] : values) {
    if (std::find(model.variables.begin(), model.variables.end(), name) == model.variables.end())
      return fail(ErrorCode::kVariable,
                  concat("--vars names \"", name, "\", but ", model.name, " has ",
                         model.variables.empty() ? "no variables" : concat("the variables ", join(model.variables))));
    if (!sizes.emplace(name, value).second)
      return fail(ErrorCode::kVariable, concat("--vars names \"", name, "\" twice"));
  }
  return sizes;
}

}  // namespace tandem
