#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tandem::testing {

/// A new folder among the system's temporary ones, which is removed at the end with all that lies in it.
class TemporaryFolder {
 public:
  /// `name` tells people what left it there when a test was killed. Throws when there can be no folder.
  explicit TemporaryFolder(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / ("tandem-" + name + "-XXXXXX")).string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder " + path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Of a file in it.
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tandem::testing
