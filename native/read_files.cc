#include "native/read_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "core/base/text.h"

namespace tandem {
namespace {

/// A file whatever its name is: device and number.
using FileIdentity = std::pair<dev_t, ino_t>;

struct ReadFiles {
  std::mutex mutex;
  std::map<FileIdentity, std::string> names;
};

ReadFiles& read_files() {
  static ReadFiles files;
  return files;
}

}  // namespace

void note_read_file(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
  ReadFiles& files = read_files();
  const std::scoped_lock lock(files.mutex);
  files.names.emplace(FileIdentity{status.st_dev, status.st_ino}, path == "-" ? "standard input" : path);
}

Result<void> check_not_read(const std::string& path) {
  struct stat status{};
  const bool standard = path == "-";
  const int failed = standard ? ::fstat(STDOUT_FILENO, &status) : ::stat(path.c_str(), &status);
  if (failed != 0 || !S_ISREG(status.st_mode)) return {};
  ReadFiles& files = read_files();
  const std::scoped_lock lock(files.mutex);
  const auto found = files.names.find({status.st_dev, status.st_ino});
  if (found == files.names.end()) return {};
  const std::string output = standard ? "standard output" : path;
  return fail(ErrorCode::kInvalidArgument,
              concat("the output ", output, " is an input", found->second == output ? "" : concat(", ", found->second),
                     ": it would be overwritten; name another file"));
}

}  // namespace tandem
