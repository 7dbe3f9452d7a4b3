#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace tandem {

/// Object files on disk, by key. Its files are executed: the folder must belong to the user and be closed to others,
/// and every file carries a checksum. Any number of processes and threads may use one folder at once; nothing here ever
/// fails: without a usable folder, every look-up misses and nothing is stored.
class ObjectCache {
 public:
  /// The folder that the environment names: TANDEM_CACHE_DIR, else XDG_CACHE_HOME/tandem, else HOME/.cache/tandem;
  /// empty (no cache) when TANDEM_CACHE is "off" or "0" or none of them is set.
  static std::string folder_from_environment();
  /// Why there is no folder though nobody switched the cache off; empty when there is one.
  static std::string missing_folder_warning();
  /// kInvalidArgument when TANDEM_CACHE is anything but empty, "on", "1", "off" or "0", or TANDEM_CACHE_MAX_BYTES no
  /// number of bytes ("512M").
  static Result<void> check_environment();
  /// TANDEM_CACHE_MAX_BYTES, or 1 GiB.
  static uint64_t limit_from_environment();

  /// Uses (and makes, with mode 0700) the folder `<folder>/objects-v1`. Empty: no cache.
  ObjectCache(const std::string& folder, uint64_t limit_bytes);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  bool usable() const { return folder_ >= 0; }
  /// Why the folder is not used; empty when it is or when no cache was asked for.
  const std::string& warning() const { return warning_; }

  /// The object with this key (64 hexadecimal digits). Damaged, foreign or truncated files count as absent.
  std::optional<std::vector<uint8_t>> find(const std::string& key) const;
  /// Stores an object. Looks for files to remove, those used longest ago, when all together exceed the limit: once for
  /// about a sixty-fourth of it stored, by whichever processes, so that they exceed it by no more than a few of these.
  void store(const std::string& key, const std::vector<uint8_t>& object) const;

 private:
  void open_folder(const std::string& folder);
  bool is_turn_to_trim(const std::string& key, uint64_t stored) const;
  void trim() const;

  int folder_ = -1;
  uint64_t limit_bytes_;
  std::string warning_;
};

}  // namespace tandem
