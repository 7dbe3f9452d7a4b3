#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tandem {

/// Measuring kernels on a machine: a clock, and what was found with it, short texts by key. Here they are kept in
/// memory; a backend with a cache keeps them longer. All methods may be called from several threads at once.
class Measurements {
 public:
  Measurements() = default;
  virtual ~Measurements() = default;
  Measurements(const Measurements&) = delete;
  Measurements& operator=(const Measurements&) = delete;

  /// Seconds since some moment.
  virtual double now() const;
  /// What was kept under this key; nothing when nothing was, or when it got lost or damaged.
  virtual std::optional<std::string> find(const std::string& key);
  virtual void keep(const std::string& key, const std::string& value);

  /// How much is in memory.
  size_t count() const;
  /// Everything that is in memory, a line each: key, tab, value. Neither may have tabs or newlines.
  std::string text() const;
  /// Adds what `text` gave to what is known. Lines without exactly one tab are passed over.
  void read(const std::string& text);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> known_;
};

}  // namespace tandem
