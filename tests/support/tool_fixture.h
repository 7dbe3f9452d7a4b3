#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "native/weight_files.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"

namespace tandem::testing {

/// A recording of the Debian package pocketsphinx-testdata: s16le at 16 kHz.
inline const std::string kGoForward = "/usr/share/pocketsphinx/test/data/goforward.raw";

/// What a process left.
struct Outcome {
  int exit_code = -1;
  std::string out, error;
};

/// Runs the tool as a user does: as a process with arguments, files and pipes, in a folder that is removed at the end.
class Tool : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  static std::string read(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write_samples(const std::string& name, const std::vector<float>& samples, const std::string& tensor_name) const {
    WeightTensor tensor;
    tensor.name = tensor_name;
    tensor.shape = {static_cast<int64_t>(samples.size())};
    tensor.bytes = std::as_bytes(std::span<const float>(samples));
    ASSERT_TRUE(write_safetensors_file(path(name), std::span(&tensor, 1)).has_value());
  }

  /// Runs "tandem ARGUMENTS" by the shell; `before` may set variables.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    const std::string command =
        before + " '" TANDEM_BINARY_DIR "/tandem' " + arguments + " >'" + path("out") + "' 2>'" + path("error") + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(path("out")), read(path("error"))};
  }

  /// The command must be refused with this exit code, nothing on standard output, and a message with `words`.
  void expect_refused(const std::string& arguments, const std::string& words, int exit_code = 2,
                      const std::string& before = "") const {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run(arguments, before);
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.error.find(words), std::string::npos) << outcome.error;
    EXPECT_EQ(outcome.error.rfind("tandem: ", 0), 0u) << outcome.error;
  }

  const TemporaryFolder folder_{"tool"};
};

/// The clip `id` of a golden file.
inline nlohmann::json golden_clip(const std::string& file, const std::string& id) {
  const nlohmann::json golden = golden_json(file);
  for (const nlohmann::json& clip : golden["clips"])
    if (clip["id"] == id) return clip;
  throw std::runtime_error("no clip " + id);
}

}  // namespace tandem::testing
