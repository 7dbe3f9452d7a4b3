#pragma once

#include <string>

#include "backends/clang/object_cache.h"
#include "core/backend/measurements.h"

namespace tandem {

/// What was measured on this machine, beside the objects of the kernel cache.
class KeptMeasurements : public Measurements {
 public:
  /// `machine`: what measurements depend on beside their keys and `threads`, which share a kernel: the processor, the
  /// engine.
  KeptMeasurements(const ObjectCache& cache, const std::string& machine, int threads);

  /// One thread by its own time, which stands still while others have the processor.
  double now() const override;
  std::optional<std::string> find(const std::string& key) override;
  void keep(const std::string& key, const std::string& value) override;

 private:
  std::string name_of(const std::string& key) const;

  const ObjectCache& cache_;
  const std::string machine_;
  const bool alone_;
};

}  // namespace tandem
