#include "native/speech_files.h"

#include <algorithm>
#include <filesystem>

#include "core/base/text.h"
#include "core/models/gigaam_weights.h"
#include "native/byte_input.h"
#include "native/counted.h"
#include "native/model_weights.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "config.json";
constexpr const char* kTokenizerName = "tokenizer.model";

/// The folder itself, or that of the file.
fs::path folder_of(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? fs::path(path) : fs::path(path).parent_path();
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

Result<GigaAmConfig> read_config(const std::string& path) {
  TANDEM_TRY(bytes, read_all_bytes(path, kMostJsonBytes));
  return parse_gigaam_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Result<Vocabulary> read_vocabulary(const GigaAmConfig& config, const std::vector<fs::path>& folders) {
  if (!config.vocabulary.empty()) return Vocabulary::of_texts(config.vocabulary);
  std::vector<std::string> places;
  for (const fs::path& folder : folders) {
    const std::string path = (folder / kTokenizerName).string();
    places.push_back(path);
    if (!is_file(path)) continue;
    TANDEM_TRY(bytes, read_all_bytes(path));
    TANDEM_TRY(model, read_sentencepiece(bytes, path));
    auto vocabulary = Vocabulary::of_model(std::move(model));
    if (!vocabulary) return fail(vocabulary.error().code, concat(path, ": ", vocabulary.error().message));
    return vocabulary;
  }
  if (places.size() == 2 && places[0] == places[1]) places.pop_back();
  return fail(ErrorCode::kNotFound,
              concat("the vocabulary is missing: ", config.origin,
                     " lists no characters (\"labels\"), and there is no ", join(places, " nor ")));
}

}  // namespace

Result<GigaAmConfig> find_gigaam_config(const std::string& weights, const WeightFile& file, const std::string& given) {
  if (!given.empty()) return read_config(given);
  const fs::path path = folder_of(weights) / kConfigName;
  if (const auto own = file.metadata().find("config"); own != file.metadata().end()) {
    // Two that say different things are hard to tell apart in an error: it names the one that counts.
    const char* above = is_file(path) ? ", which stands above config.json beside it," : "";
    return parse_gigaam_config(own->second, concat("the configuration in ", file.origin(), above));
  }
  if (is_file(path)) return read_config(path.string());
  return fail(ErrorCode::kNotFound,
              concat("the configuration is missing: there is no ", path.string(),
                     " and no \"config\" among the metadata of ", file.origin(), "; name a JSON file with --config"));
}

std::string surplus_text(const WeightFile& file, const GigaAmConfig& config) {
  constexpr size_t kShown = 4;
  std::vector<std::string> surplus = check_gigaam_weights(file, config).surplus;
  if (surplus.empty()) return "";
  const size_t all = surplus.size(), shown = std::min(all, kShown);
  surplus.resize(shown);
  return concat(file.origin(), " has ", counted(all, "tensor"), " that ", config.origin,
                " does not use: ", join(surplus), all == shown ? "" : concat(" and ", all - shown, " more"));
}

Result<SpeechModel> load_speech_model(const std::string& weights, const std::string& config_path,
                                      std::optional<GigaAmHead> head, const GigaAmOptions& options) {
  TANDEM_TRY(file, read_model_weights(weights));
  const fs::path folder = folder_of(weights);
  TANDEM_TRY(config, find_gigaam_config(weights, file, config_path));
  if (auto checked = check_speech_config(config, head); !checked) return tl::unexpected<JitError>(checked.error());
  TANDEM_TRY(vocabulary, read_vocabulary(config, {config_path.empty() ? folder : folder_of(config_path), folder}));
  auto model = make_speech_model(file, config, std::move(vocabulary), options);
  if (const std::string surplus = surplus_text(file, config); model && !surplus.empty()) report_note(surplus);
  return model;
}

}  // namespace tandem
