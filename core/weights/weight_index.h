#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/weights/weight_file.h"

namespace tandem {

/// Names of the files in the JSON index of a model in several files (`weight_map`, as Hugging Face writes it), each
/// once. `origin` names the index in errors: kInvalidFormat for one that names no files, or a file that is not beside
/// it, and those of parse_json.
Result<std::set<std::string>> files_of_weight_index(std::string_view json, const std::string& origin);

/// One of several files.
struct WeightPart {
  std::string name;
  WeightFile file;
};

/// The tensors, texts and owners of several files as one. kInvalidFormat for a tensor that is in two of them.
Result<WeightFile> join_weights(std::span<const WeightPart> parts, const std::string& origin);

}  // namespace tandem
