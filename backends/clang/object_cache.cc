#include "backends/clang/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "backends/clang/sha256.h"
#include "core/base/byte_size.h"
#include "core/base/text.h"

namespace tandem {

namespace {

// File: magic, length of the object, SHA-256 of the object, object.
constexpr char kMagic[8] = {'T', 'A', 'N', 'D', 'E', 'M', 'O', '1'};
constexpr size_t kHeaderSize = sizeof kMagic + sizeof(uint64_t) + 32;
constexpr const char* kVersionFolder = "objects-v1";
constexpr const char* kSuffix = ".object";

/// A file descriptor that closes itself.
struct File {
  explicit File(int number) : descriptor(number) {}
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool private_to_user(const struct stat& status) { return status.st_uid == ::geteuid() && (status.st_mode & 022) == 0; }

bool make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (::mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST && end == std::string::npos) return false;
    if (end == std::string::npos) return true;
  }
}

bool read_all(int file, uint8_t* to, size_t size) {
  while (size > 0) {
    ssize_t part = ::read(file, to, size);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    to += part;
    size -= static_cast<size_t>(part);
  }
  return true;
}

bool write_all(int file, const void* from, size_t size) {
  const char* next = static_cast<const char*>(from);
  while (size > 0) {
    ssize_t part = ::write(file, next, size);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    next += part;
    size -= static_cast<size_t>(part);
  }
  return true;
}

Sha256::Digest checksum(const uint8_t* bytes, size_t size) {
  Sha256 hash;
  hash.bytes(bytes, size);
  return hash.finish();
}

bool is_switched_off() {
  const std::string use = environment("TANDEM_CACHE");
  return use == "off" || use == "0";
}

}  // namespace

std::string ObjectCache::missing_folder_warning() {
  if (is_switched_off() || !folder_from_environment().empty()) return "";
  return "kernels are not cached: no variable names a folder; set HOME, or TANDEM_CACHE_DIR to a folder of your own "
         "(TANDEM_CACHE=off: no cache)";
}

std::string ObjectCache::folder_from_environment() {
  if (is_switched_off()) return "";
  if (std::string folder = environment("TANDEM_CACHE_DIR"); !folder.empty()) return folder;
  // The XDG specification has relative paths ignored.
  if (std::string folder = environment("XDG_CACHE_HOME"); !folder.empty() && folder[0] == '/')
    return folder + "/tandem";
  if (std::string home = environment("HOME"); !home.empty()) return home + "/.cache/tandem";
  return "";
}

Result<void> ObjectCache::check_environment() {
  const std::string use = environment("TANDEM_CACHE");
  if (!use.empty() && use != "on" && use != "1" && use != "off" && use != "0")
    return fail(ErrorCode::kInvalidArgument, concat("TANDEM_CACHE is \"", use, "\"; allowed: on, 1, off, 0"));
  const std::string limit = environment("TANDEM_CACHE_MAX_BYTES");
  if (!limit.empty() && parse_bytes(limit) < 0)
    return fail(ErrorCode::kInvalidArgument,
                concat("TANDEM_CACHE_MAX_BYTES is \"", limit, "\"; allowed: ", kByteSizes));
  return {};
}

uint64_t ObjectCache::limit_from_environment() {
  const int64_t value = parse_bytes(environment("TANDEM_CACHE_MAX_BYTES"));
  return value < 0 ? uint64_t{1} << 30 : static_cast<uint64_t>(value);
}

ObjectCache::ObjectCache(const std::string& folder, uint64_t limit_bytes) : limit_bytes_(limit_bytes) {
  if (!folder.empty()) open_folder(folder);
}

ObjectCache::~ObjectCache() {
  if (folder_ >= 0) ::close(folder_);
}

// The checks are made on the opened folder, and files are opened relative to it: nobody can exchange it in between.
void ObjectCache::open_folder(const std::string& folder) {
  const std::string path = concat(folder, "/", kVersionFolder);
  const auto refuse = [&](const std::string& reason) {
    warning_ = concat("kernels are not cached: ", path, " ", reason, "; set TANDEM_CACHE_DIR to a folder of your own");
  };
  if (!make_folders(path)) return refuse(concat("cannot be made (", std::strerror(errno), ")"));
  int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (opened < 0) return refuse(concat("cannot be opened (", std::strerror(errno), ")"));
  struct stat status;
  if (::fstat(opened, &status) != 0 || !private_to_user(status)) {
    ::close(opened);
    return refuse("belongs to another user or can be written by others");
  }
  folder_ = opened;
}

std::optional<std::vector<uint8_t>> ObjectCache::find(const std::string& key) const {
  if (folder_ < 0) return std::nullopt;
  File file(::openat(folder_, (key + kSuffix).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status;
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || !private_to_user(status)) return std::nullopt;
  const uint64_t total = static_cast<uint64_t>(status.st_size);
  if (total < kHeaderSize || total > (uint64_t{1} << 30)) return std::nullopt;
  uint8_t header[kHeaderSize];
  if (!read_all(file.descriptor, header, kHeaderSize)) return std::nullopt;
  uint64_t size;
  std::memcpy(&size, header + sizeof kMagic, sizeof size);
  if (std::memcmp(header, kMagic, sizeof kMagic) != 0 || size != total - kHeaderSize) return std::nullopt;
  std::vector<uint8_t> object(size);
  if (!read_all(file.descriptor, object.data(), object.size())) return std::nullopt;
  if (std::memcmp(checksum(object.data(), object.size()).data(), header + kHeaderSize - 32, 32) != 0)
    return std::nullopt;
  // The time of last use decides what goes first; a day's precision saves the write.
  if (std::time(nullptr) - status.st_mtime > 24 * 3600) ::futimens(file.descriptor, nullptr);
  return object;
}

void ObjectCache::store(const std::string& key, const std::vector<uint8_t>& object) const {
  if (folder_ < 0 || object.size() + kHeaderSize > limit_bytes_) return;
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = concat("temporary-", ::getpid(), "-", counter++);
  {
    File file(::openat(folder_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.descriptor < 0) return;
    const uint64_t size = object.size();
    const Sha256::Digest digest = checksum(object.data(), object.size());
    bool written = write_all(file.descriptor, kMagic, sizeof kMagic) &&
                   write_all(file.descriptor, &size, sizeof size) &&
                   write_all(file.descriptor, digest.data(), digest.size()) &&
                   write_all(file.descriptor, object.data(), object.size());
    if (!written) {
      ::unlinkat(folder_, temporary.c_str(), 0);
      return;
    }
  }
  if (::renameat(folder_, temporary.c_str(), folder_, (key + kSuffix).c_str()) != 0)
    ::unlinkat(folder_, temporary.c_str(), 0);
  if (is_turn_to_trim(key, object.size() + kHeaderSize)) trim();
}

// To look at every file takes a tenth of a second where there are many, as long as it takes to compile some kernels.
// Keys are digests, and so as good as random numbers that need no state: one in (share / stored) of them has its turn.
bool ObjectCache::is_turn_to_trim(const std::string& key, uint64_t stored) const {
  const uint64_t share = limit_bytes_ / 64;
  return stored >= share || std::strtoull(key.substr(0, 16).c_str(), nullptr, 16) % share < stored;
}

void ObjectCache::trim() const {
  struct Entry {
    std::string name;
    uint64_t size;
    int64_t used;
  };
  // A second descriptor: reading a folder moves its position, and threads share this one.
  int opened = ::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = opened < 0 ? nullptr : ::fdopendir(opened);
  if (folder == nullptr) {
    if (opened >= 0) ::close(opened);
    return;
  }
  std::vector<Entry> entries;
  uint64_t total = 0;
  const int64_t now = std::time(nullptr);
  while (dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    struct stat status;
    if (::fstatat(folder_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (name.rfind("temporary-", 0) == 0) {
      // Left behind by a process that was killed.
      if (now - status.st_mtime > 3600) ::unlinkat(folder_, name.c_str(), 0);
    } else if (name.size() > std::strlen(kSuffix) && name.substr(name.size() - std::strlen(kSuffix)) == kSuffix) {
      const int64_t used = int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec;
      entries.push_back({name, static_cast<uint64_t>(status.st_size), used});
      total += static_cast<uint64_t>(status.st_size);
    }
  }
  ::closedir(folder);
  if (total <= limit_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_bytes_) break;
    if (::unlinkat(folder_, entry.name.c_str(), 0) == 0) total -= entry.size;
  }
}

}  // namespace tandem
