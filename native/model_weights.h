#pragma once

#include <string>

#include "core/weights/weight_file.h"

namespace tandem {

/// Name of the weights in the folder of a model.
inline constexpr const char* kModelFileName = "model.safetensors";

/// Reads the weights of a large model: a safetensors (or ONNX) file, the JSON index of a model in several safetensors
/// files (`weight_map`, as Hugging Face writes it), or a folder with `model.safetensors.index.json` or
/// `model.safetensors`. The files are mapped, not copied: pages are read when they are used, and they must not be
/// changed while the result lives. Errors: kNotFound (with the system's reason, or what the folder lacks),
/// kInvalidFormat (an index that names no files, a file outside its folder, a tensor in two files), and the errors of
/// `read_weights`.
Result<WeightFile> read_model_weights(const std::string& path);

/// A file as memory, read page by page when it is looked at; the pages can be given back. The file may be closed then.
/// `origin` names it in errors: kInvalidFormat (empty, no regular file), kMemoryLimit.
Result<ByteSource> map_descriptor(int file, const std::string& origin);

}  // namespace tandem
