#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace tandem {

/// Runs contractions with other tiles than they have, and takes the time. What is run are their calls as they stand in
/// a schedule of the whole graph, with their epilogues and packing, all compiled as one program; their operands are
/// memory with some bytes in it.
class TileTrial {
 public:
  /// `contractions`: of a schedule of the module. `values`: of the program's variables.
  TileTrial(const GraphModule& module, Backend& backend, const ScheduleOptions& options,
            const std::vector<ScheduledContraction>& contractions, std::vector<int64_t> values);
  ~TileTrial();
  TileTrial(const TileTrial&) = delete;
  TileTrial& operator=(const TileTrial&) = delete;

  /// Seconds of each candidate of each contraction in some rounds, in which they take turns; none for one that was not
  /// run. Nothing at all when the machine has no memory within `memory_limit` bytes (0: no limit), no compiler, or
  /// fails.
  std::optional<std::vector<std::vector<std::vector<double>>>> run(int64_t memory_limit);

 private:
  /// The calls of one candidate in the program.
  struct Piece {
    size_t first = 0, last = 0;
  };

  void add_schedule(const GraphModule& module, size_t candidate);
  void add_piece(const Schedule& schedule, const ScheduledContraction& from, Piece& piece, size_t candidate);
  bool compile_and_allocate(int64_t memory_limit);
  bool time(const Piece& piece, int repetitions, double& seconds);
  bool warm_up(size_t contraction, double batch);
  double least_batch() const;

  Backend& backend_;
  Measurements& measurements_;
  const ScheduleOptions& options_;
  const std::vector<ScheduledContraction>& contractions_;
  const std::vector<int64_t> values_;
  Program program_;
  std::vector<std::vector<Piece>> pieces_;  ///< Per contraction and candidate; empty: there is none.
  std::vector<int64_t> offsets_;            ///< Of each slot in the memory that all pieces share.
  int64_t bytes_ = 0;
  std::unique_ptr<Executable> executable_;
  void* memory_ = nullptr;
  std::vector<void*> slots_;
  std::vector<int> repetitions_, rounds_;  ///< Per contraction.
};

}  // namespace tandem
