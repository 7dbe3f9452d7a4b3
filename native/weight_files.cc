#include "native/weight_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include "core/base/text.h"
#include "core/weights/safetensors.h"
#include "native/byte_input.h"
#include "native/read_files.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPackageFolder = "node_modules/@ricky0123/vad-web/dist";
/// Folders above the program that are looked at: build/native/tests is three below the source tree.
constexpr int kFoldersAbove = 4;

std::string weights_folder() {
  const char* folder = std::getenv("TANDEM_WEIGHTS_DIR");
  return folder == nullptr ? "" : folder;
}

struct FolderNotes {
  std::mutex mutex;
  std::set<std::string> sentences;
};

FolderNotes& folder_notes() {
  static FolderNotes notes;
  return notes;
}

void note_found_elsewhere(const std::string& name, const std::string& place) {
  const std::string folder = weights_folder();
  std::error_code ignored;
  const char* lack = fs::is_directory(folder, ignored) ? "has no " : "is no folder with ";
  FolderNotes& notes = folder_notes();
  const std::scoped_lock lock(notes.mutex);
  notes.sentences.insert(concat("TANDEM_WEIGHTS_DIR, ", folder, ", ", lack, name, ": read from ", place));
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

tl::unexpected<JitError> write_error(const std::string& path) {
  return fail(ErrorCode::kRuntime,
              concat("cannot write ", path == "-" ? "standard output" : path, ": ", std::strerror(errno)));
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

/// Follows symbolic links by name, also to a file that is still to be made.
std::string link_target(const std::string& path) {
  constexpr int kMostLinks = 40;
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, error); ++i) {
    const fs::path next = fs::read_symlink(target, error);
    if (error) break;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target.string();
}

/// For devices, pipes and sockets: replacing them by a file would destroy them.
Result<void> write_into(const std::string& path, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return write_error(path);
  const bool written = write_all(file, bytes);
  const int reason = errno;
  const bool closed = ::close(file) == 0;
  if (written && closed) return {};
  if (!written) errno = reason;
  return write_error(path);
}

Result<void> write_and_rename(const std::string& path, std::span<const std::byte> bytes) {
  const std::string partial = concat(path, ".", static_cast<int64_t>(::getpid()), ".partial");
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return write_error(path);
  bool good = write_all(file, bytes);
  good = ::close(file) == 0 && good;
  good = good && std::rename(partial.c_str(), path.c_str()) == 0;
  if (good) return {};
  const auto error = write_error(path);
  ::unlink(partial.c_str());
  return error;
}

Result<void> write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  if (path == "-") {
    if (write_all(STDOUT_FILENO, bytes)) return {};
    return write_error(path);
  }
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) return write_into(path, bytes);
  const std::string target = link_target(path);
  // A descriptor under /proc can show a file that no name leads to any more.
  if (exists && !is_file(target)) return write_into(path, bytes);
  return write_and_rename(target, bytes);
}

}  // namespace

Result<std::string> silero_weight_file_name(const std::string& version) {
  if (version == "v5" || version == "v6") return "silero_vad_" + version + ".onnx";
  return fail(ErrorCode::kInvalidArgument, concat("unknown Silero VAD version \"", version, "\": use v5 or v6"));
}

std::vector<std::string> weight_file_places(const std::string& name) {
  std::vector<std::string> places;
  const auto add = [&](const fs::path& folder) {
    std::string place = (folder / name).lexically_normal().string();
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
  };
  if (const std::string folder = weights_folder(); !folder.empty()) add(folder);
  std::error_code error;
  if (const fs::path current = fs::current_path(error); !error) add(current / kPackageFolder);
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int i = 0; i <= kFoldersAbove && !error && folder.has_relative_path(); ++i) {
    add(folder / kPackageFolder);
    folder = folder.parent_path();
  }
  return places;
}

Result<std::string> find_weight_file(const std::string& name, const std::string& given) {
  if (!given.empty()) {
    std::error_code ignored;
    std::string path = fs::is_directory(given, ignored) ? (fs::path(given) / name).string() : given;
    if (fs::exists(path, ignored)) return path;
    return fail(ErrorCode::kNotFound, concat("the weights ", path, " do not exist"));
  }
  const std::vector<std::string> places = weight_file_places(name);
  for (const std::string& place : places) {
    if (!is_file(place)) continue;
    if (!weights_folder().empty() && place != places.front()) note_found_elsewhere(name, place);
    return place;
  }
  return fail(
      ErrorCode::kNotFound,
      concat("the weights ", name, " were not found. Looked for:\n  ", join(places, "\n  "),
             "\nGet them with \"npm install @ricky0123/vad-web@0.0.31\", or name a file or folder with --weights or "
             "TANDEM_WEIGHTS_DIR."));
}

std::vector<std::string> take_weight_folder_notes() {
  FolderNotes& notes = folder_notes();
  const std::scoped_lock lock(notes.mutex);
  const std::set<std::string> taken = std::exchange(notes.sentences, {});
  return {taken.begin(), taken.end()};
}

Result<WeightFile> read_weight_file(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  // Many have no end, and would be read until memory is full.
  if (fs::is_character_file(status) || fs::is_block_file(status))
    return fail(ErrorCode::kInvalidArgument,
                concat("cannot read tensors from ", path, ": it is a device; name a file"));
  TANDEM_TRY(bytes, read_all_bytes(path));
  return read_weights(ByteSource::own(std::move(bytes)), path);
}

Result<void> write_safetensors_file(const std::string& path, std::span<const WeightTensor> tensors,
                                    const std::map<std::string, std::string>& metadata) {
  TANDEM_TRY(bytes, write_safetensors(tensors, metadata));
  return write_bytes(path, bytes);
}

Result<std::vector<std::string>> convert_weight_file(const std::string& from, const std::string& to) {
  TANDEM_TRY(file, read_weight_file(from));
  if (auto free = check_not_read(to); !free) return tl::unexpected<JitError>(free.error());
  std::vector<std::string> lost;
  for (const auto& [name, reason] : file.unreadable()) {
    lost.push_back(concat("tensor \"", name, "\" is left out: ", reason));
  }
  if (auto written = write_safetensors_file(to, file.tensors(), file.metadata()); !written) {
    return tl::unexpected<JitError>(written.error());
  }
  return lost;
}

}  // namespace tandem
