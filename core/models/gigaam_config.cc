#include "core/models/gigaam_config.h"

#include <algorithm>

#include "core/base/json_input.h"
#include "core/base/text.h"

namespace tandem {
namespace {

using nlohmann::json;

/// Largest size that any entry may have: products of two of them stay far from 2^63.
constexpr int64_t kLargestSize = 1 << 20;

/// An entry of an object; null when it is missing or null.
const json* entry_of(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

/// One object of the configuration. Every reader names the entry that it takes, so that what is left at the end is
/// unknown.
class Section {
 public:
  Section(const json& object, std::string name, std::string origin)
      : object_(object), name_(std::move(name)), origin_(std::move(origin)) {
    if (!object_.is_object()) throw TensorError(concat(where(), " is not a JSON object"), ErrorCode::kInvalidFormat);
  }

  std::string where(const std::string& key = {}) const {
    std::string path = name_;
    if (!key.empty()) path += path.empty() ? key : "." + key;
    return concat(origin_, ": \"", path, "\"");
  }

  const json* find(const std::string& key) {
    known_.push_back(key);
    return entry_of(object_, key.c_str());
  }

  int64_t size(const std::string& key, int64_t otherwise, int64_t least = 1, int64_t most = kLargestSize) {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number_integer())
      throw TensorError(concat(where(key), " is ", json_excerpt(*value), "; a whole number is needed"),
                        ErrorCode::kInvalidFormat);
    const auto number = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{kLargestSize}
                            ? kLargestSize + 1
                            : value->get<int64_t>();
    if (number < least || number > most)
      throw TensorError(concat(where(key), " is ", json_excerpt(*value), "; it must be from ", least, " to ", most),
                        ErrorCode::kInvalidArgument);
    return number;
  }

  bool flag(const std::string& key, bool otherwise) {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean())
      throw TensorError(concat(where(key), " is ", json_excerpt(*value), "; true or false is needed"),
                        ErrorCode::kInvalidFormat);
    return value->get<bool>();
  }

  /// The number of the entry's text in `choices`.
  size_t choice(const std::string& key, size_t otherwise, const std::vector<std::string>& choices) {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    const std::string text = value->is_string() ? value->get<std::string>() : json_excerpt(*value);
    const auto found = std::find(choices.begin(), choices.end(), text);
    if (found == choices.end())
      throw TensorError(
          concat(where(key), " is \"", text, "\", which this version does not have; it has ", join(choices, " and ")),
          ErrorCode::kUnsupported);
    return static_cast<size_t>(found - choices.begin());
  }

  /// Entries that change no result, in published configurations.
  void ignore(const std::vector<std::string>& keys) { known_.insert(known_.end(), keys.begin(), keys.end()); }

  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (key.rfind('_', 0) != 0 && std::find(known_.begin(), known_.end(), key) == known_.end())
        throw TensorError(concat(where(key), " is ", json_excerpt(value),
                                 "; this version does not know such an entry, it takes ", join(known_)),
                          ErrorCode::kUnsupported);
  }

 private:
  const json& object_;
  std::string name_, origin_;
  std::vector<std::string> known_;
};

MelConfig read_mel(const json& object, int64_t sample_rate, const std::string& origin) {
  Section section(object, "preprocessor", origin);
  MelConfig mel;
  mel.sample_rate = section.size("sample_rate", sample_rate, 1000, 384000);
  mel.features = section.size("features", mel.features, 1, 1024);
  mel.n_fft = section.size("n_fft", mel.sample_rate / 40, 2, 1 << 14);
  mel.hop_length = section.size("hop_length", mel.sample_rate / 100, 1, 1 << 14);
  mel.center = section.flag("center", mel.center);
  const int64_t window = section.size("win_length", mel.n_fft, 2, 1 << 14);
  if (window != mel.n_fft)
    throw TensorError(concat(section.where("win_length"), " is ", window, " but \"n_fft\" is ", mel.n_fft,
                             "; this version needs both to be equal"),
                      ErrorCode::kUnsupported);
  section.choice("mel_scale", 0, {"htk"});
  section.choice("mel_norm", 0, {"none"});
  section.ignore({"power"});
  section.finish();
  return mel;
}

ConformerConfig read_encoder(const json& object, const std::string& origin) {
  Section section(object, "encoder", origin);
  ConformerConfig encoder;
  encoder.feat_in = section.size("feat_in", encoder.feat_in, 1, 1024);
  encoder.n_layers = section.size("n_layers", encoder.n_layers, 1, 1024);
  encoder.d_model = section.size("d_model", encoder.d_model, 2, 1 << 16);
  encoder.subsampling = static_cast<Subsampling>(
      section.choice("subsampling", static_cast<size_t>(encoder.subsampling), {"conv1d", "conv2d"}));
  encoder.subs_kernel_size = section.size("subs_kernel_size", encoder.subs_kernel_size, 1, 63);
  encoder.subsampling_factor = section.size("subsampling_factor", encoder.subsampling_factor, 1, 64);
  encoder.ff_expansion_factor = section.size("ff_expansion_factor", encoder.ff_expansion_factor, 1, 64);
  section.choice("self_attention_model", 0, {"rotary"});
  encoder.n_heads = section.size("n_heads", encoder.n_heads, 1, 1 << 12);
  encoder.pos_emb_max_len = section.size("pos_emb_max_len", encoder.pos_emb_max_len, 2);
  encoder.conv_kernel_size = section.size("conv_kernel_size", encoder.conv_kernel_size, 1, 1023);
  encoder.conv_norm = static_cast<ConvolutionNorm>(
      section.choice("conv_norm_type", static_cast<size_t>(encoder.conv_norm), {"layer_norm", "batch_norm"}));
  const int64_t feat_out = section.size("feat_out", encoder.d_model);
  section.ignore({"flash_attn", "activation_checkpointing"});
  section.finish();
  const auto refuse = [&](const std::string& key, int64_t value, const std::string& need) {
    throw TensorError(concat(section.where(key), " is ", value, "; ", need), ErrorCode::kInvalidArgument);
  };
  if (feat_out != encoder.d_model) refuse("feat_out", feat_out, concat("it must be d_model, ", encoder.d_model));
  if (encoder.subs_kernel_size % 2 == 0) refuse("subs_kernel_size", encoder.subs_kernel_size, "it must be odd");
  if (encoder.conv_kernel_size % 2 == 0) refuse("conv_kernel_size", encoder.conv_kernel_size, "it must be odd");
  if ((encoder.subsampling_factor & (encoder.subsampling_factor - 1)) != 0 || encoder.subsampling_factor < 2)
    refuse("subsampling_factor", encoder.subsampling_factor, "it must be a power of two, at least 2");
  if (encoder.d_model % (2 * encoder.n_heads) != 0)
    refuse("n_heads", encoder.n_heads,
           concat("d_model ", encoder.d_model, " must be divisible by twice this number: a head is rotated in pairs"));
  return encoder;
}

/// The sizes of an RN-T head stand in the head itself or in its objects `decoder` and `joint`.
void read_rnnt(Section& section, GigaAmHeadConfig& head, const std::string& origin) {
  const auto read = [&head](Section& from) {
    head.num_classes = from.size("num_classes", head.num_classes, 2);
    head.pred_hidden = from.size("pred_hidden", head.pred_hidden, 1, 1 << 16);
    head.pred_rnn_layers = from.size("pred_rnn_layers", head.pred_rnn_layers, 1, 64);
    head.joint_hidden = from.size("joint_hidden", head.joint_hidden, 1, 1 << 16);
    head.max_symbols_per_step = from.size("max_symbols_per_step", head.max_symbols_per_step, 1, 1000);
    from.ignore({"enc_hidden"});
  };
  read(section);
  for (const char* part : {"decoder", "joint"}) {
    const json* object = section.find(part);
    if (object == nullptr) continue;
    Section inner(*object, concat("head.", part), origin);
    read(inner);
    inner.finish();
  }
}

GigaAmHeadConfig read_head(const json& object, const std::string& origin) {
  Section section(object, "head", origin);
  GigaAmHeadConfig head;
  const bool looks_like_rnnt = object.is_object() && (object.contains("decoder") || object.contains("joint"));
  head.kind = static_cast<GigaAmHead>(section.choice("type", looks_like_rnnt ? 1 : 0, {"ctc", "rnnt"}));
  if (head.kind == GigaAmHead::kRnnt) {
    read_rnnt(section, head, origin);
  } else {
    head.num_classes = section.size("num_classes", head.num_classes, 2);
    section.ignore({"feat_in"});
  }
  section.finish();
  return head;
}

/// The object that has the sections.
const json& root_of(const json& document) {
  const json* root = &document;
  for (const char* step : {"model", "cfg", "model", "cfg"}) {
    if (entry_of(*root, "encoder") || entry_of(*root, "preprocessor")) return *root;
    if (const json* inner = entry_of(*root, step); inner && inner->is_object()) root = inner;
  }
  return *root;
}

std::vector<std::string> read_vocabulary(const json& root, const std::string& origin) {
  const json* list = entry_of(root, "labels");
  if (const json* decoding = entry_of(root, "decoding"))
    if (const json* vocabulary = entry_of(*decoding, "vocabulary")) list = vocabulary;
  std::vector<std::string> vocabulary;
  if (list == nullptr) return vocabulary;
  if (!list->is_array())
    throw TensorError(concat(origin, ": the vocabulary is not a list of texts"), ErrorCode::kInvalidFormat);
  for (const json& entry : *list) {
    if (!entry.is_string())
      throw TensorError(concat(origin, ": entry ", vocabulary.size(), " of the vocabulary is ", json_excerpt(entry),
                               "; a text is needed"),
                        ErrorCode::kInvalidFormat);
    vocabulary.push_back(entry.get<std::string>());
  }
  return vocabulary;
}

/// Can one letter more, less or other, or two that change places, make the one word of the other?
bool one_slip_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1 || a == b) return false;
  size_t begin = 0;
  while (begin < a.size() && a[begin] == b[begin]) begin++;
  if (a.size() < b.size()) return a.substr(begin) == b.substr(begin + 1);
  if (a.substr(begin + 1) == b.substr(begin + 1)) return true;
  return begin + 1 < a.size() && a[begin] == b[begin + 1] && a[begin + 1] == b[begin] &&
         a.substr(begin + 2) == b.substr(begin + 2);
}

/// Published configurations have entries of other purposes beside the sections. One that all but has the name of a
/// section that is missing is a mistake.
void refuse_misspelt(const json& root, const Section& top) {
  for (const auto& [key, value] : root.items())
    for (const char* known : {"preprocessor", "encoder", "head", "sample_rate", "labels", "decoding"})
      if (!value.is_null() && entry_of(root, known) == nullptr && one_slip_apart(key, known))
        throw TensorError(concat(top.where(key), " is ", json_excerpt(value),
                                 "; this version does not know such an entry, it takes \"", known, "\""),
                          ErrorCode::kUnsupported);
}

GigaAmConfig read_config(const json& document, const std::string& origin) {
  if (!document.is_object()) throw TensorError(concat(origin, " is not a JSON object"), ErrorCode::kInvalidFormat);
  const json& root = root_of(document);
  Section top(root, "", origin);
  refuse_misspelt(root, top);
  const json* preprocessor = entry_of(root, "preprocessor");
  const json* encoder = entry_of(root, "encoder");
  if (encoder == nullptr && preprocessor == nullptr)
    throw TensorError(concat(origin,
                             " has neither \"encoder\" nor \"preprocessor\": it is not the configuration of a "
                             "GigaAM model"),
                      ErrorCode::kInvalidFormat);
  GigaAmConfig config;
  const int64_t sample_rate = top.size("sample_rate", config.mel.sample_rate, 1000, 384000);
  config.mel = read_mel(preprocessor ? *preprocessor : json::object(), sample_rate, origin);
  if (encoder) config.encoder = read_encoder(*encoder, origin);
  if (const json* head = entry_of(root, "head")) config.head = read_head(*head, origin);
  config.vocabulary = read_vocabulary(root, origin);
  config.origin = origin;
  if (config.encoder && config.encoder->feat_in != config.mel.features)
    throw TensorError(concat(origin, ": the encoder takes ", config.encoder->feat_in, " mel bands (\"feat_in\") but \"",
                             "preprocessor.features\" is ", config.mel.features),
                      ErrorCode::kInvalidArgument);
  return config;
}

}  // namespace

int64_t MelConfig::frames(int64_t samples) const {
  if (samples < fewest_samples()) return 0;
  return center ? (samples + 2 * (n_fft / 2) - n_fft) / hop_length + 1 : (samples - n_fft) / hop_length + 1;
}

int64_t ConformerConfig::stages() const {
  int64_t count = 0;
  for (int64_t factor = subsampling_factor; factor > 1; factor /= 2) ++count;
  return count;
}

int64_t ConformerConfig::encoded_frames(int64_t frames) const {
  // An odd kernel with padding (k - 1) / 2 and stride 2 gives half the frames, rounded up.
  for (int64_t i = 0; i < stages(); ++i) frames = (frames + 1) / 2;
  return frames;
}

Result<GigaAmConfig> parse_gigaam_config(std::string_view text, const std::string& origin) {
  TANDEM_TRY(document, parse_json(text, origin));
  try {
    return read_config(document, origin);
  } catch (const TensorError& error) {
    return tl::unexpected<JitError>(error.to_error());
  }
}

Result<GigaAmConfig> gigaam_config_of(const WeightFile& file) {
  const auto entry = file.metadata().find("config");
  if (entry == file.metadata().end())
    return fail(ErrorCode::kNotFound, concat(file.origin(),
                                             " has no \"config\" among its metadata; give the model's "
                                             "configuration as a JSON file"));
  return parse_gigaam_config(entry->second, concat("the configuration in ", file.origin()));
}

}  // namespace tandem
