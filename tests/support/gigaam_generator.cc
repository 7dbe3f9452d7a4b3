#include "tests/support/gigaam_generator.h"

#include <stdexcept>

#include "native/seeded_weights.h"

namespace tandem::testing {

WeightFile generate_gigaam_weights(const GigaAmConfig& config, uint64_t seed) {
  auto file = seeded_gigaam_weights(config, seed);
  if (!file) throw std::runtime_error(file.error().text());
  return *file;
}

}  // namespace tandem::testing
