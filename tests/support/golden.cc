#include "tests/support/golden.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace tandem::testing {

std::string golden_path(const std::string& name) { return std::string(TANDEM_SOURCE_DIR "/tests/golden/") + name; }

std::vector<std::byte> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<std::byte> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot read all of " + path);
  return bytes;
}

nlohmann::json golden_json(const std::string& name) {
  std::ifstream file(golden_path(name));
  if (!file) throw std::runtime_error("cannot read " + golden_path(name));
  return nlohmann::json::parse(file);
}

std::vector<double> numbers_of(const nlohmann::json& array) {
  std::vector<double> numbers;
  numbers.reserve(array.size());
  for (const nlohmann::json& value : array) {
    numbers.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  return numbers;
}

std::vector<float> silero_clip(const std::string& id) {
  const std::string folder = TANDEM_BINARY_DIR "/clips";
  const std::string path = folder + "/" + id + ".f32";
  if (!std::filesystem::exists(path)) {
    const std::string command = "python3 '" + golden_path("silero/rebuild_clips.py") + "' '" + folder + "' " + id;
    if (std::system(command.c_str()) != 0) throw std::runtime_error("clip " + id + " could not be made: " + command);
  }
  const std::vector<std::byte> bytes = file_bytes(path);
  std::vector<float> samples(bytes.size() / sizeof(float));
  std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(float));
  return samples;
}

std::string silero_onnx_path(const std::string& version) {
  const std::string name = "silero_vad_" + version + ".onnx";
  std::vector<std::string> folders{TANDEM_SOURCE_DIR "/node_modules/@ricky0123/vad-web/dist"};
  if (const char* folder = std::getenv("TANDEM_WEIGHTS_DIR")) folders.insert(folders.begin(), folder);
  for (const std::string& folder : folders) {
    if (std::filesystem::exists(folder + "/" + name)) return folder + "/" + name;
  }
  throw std::runtime_error(name + " is in neither TANDEM_WEIGHTS_DIR nor " + folders.back() +
                           ": run npm install in the source folder");
}

}  // namespace tandem::testing
