#include "native/gigaam_models.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/audio/finite.h"
#include "core/base/text.h"
#include "core/models/gigaam.h"
#include "native/model_weights.h"
#include "native/seeded_weights.h"
#include "native/speech_files.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

/// Mel frames that a plan is made for when it is only looked at: 5.7 seconds.
constexpr int64_t kShownFrames = 569;

template <typename T>
void add(WeightFile& outputs, const std::string& name, std::vector<int64_t> shape, std::vector<T> values) {
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  WeightTensor tensor;
  tensor.name = name;
  tensor.dtype = dtype_of<T>;
  tensor.shape = std::move(shape);
  tensor.bytes = std::as_bytes(std::span<const T>(*owner));
  outputs.keep(owner);
  if (auto added = outputs.add(std::move(tensor)); !added) throw InternalError(added.error().message);
}

/// Checked input of a kind.
template <typename T>
Result<std::vector<T>> input_values(const WeightFile& inputs, const WeightTensor& tensor, size_t rank) {
  if (tensor.dtype != dtype_of<T> || tensor.shape.size() != rank)
    return fail(ErrorCode::kDtypeMismatch,
                concat(inputs.origin(), ": tensor \"", tensor.name, "\" is ", tensor.type_text(), "; ",
                       name_of(dtype_of<T>), " with ", rank, " axes is needed"));
  return tensor.values<T>();
}

/// What a request asks for: the configuration and the weights.
struct Source {
  WeightFile weights;
  GigaAmConfig config;
};

/// The configuration of --config, else that of the weights, else the metadata of `inputs`.
Result<GigaAmConfig> config_of(const ModelRequest& request, const WeightFile& weights, const WeightFile& inputs) {
  if (!request.options.is_null()) return parse_gigaam_config(request.options.dump(), "--config");
  const bool named = !request.weights.empty();
  auto config = named ? find_gigaam_config(request.weights, weights, "") : gigaam_config_of(weights);
  if (config || config.error().code != ErrorCode::kNotFound) return config;
  if (!named)
    return fail(ErrorCode::kNotFound, concat("--weights is missing: this model has no weights of its own; name a file "
                                             "or folder of safetensors that holds its configuration"));
  auto other = gigaam_config_of(inputs);
  return other || other.error().code != ErrorCode::kNotFound ? other : config;
}

/// Weights from --weights or else from `inputs`, and their configuration.
Result<Source> source_of(const ModelRequest& request, const WeightFile& inputs) {
  Source source{inputs, {}};
  if (request.weight_file) {
    source.weights = *request.weight_file;
  } else if (!request.weights.empty()) {
    TANDEM_TRY(file, read_model_weights(request.weights));
    source.weights = std::move(file);
  }
  TANDEM_TRY(config, config_of(request, source.weights, inputs));
  source.config = std::move(config);
  return source;
}

void note_surplus(const Source& source) {
  if (const std::string surplus = surplus_text(source.weights, source.config); !surplus.empty()) report_note(surplus);
}

/// A batch of log-mel.
struct Mel {
  std::vector<float> values;
  std::vector<int32_t> lengths;
  int64_t features = 0, t = 0;

  int64_t lanes() const { return static_cast<int64_t>(lengths.size()); }
  MelBatch batch() const { return {values, lengths, t}; }
};

/// The log-mel of `input.pcm`: one lane; no frames when the clip is too short for one.
Result<Mel> mel_of_samples(const MelConfig& config, const WeightFile& inputs, const PrepareConfig& target) {
  const WeightTensor* tensor = find_input(inputs, "pcm");
  if (tensor == nullptr)
    return fail(
        ErrorCode::kNotFound,
        concat(inputs.origin(), " has no \"pcm\" (i16 [n]), also not as \"input.pcm\"; it has ", inputs.listing()));
  TANDEM_TRY(samples, input_values<int16_t>(inputs, *tensor, 1));
  const auto n = static_cast<int64_t>(samples.size());
  Mel mel;
  mel.features = config.features;
  mel.t = config.frames(n);
  mel.lengths = {static_cast<int32_t>(mel.t)};
  if (mel.t == 0) return mel;
  GigaAmMelJit jit{MelFrontEnd(config)};
  jit.with_n_fixed(n);
  if (auto done = jit.prepare_with_config(InputSpec{{n}, DType::kI16}, target); !done)
    return tl::unexpected<JitError>(done.error());
  TANDEM_TRY(buffer, jit.samples_mut());
  if (auto done = buffer.copy_from(samples); !done) return tl::unexpected<JitError>(done.error());
  if (auto done = jit.execute(); !done) return tl::unexpected<JitError>(done.error());
  TANDEM_TRY(output, jit.log_mel());
  TANDEM_TRY(values, output.to_vector<float>());
  mel.values = std::move(values);
  return mel;
}

/// `input.mel` with its lengths, or else the log-mel of `input.pcm`.
Result<Mel> mel_of(const GigaAmConfig& config, const WeightFile& inputs, const PrepareConfig& target) {
  const WeightTensor* tensor = find_input(inputs, "mel");
  if (tensor == nullptr) {
    auto mel = mel_of_samples(config.mel, inputs, target);
    if (!mel && mel.error().code == ErrorCode::kNotFound)
      return fail(ErrorCode::kNotFound, concat(inputs.origin(),
                                               " has neither \"mel\" (f32 [b, features, t]) nor \"pcm\" (i16 "
                                               "[n]), also not as \"input.mel\" or \"input.pcm\"; it has ",
                                               inputs.listing()));
    return mel;
  }
  if (const WeightTensor* samples = find_input(inputs, "pcm"))
    report_note(concat(inputs.origin(), " has \"", tensor->name, "\" and \"", samples->name, "\": \"", tensor->name,
                       "\" is used, \"", samples->name, "\" is not read"));
  TANDEM_TRY(values, input_values<float>(inputs, *tensor, 3));
  if (tensor->shape[1] != config.mel.features)
    return fail(ErrorCode::kInvalidFormat,
                concat(inputs.origin(), ": tensor \"", tensor->name, "\" is ", tensor->type_text(), "; the model has ",
                       config.mel.features, " mel bands"));
  Mel mel{std::move(values), {}, tensor->shape[1], tensor->shape[2]};
  mel.lengths.assign(static_cast<size_t>(tensor->shape[0]), static_cast<int32_t>(mel.t));
  if (const WeightTensor* lengths = find_input(inputs, "mel_lengths")) {
    TANDEM_TRY(given, input_values<int32_t>(inputs, *lengths, 1));
    if (given.size() != mel.lengths.size())
      return fail(ErrorCode::kInvalidFormat, concat(inputs.origin(), ": ", given.size(), " mel_lengths for ",
                                                    mel.lengths.size(), " lanes of mel"));
    mel.lengths = given;
  }
  return mel;
}

void add_encoded(WeightFile& outputs, EncodedFrames& batch) {
  const auto b = static_cast<int64_t>(batch.encoded_lengths.size());
  add(outputs, "encoded", {b, batch.frames, batch.width}, std::move(batch.encoded));
  add(outputs, "encoded_lengths", {b}, batch.encoded_lengths);
}

/// Tokens and frames padded with -1 to the longest lane.
void add_sequences(WeightFile& outputs, const std::vector<TokenSequence>& sequences) {
  size_t longest = 0;
  for (const TokenSequence& sequence : sequences) longest = std::max(longest, sequence.tokens.size());
  std::vector<int32_t> tokens, frames, counts;
  const auto append = [longest](std::vector<int32_t>& to, const std::vector<int32_t>& row) {
    to.insert(to.end(), row.begin(), row.end());
    to.insert(to.end(), longest - row.size(), -1);
  };
  for (const TokenSequence& sequence : sequences) {
    append(tokens, sequence.tokens);
    append(frames, sequence.frames);
    counts.push_back(static_cast<int32_t>(sequence.tokens.size()));
  }
  const auto b = static_cast<int64_t>(sequences.size()), width = static_cast<int64_t>(longest);
  add(outputs, "tokens", {b, width}, std::move(tokens));
  add(outputs, "frames", {b, width}, std::move(frames));
  add(outputs, "token_counts", {b}, std::move(counts));
}

Result<std::shared_ptr<const GigaAmModel>> model_of(Source& source, const ModelRequest& request,
                                                    std::optional<GigaAmHead> head) {
  if (!head) source.config.head.reset();
  if (head && (!source.config.head || source.config.head->kind != *head))
    return fail(
        ErrorCode::kInvalidArgument,
        concat(source.config.origin, " has ", source.config.head ? "another" : "no", " head; ",
               *head == GigaAmHead::kCtc ? "gigaam-ctc and gigaam-e2e need \"ctc\"" : "gigaam-rnnt needs \"rnnt\""));
  return GigaAmModel::make(source.weights, source.config, {request.precision.weights, request.precision.activations});
}

/// What a batch without a frame gives: sound that is too short for one has an empty transcript.
RecognizedBatch without_frames(const GigaAmConfig& config, int64_t lanes) {
  RecognizedBatch batch;
  batch.width = config.encoder->d_model;
  batch.encoded_lengths.assign(static_cast<size_t>(lanes), 0);
  batch.sequences.resize(static_cast<size_t>(lanes));
  if (config.head) batch.score_width = config.head->num_classes;
  return batch;
}

/// `dots` becomes whether the plan has bf16 dot products; as it was without a plan.
Result<EncodedFrames> encode(const std::shared_ptr<const GigaAmModel>& model, const Mel& mel,
                             const PrepareConfig& config, std::optional<bool>& dots) {
  if (mel.t == 0) return without_frames(model->config, mel.lanes());
  TANDEM_TRY(encoder, GigaAmEncoder::create(model, {mel.lanes(), mel.t, true}, config));
  dots = multiplies_bfloat16(*encoder.jit().session().plan());
  return encoder.encode(mel.batch());
}

Result<RecognizedBatch> recognize(const std::shared_ptr<const GigaAmModel>& model, const Mel& mel,
                                  const PrepareConfig& config, std::optional<bool>& dots) {
  if (mel.t == 0) return without_frames(model->config, mel.lanes());
  TANDEM_TRY(recognizer, GigaAmRecognizer::create(model, {mel.lanes(), mel.t, true}, config));
  dots = multiplies_bfloat16(*recognizer.jit().session().plan());
  return recognizer.recognize(mel.batch());
}

Result<ModelOutputs> run_mel(const ModelRequest& request, const WeightFile& inputs) {
  TANDEM_TRY(source, source_of(request, inputs));
  TANDEM_TRY(mel, mel_of_samples(source.config.mel, inputs, request.config));
  ModelOutputs outputs{{}, false};
  add(outputs.tensors, "log_mel", {mel.features, mel.t}, std::move(mel.values));
  return outputs;
}

Result<ModelOutputs> run_encoder(const ModelRequest& request, const WeightFile& inputs) {
  TANDEM_TRY(source, source_of(request, inputs));
  note_surplus(source);
  TANDEM_TRY(model, model_of(source, request, {}));
  TANDEM_TRY(mel, mel_of(source.config, inputs, request.config));
  ModelOutputs outputs;
  TANDEM_TRY(batch, encode(model, mel, request.config, outputs.bfloat16_dots));
  add_encoded(outputs.tensors, batch);
  return outputs;
}

Result<ModelOutputs> run_head(const ModelRequest& request, const WeightFile& inputs, GigaAmHead head) {
  TANDEM_TRY(source, source_of(request, inputs));
  note_surplus(source);
  TANDEM_TRY(model, model_of(source, request, head));
  TANDEM_TRY(mel, mel_of(source.config, inputs, request.config));
  ModelOutputs outputs;
  TANDEM_TRY(batch, recognize(model, mel, request.config, outputs.bfloat16_dots));
  if (head == GigaAmHead::kCtc)
    add(outputs.tensors, "log_probs", {mel.lanes(), batch.frames, batch.score_width}, std::move(batch.scores));
  add_sequences(outputs.tensors, batch.sequences);
  add_encoded(outputs.tensors, batch);
  return outputs;
}

/// Samples to tokens in one plan.
Result<ModelOutputs> run_speech(const ModelRequest& request, const WeightFile& inputs) {
  TANDEM_TRY(source, source_of(request, inputs));
  note_surplus(source);
  TANDEM_TRY(model, model_of(source, request, GigaAmHead::kCtc));
  const WeightTensor* tensor = find_input(inputs, "pcm");
  if (tensor == nullptr)
    return fail(
        ErrorCode::kNotFound,
        concat(inputs.origin(), " has no \"pcm\" (i16 [n]), also not as \"input.pcm\"; it has ", inputs.listing()));
  TANDEM_TRY(samples, input_values<int16_t>(inputs, *tensor, 1));
  const auto n = static_cast<int64_t>(samples.size());
  const int64_t features = source.config.mel.features, classes = source.config.head->num_classes;
  std::optional<bool> dots;
  WeightFile outputs;
  EncodedFrames batch;
  batch.width = source.config.encoder->d_model;
  std::vector<float> log_mel, scores;
  if (source.config.mel.frames(n) > 0) {
    GigaAmSpeechJit jit(model);
    jit.with_n_fixed(n);
    if (auto done = jit.prepare_with_config(InputSpec{{n}, DType::kI16}, request.config); !done)
      return tl::unexpected<JitError>(done.error());
    dots = multiplies_bfloat16(*jit.session().plan());
    TANDEM_TRY(buffer, jit.samples_mut());
    if (auto done = buffer.copy_from(samples); !done) return tl::unexpected<JitError>(done.error());
    if (auto done = jit.execute(); !done) return tl::unexpected<JitError>(done.error());
    TANDEM_TRY(mel_output, jit.log_mel_view<float>());
    TANDEM_TRY(encoded_output, jit.encoded_view<float>());
    TANDEM_TRY(scores_output, jit.scores_view<float>());
    log_mel.assign(mel_output.begin(), mel_output.end());
    batch.encoded.assign(encoded_output.begin(), encoded_output.end());
    scores.assign(scores_output.begin(), scores_output.end());
    batch.frames = static_cast<int64_t>(scores.size()) / classes;
  }
  batch.encoded_lengths = {static_cast<int32_t>(batch.frames)};
  if (auto checked = check_finite_rows("scores", {scores, classes}, batch, *model, log_mel); !checked)
    return tl::unexpected<JitError>(checked.error());
  add_sequences(outputs, ctc_greedy_batch(scores, batch.frames, classes, batch.encoded_lengths));
  const auto mel_frames = static_cast<int64_t>(log_mel.size()) / features;
  add(outputs, "log_mel", {features, mel_frames}, std::move(log_mel));
  add(outputs, "log_probs", {1, batch.frames, classes}, std::move(scores));
  add_encoded(outputs, batch);
  return ModelOutputs{std::move(outputs), dots};
}

using Clock = std::chrono::steady_clock;

/// Noise for all frames of all lanes: padding would cost nothing.
template <typename Jit>
Result<void> fill_batch(Jit& jit, const BatchLimits& limits) {
  TANDEM_TRY(mel, jit.mel_mut());
  TANDEM_TRY(lengths, jit.lengths_mut());
  std::vector<float> values(mel.size());
  fill_seeded_weight({"mel", {1}}, 1, values);
  if (auto done = mel.copy_from(values); !done) return done;
  return lengths.copy_from(
      std::vector<int32_t>(static_cast<size_t>(limits.lanes), static_cast<int32_t>(limits.frames)));
}

/// A size of the step, which must lie in [low, high]; kVariable names it, its value and the bounds.
Result<int64_t> size_of(const ModelRequest& request, const char* name, int64_t otherwise, int64_t low, int64_t high,
                        const char* unit) {
  const int64_t value = request.variable(name, otherwise);
  if (value >= low && value <= high) return value;
  const char* beyond = value == INT64_MAX ? " or more" : value == INT64_MIN ? " or less" : "";
  return fail(ErrorCode::kVariable,
              concat("--vars: ", name, " is ", value, beyond, "; it must be from ", low, " to ", high, " ", unit));
}

Result<BatchLimits> limits_of(const ModelRequest& request, const GigaAmModel& model) {
  const int64_t most_frames = model.config.encoder->most_frames();
  TANDEM_TRY(lanes, size_of(request, "b", 1, 1, BatchLimits::kMostLanes, "lanes of a batch"));
  TANDEM_TRY(frames, size_of(request, "t", std::min(kShownFrames, most_frames), 1, most_frames, "mel frames"));
  return BatchLimits{lanes, frames, true};
}

/// A number of samples, from one frame to ten minutes.
Result<int64_t> samples_of(const ModelRequest& request, const MelConfig& config, int64_t seconds) {
  return size_of(request, "n", seconds * config.sample_rate, config.fewest_samples(), 600 * config.sample_rate,
                 "samples");
}

/// A model that was prepared from `start` on; a step runs it on the inputs that are there.
PreparedModel shown(std::shared_ptr<void> owner, Session& session, Clock::time_point start) {
  const double taken = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return {std::move(owner), &session, [&session] { return session.execute(); }, taken};
}

Result<PreparedModel> prepare_mel(const ModelRequest& request) {
  TANDEM_TRY(source, source_of(request, WeightFile("--weights")));
  const auto start = Clock::now();
  const auto owner = std::make_shared<GigaAmMelJit>(MelFrontEnd(source.config.mel));
  TANDEM_TRY(n, samples_of(request, source.config.mel, 1));
  owner->with_n_fixed(n);
  if (auto done = owner->prepare_with_config(InputSpec{{n}, DType::kI16}, request.config); !done)
    return tl::unexpected<JitError>(done.error());
  return shown(owner, owner->session(), start);
}

Result<PreparedModel> prepare_encoder(const ModelRequest& request) {
  TANDEM_TRY(source, source_of(request, WeightFile("--weights")));
  TANDEM_TRY(model, model_of(source, request, {}));
  TANDEM_TRY(limits, limits_of(request, *model));
  const auto start = Clock::now();
  TANDEM_TRY(encoder, GigaAmEncoder::create(model, limits, request.config));
  const auto owner = std::make_shared<GigaAmEncoder>(std::move(encoder));
  PreparedModel prepared = shown(owner, owner->jit().session(), start);
  if (auto filled = fill_batch(owner->jit(), limits); !filled) return tl::unexpected<JitError>(filled.error());
  return prepared;
}

Result<PreparedModel> prepare_head(const ModelRequest& request, GigaAmHead head) {
  TANDEM_TRY(source, source_of(request, WeightFile("--weights")));
  TANDEM_TRY(model, model_of(source, request, head));
  TANDEM_TRY(limits, limits_of(request, *model));
  const auto start = Clock::now();
  TANDEM_TRY(recognizer, GigaAmRecognizer::create(model, limits, request.config));
  const auto owner = std::make_shared<GigaAmRecognizer>(std::move(recognizer));
  PreparedModel prepared = shown(owner, owner->jit().session(), start);
  if (auto filled = fill_batch(owner->jit(), limits); !filled) return tl::unexpected<JitError>(filled.error());
  return prepared;
}

Result<PreparedModel> prepare_speech(const ModelRequest& request) {
  TANDEM_TRY(source, source_of(request, WeightFile("--weights")));
  TANDEM_TRY(model, model_of(source, request, GigaAmHead::kCtc));
  const auto start = Clock::now();
  const auto owner = std::make_shared<GigaAmSpeechJit>(model);
  TANDEM_TRY(n, samples_of(request, source.config.mel, 5));
  owner->with_n_fixed(n);
  if (auto done = owner->prepare_with_config(InputSpec{{n}, DType::kI16}, request.config); !done)
    return tl::unexpected<JitError>(done.error());
  return shown(owner, owner->session(), start);
}

/// The published v3 models, without what they have learnt.
constexpr const char* kPublishedSizes = R"({
  "preprocessor": {"features": 64, "n_fft": 320, "win_length": 320, "hop_length": 160, "center": false},
  "encoder": {"feat_in": 64, "n_layers": 16, "d_model": 768, "subsampling": "conv1d", "subs_kernel_size": 5,
    "subsampling_factor": 4, "ff_expansion_factor": 4, "self_attention_model": "rotary", "pos_emb_max_len": 5000,
    "n_heads": 16, "conv_kernel_size": 5, "conv_norm_type": "layer_norm"},
  "head": {"type": "HEAD", "num_classes": 34}})";

Result<WeightFile> seeded_source(const ModelRequest& request, bool rnnt) {
  std::string text = kPublishedSizes;
  text.replace(text.find("HEAD"), 4, rnnt ? "rnnt" : "ctc");
  const bool given = !request.options.is_null();
  if (given) text = request.options.dump();
  TANDEM_TRY(config, parse_gigaam_config(text, given ? "--config" : "built in"));
  TANDEM_TRY(file, seeded_gigaam_weights(config, 1));
  file.metadata()["config"] = text;
  return file;
}

}  // namespace

std::vector<BuiltInModel> gigaam_models() {
  const auto run_with = [](GigaAmHead head) {
    return [head](const ModelRequest& request, const WeightFile& inputs) { return run_head(request, inputs, head); };
  };
  const auto prepare_with = [](GigaAmHead head) {
    return [head](const ModelRequest& request) { return prepare_head(request, head); };
  };
  const std::string batch = "mel f32 [b, features, t] and mel_lengths i32 [b], or pcm i16 [n] -> ";
  using Names = std::vector<std::string>;
  std::vector<BuiltInModel> models = {
      {"gigaam-mel", "pcm i16 [n] -> log_mel f32 [features, t]", run_mel, prepare_mel, {}},
      {"gigaam-encoder", batch + "encoded f32 [b, t', d], encoded_lengths i32 [b]", run_encoder, prepare_encoder, {}},
      {"gigaam-ctc",
       batch + "encoded, encoded_lengths, log_probs, tokens, frames, token_counts",
       run_with(GigaAmHead::kCtc),
       prepare_with(GigaAmHead::kCtc),
       {}},
      {"gigaam-rnnt",
       batch + "encoded, encoded_lengths, tokens, frames, token_counts",
       run_with(GigaAmHead::kRnnt),
       prepare_with(GigaAmHead::kRnnt),
       {}},
      {"gigaam-e2e",
       "pcm i16 [n] -> log_mel and the outputs of gigaam-ctc, in one plan",
       run_speech,
       prepare_speech,
       {}}};
  for (BuiltInModel& model : models) {
    const bool samples_only = model.name == "gigaam-mel" || model.name == "gigaam-e2e";
    model.inputs = samples_only ? Names{"pcm"} : Names{"mel", "mel_lengths", "pcm"};
    model.takes_weights_from_inputs = true;
    model.variables = samples_only ? Names{"n"} : Names{"b", "t"};
    const bool rnnt = model.name == "gigaam-rnnt";
    model.rounds_activations = model.name != "gigaam-mel";
    if (model.name != "gigaam-mel") model.weights_dtypes = all_weights_dtypes();
    model.seeded_weights = [rnnt](const ModelRequest& request) { return seeded_source(request, rnnt); };
  }
  return models;
}

}  // namespace tandem
