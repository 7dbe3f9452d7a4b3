#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace tandem {

/// What tuning did.
struct TuneStatistics {
  int contractions = 0;  ///< Distinct ones that take a noticeable part of a step.
  int kept = 0;          ///< Those of them whose tile was known from before.
  int measured = 0;      ///< Those whose candidates were run now.
  double milliseconds = 0;
};

struct Tuning {
  /// For ScheduleOptions::tiles; null when the heuristic's tiles stay.
  std::shared_ptr<const TileTable> tiles;
  TuneStatistics statistics;
  std::string text;  ///< For people: each contraction, what its candidates took, and which one was taken.
};

/// Finds a register tile for each contraction that matters to a step: one that was kept from before, or else the
/// fastest of a few on this machine. Schedules and compiles nothing but the kernels to be compared, and runs them on
/// memory of its own, as large as the operands of one contraction, which is given back.
///
/// A tile must be some percent faster than the heuristic's to replace it. What can't be measured (a backend without
/// Measurements, no memory within `memory_limit` bytes (0: no limit), no compiler) keeps the heuristic's: this never
/// fails. `before_measuring`, when there is one, is told how many contractions are about to be measured, which takes up
/// to seconds.
Tuning tune_tiles(const GraphModule& module, Backend& backend, const ScheduleOptions& options, int64_t memory_limit,
                  const std::function<void(int contractions)>& before_measuring = {});

/// Which candidate to take, given the seconds of each in some rounds: the heuristic's, number 0, unless another one
/// took at least 3 % less, in its shortest round and in most rounds both.
size_t fastest_candidate(const std::vector<std::vector<double>>& rounds);

}  // namespace tandem
