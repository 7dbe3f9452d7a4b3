#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::testing {

/// Path of a file below tests/golden.
std::string golden_path(const std::string& name);

/// Parsed JSON file below tests/golden, for instance "silero/v5_16k.json". Throws std::runtime_error with the path.
nlohmann::json golden_json(const std::string& name);

/// Numbers of a JSON array, null as NaN.
std::vector<double> numbers_of(const nlohmann::json& array);

/// Samples of a clip of tests/golden/silero/clips.json. Makes it from its Debian package at the first use and keeps it
/// in the build folder; throws std::runtime_error that names the missing package.
std::vector<float> silero_clip(const std::string& id);

/// Path of `silero_vad_v5.onnx` or `silero_vad_v6.onnx` (`version` "v5", "v6") in node_modules of the source folder or
/// in TANDEM_WEIGHTS_DIR. Throws std::runtime_error that says how to install it.
std::string silero_onnx_path(const std::string& version);

/// All bytes of a file. Throws std::runtime_error with the path.
std::vector<std::byte> file_bytes(const std::string& path);

}  // namespace tandem::testing
