#pragma once

#include "core/models/gigaam_weights.h"

namespace tandem::testing {

/// Makes the weights of a model from their names and a seed: the generator that the references were made with. Every
/// value is a function of the name, the seed and its number, the same bits on every machine.
WeightFile generate_gigaam_weights(const GigaAmConfig& config, uint64_t seed);

}  // namespace tandem::testing
