#include "backends/clang/kept_measurements.h"

#include <ctime>

#include "backends/clang/sha256.h"
#include "core/base/text.h"

namespace tandem {

KeptMeasurements::KeptMeasurements(const ObjectCache& cache, const std::string& machine, int threads)
    : cache_(cache), machine_(concat(machine, ", ", threads, " threads")), alone_(threads == 1) {}

double KeptMeasurements::now() const {
  timespec time;
  if (!alone_ || ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return Measurements::now();
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::optional<std::string> KeptMeasurements::find(const std::string& key) {
  if (auto known = Measurements::find(key)) return known;
  const auto bytes = cache_.find(name_of(key));
  if (!bytes) return std::nullopt;
  std::string value(bytes->begin(), bytes->end());
  Measurements::keep(key, value);
  return value;
}

void KeptMeasurements::keep(const std::string& key, const std::string& value) {
  Measurements::keep(key, value);
  cache_.store(name_of(key), {value.begin(), value.end()});
}

std::string KeptMeasurements::name_of(const std::string& key) const {
  Sha256 hash;
  hash.field("measurement");
  hash.field(machine_);
  hash.field(key);
  return hash.finish_text();
}

}  // namespace tandem
