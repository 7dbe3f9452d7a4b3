#include "core/backend/measurements.h"

#include <chrono>

#include "core/base/text.h"

namespace tandem {

double Measurements::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<std::string> Measurements::find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = known_.find(key);
  return known == known_.end() ? std::nullopt : std::optional(known->second);
}

void Measurements::keep(const std::string& key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_[key] = value;
}

size_t Measurements::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return known_.size();
}

std::string Measurements::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string out;
  for (const auto& [key, value] : known_) out += concat(key, "\t", value, "\n");
  return out;
}

void Measurements::read(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t begin = 0; begin < text.size();) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    begin += line.size() + 1;
    const size_t tab = line.find('\t');
    if (tab != std::string::npos && line.find('\t', tab + 1) == std::string::npos)
      known_.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
}

}  // namespace tandem
