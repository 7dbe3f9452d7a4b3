#include "core/weights/weight_index.h"

#include "core/base/json_input.h"
#include "core/base/text.h"

namespace tandem {
namespace {

/// Not a path that leads elsewhere.
bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\") == std::string::npos;
}

}  // namespace

Result<std::set<std::string>> files_of_weight_index(std::string_view text, const std::string& origin) {
  TANDEM_TRY(parsed, parse_json(text, origin));
  const nlohmann::json& index = parsed;
  const auto refuse = [&](const std::string& problem) {
    return fail(ErrorCode::kInvalidFormat, concat(origin, problem));
  };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object() ||
      index["weight_map"].empty())
    return refuse(" is no index of weights: it has no \"weight_map\" from tensors to files");
  std::set<std::string> names;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string())
      return refuse(concat(": the file of \"", tensor, "\" is ", json_excerpt(file), "; a name is needed"));
    const auto name = file.get<std::string>();
    if (!is_file_name(name))
      return refuse(concat(": the file \"", name, "\" of \"", tensor, "\" is not one beside the index"));
    names.insert(name);
  }
  return names;
}

Result<WeightFile> join_weights(std::span<const WeightPart> parts, const std::string& origin) {
  WeightFile all(origin);
  for (const auto& [name, part] : parts) {
    for (const WeightTensor& tensor : part.tensors())
      if (auto added = all.add(tensor); !added)
        return fail(added.error().code, concat(origin, ", file ", name, ": ", added.error().message));
    for (const auto& [tensor, reason] : part.unreadable()) all.add_unreadable(tensor, reason);
    all.metadata().insert(part.metadata().begin(), part.metadata().end());
    all.keep_all_of(part);
  }
  return all;
}

}  // namespace tandem
