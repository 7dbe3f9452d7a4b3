#include "core/plan/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "core/base/text.h"
#include "core/plan/tile_trial.h"

namespace tandem {
namespace {

/// Counts up whenever what was kept would be measured differently.
constexpr int kVersion = 1;
/// A contraction matters when a step spends so much of its operations in it, and one of them has so many.
constexpr double kLeastShare = 0.01;
constexpr int64_t kLeastFlops = 30'000;
/// With variables it is measured at sizes at which one call has no more than so many: some milliseconds.
constexpr int64_t kMostFlops = 400'000'000, kMostWasmFlops = 100'000'000;
/// What another tile may take at most of the heuristic's time.
constexpr double kClearlyFaster = 0.97;

/// "12.34 us": the shortest of several.
std::string microseconds(const std::vector<double>& rounds) {
  if (rounds.empty()) return "not run";
  return concat(std::round(1e8 * *std::min_element(rounds.begin(), rounds.end())) / 100, " us");
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Tuner {
 public:
  Tuner(const GraphModule& module, Backend& backend, ScheduleOptions options, int64_t memory_limit,
        const std::function<void(int)>& before_measuring)
      : module_(module),
        backend_(backend),
        options_(std::move(options)),
        memory_limit_(memory_limit),
        before_measuring_(before_measuring) {}

  Tuning run() {
    Measurements* measurements = backend_.measurements();
    if (!measurements) {
      tuning_.text =
          concat("tiles are the heuristic's: times of the ", backend_.name(), " backend say nothing about kernels\n");
      return std::move(tuning_);
    }
    const auto start = std::chrono::steady_clock::now();
    options_.tiles = std::make_shared<TileTable>();
    schedule_ = make_schedule(module_, options_);
    std::vector<ScheduledContraction> unknown;
    for (ScheduledContraction& contraction : contractions_that_matter()) {
      const std::optional<std::string> kept = measurements->find(kept_key(contraction));
      const std::optional<Tile> tile = kept ? tile_named(*kept, contraction.candidates) : std::nullopt;
      if (!tile) {
        unknown.push_back(std::move(contraction));
        continue;
      }
      take(contraction, *tile);
      lines_ += concat(contraction.key, "\n  ", text(*tile), " kept from before\n");
      tuning_.statistics.kept++;
    }
    if (!unknown.empty() && before_measuring_) before_measuring_(static_cast<int>(unknown.size()));
    if (!unknown.empty()) measure(unknown, *measurements);
    // The clock of the measurements may stand still while a compiler works on other threads.
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    tuning_.statistics.milliseconds = taken.count();
    const TuneStatistics& done = tuning_.statistics;
    tuning_.text = concat("tiles for ", target(), "\n", done.contractions, " contractions matter, ", done.kept,
                          " have tiles from before, ", done.measured, " were measured; ", std::round(done.milliseconds),
                          " ms\n", lines_);
    if (!tiles_.empty()) tuning_.tiles = std::make_shared<TileTable>(std::move(tiles_));
    return std::move(tuning_);
  }

 private:
  std::string target() const { return concat(name_of(options_.numerics), ", ", options_.capabilities.text()); }
  std::string kept_key(const ScheduledContraction& contraction) const {
    return concat("tile ", kVersion, ", ", target(), ": ", contraction.key);
  }

  /// Those that the table lacks have the heuristic's.
  void take(const ScheduledContraction& contraction, const Tile& tile) {
    if (!(tile == contraction.candidates.front())) tiles_[contraction.key] = tile;
  }

  int64_t flops_of(size_t call, const std::vector<int64_t>& values) const {
    return schedule_.step_work[call].flops.evaluate([&](const Index& leaf) {
      const std::vector<Index>& variables = schedule_.program.variables;
      const auto place = std::find(variables.begin(), variables.end(), leaf) - variables.begin();
      return values[static_cast<size_t>(place)];
    });
  }

  /// Distinct ones, in the order of the step; sets the sizes at which they are run.
  std::vector<ScheduledContraction> contractions_that_matter() {
    const Program& program = schedule_.program;
    std::vector<int64_t> largest;
    for (const Index& variable : program.variables) largest.push_back(variable.upper());
    double all = 0;
    std::vector<double> of_kernel(program.kernels.size(), 0);
    for (size_t call = 0; call < program.step_calls.size(); call++) {
      const auto flops = static_cast<double>(flops_of(call, largest));
      all += flops;
      of_kernel[program.step_calls[call].kernel] += flops;
    }
    std::vector<ScheduledContraction> chosen;
    values_ = largest;
    const int64_t most = options_.capabilities.wasm ? kMostWasmFlops : kMostFlops;
    for (const ScheduledContraction& contraction : schedule_.contractions) {
      const size_t own = contraction.last_call - 1;
      const bool matters = of_kernel[program.step_calls[own].kernel] >= kLeastShare * all &&
                           flops_of(own, largest) >= kLeastFlops && contraction.candidates.size() > 1;
      const auto same_key = [&](const ScheduledContraction& other) { return other.key == contraction.key; };
      if (!matters || std::any_of(chosen.begin(), chosen.end(), same_key)) continue;
      while (flops_of(own, values_) > most && halve()) {
      }
      chosen.push_back(contraction);
    }
    tuning_.statistics.contractions = static_cast<int>(chosen.size());
    return chosen;
  }

  /// Makes the variables smaller; false when they can't be.
  bool halve() {
    bool smaller = false;
    for (size_t i = 0; i < values_.size(); i++) {
      const Index& variable = schedule_.program.variables[i];
      const int64_t multiple = std::max<int64_t>(1, variable.multiple());
      const int64_t half = std::max(variable.lower(), values_[i] / 2 / multiple * multiple);
      smaller |= half < values_[i];
      values_[i] = half;
    }
    return smaller;
  }

  void measure(const std::vector<ScheduledContraction>& contractions, Measurements& measurements) {
    const auto times = TileTrial(module_, backend_, options_, contractions, values_).run(memory_limit_);
    if (!times) {
      lines_ += "the others could not be measured: they have the heuristic's tiles\n";
      return;
    }
    for (size_t i = 0; i < contractions.size(); i++) {
      const ScheduledContraction& contraction = contractions[i];
      const std::vector<std::vector<double>>& rounds = (*times)[i];
      const size_t chosen = fastest_candidate(rounds);
      take(contraction, contraction.candidates[chosen]);
      measurements.keep(kept_key(contraction), text(contraction.candidates[chosen]));
      tuning_.statistics.measured++;
      lines_ += contraction.key + "\n";
      for (size_t k = 0; k < rounds.size(); k++)
        lines_ += concat("  ", text(contraction.candidates[k]), " ", microseconds(rounds[k]),
                         k == 0 ? ", the heuristic's" : "", k == chosen ? ", taken" : "", "\n");
    }
  }

  const GraphModule& module_;
  Backend& backend_;
  ScheduleOptions options_;
  const int64_t memory_limit_;
  const std::function<void(int)>& before_measuring_;
  Schedule schedule_;  ///< With the heuristic's tiles.
  std::vector<int64_t> values_;
  TileTable tiles_;
  std::string lines_;
  Tuning tuning_;
};

}  // namespace

size_t fastest_candidate(const std::vector<std::vector<double>>& rounds) {
  size_t fastest = 0;
  double best = kClearlyFaster;
  for (size_t i = 1; i < rounds.size(); i++) {
    const size_t count = std::min(rounds[i].size(), rounds[0].size());
    if (count == 0) continue;
    std::vector<double> ratios;
    for (size_t round = 0; round < count; round++) ratios.push_back(rounds[i][round] / rounds[0][round]);
    const double shortest =
        *std::min_element(rounds[i].begin(), rounds[i].end()) / *std::min_element(rounds[0].begin(), rounds[0].end());
    // Another process may have had the machine for most of the rounds, or been away for one of them alone.
    const double ratio = std::max(median(ratios), shortest);
    if (!(ratio < best)) continue;
    best = ratio;
    fastest = i;
  }
  return fastest;
}

Tuning tune_tiles(const GraphModule& module, Backend& backend, const ScheduleOptions& options, int64_t memory_limit,
                  const std::function<void(int contractions)>& before_measuring) {
  try {
    return Tuner(module, backend, options, memory_limit, before_measuring).run();
  } catch (const std::exception& error) {
    Tuning none;
    none.text = concat("tiles are the heuristic's: ", error.what(), "\n");
    return none;
  }
}

}  // namespace tandem
