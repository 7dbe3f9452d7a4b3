#pragma once

#include <string>
#include <vector>

#include "core/weights/weight_file.h"

namespace tandem {

/// File of Silero VAD's weights in npm `@ricky0123/vad-web`: "silero_vad_v5.onnx" for "v5", "silero_vad_v6.onnx" for
/// "v6". kInvalidArgument for any other version.
Result<std::string> silero_weight_file_name(const std::string& version);

/// Places where `find_weight_file` looks for a file of this name, in order: TANDEM_WEIGHTS_DIR (when set and not
/// empty), then node_modules/@ricky0123/vad-web/dist of the current folder, of the program's folder and of the folders
/// above it (which include the source tree while the program lies in its build folder).
std::vector<std::string> weight_file_places(const std::string& name);

/// The file to read: `given` when it is not empty (a file, or a folder that has a file `name`), otherwise the first of
/// `weight_file_places` that exists. kNotFound lists all places and says how to get the file.
Result<std::string> find_weight_file(const std::string& name, const std::string& given = "");

/// Sentences about a TANDEM_WEIGHTS_DIR that `find_weight_file` has passed over since the last call: it had no such
/// file.
std::vector<std::string> take_weight_folder_notes();

/// Reads an ONNX or safetensors file, told apart by its contents. kNotFound (with the system's reason), kMemoryLimit,
/// and the errors of `read_weights`.
Result<WeightFile> read_weight_file(const std::string& path);

/// Writes a safetensors file, under another name first and then by rename, so that no half file is ever seen. Symbolic
/// links are followed; devices and pipes are written into, and "-" is standard output.
/// Errors: those of `write_safetensors`, and kRuntime with the system's reason.
Result<void> write_safetensors_file(const std::string& path, std::span<const WeightTensor> tensors,
                                    const std::map<std::string, std::string>& metadata = {});

/// Reads a weight file of any kind and writes all its tensors, with their names, as safetensors. Returns a sentence for
/// each tensor that could not be carried over (none when all were). kInvalidArgument when both are one file.
Result<std::vector<std::string>> convert_weight_file(const std::string& from, const std::string& to);

}  // namespace tandem
