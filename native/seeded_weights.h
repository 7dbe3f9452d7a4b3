#pragma once

#include <cstdint>
#include <span>

#include "core/models/gigaam_weights.h"

namespace tandem {

/// Fills a weight of GigaAM from its name and a seed: value i is a function of name, seed and i, the same bits on every
/// machine. Ranges keep the activations of a model of any depth near 1.
void fill_seeded_weight(const WeightNeed& need, uint64_t seed, std::span<float> values);

/// All weights of a model, f32, in a file without a name that is mapped like one from disk: for benchmarks, which need
/// the sizes of a model and not what it has learnt. kMemoryLimit, kRuntime with the system's reason.
Result<WeightFile> seeded_gigaam_weights(const GigaAmConfig& config, uint64_t seed);

}  // namespace tandem
