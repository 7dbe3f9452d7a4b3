#include "core/plan/tile_trial.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/text.h"
#include "core/plan/memory.h"

namespace tandem {
namespace {

/// Four or eight of these are a moderate number as floats of any width, and far more than any length as an integer:
/// loops that end at lengths run to their ends.
constexpr int kFill = 0x3f;
/// How long the runs of one contraction take together, about, and how many rounds there are.
constexpr double kSecondsPerContraction = 0.25;
constexpr int kLeastRounds = 7, kMostRounds = 25;
/// A batch of runs takes so much longer than the clock can tell apart, and at least so many seconds.
constexpr double kTicksPerBatch = 40, kLeastBatch = 20e-6;
constexpr int kMostRepetitions = 4096;
/// Browsers compile what has run for a while once more, and better.
constexpr double kWasmWarmUp = 15e-3;

}  // namespace

TileTrial::TileTrial(const GraphModule& module, Backend& backend, const ScheduleOptions& options,
                     const std::vector<ScheduledContraction>& contractions, std::vector<int64_t> values)
    : backend_(backend),
      measurements_(*backend.measurements()),
      options_(options),
      contractions_(contractions),
      values_(std::move(values)),
      pieces_(contractions.size()) {
  for (size_t i = 0; i < contractions.size(); i++) pieces_[i].resize(contractions[i].candidates.size());
  for (size_t candidate = 0; candidate < kMostCandidates; candidate++) add_schedule(module, candidate);
}

TileTrial::~TileTrial() {
  executable_.reset();
  if (memory_) backend_.release(memory_, static_cast<size_t>(bytes_));
}

/// The candidates of this number, of all contractions at once.
void TileTrial::add_schedule(const GraphModule& module, size_t candidate) {
  auto tiles = std::make_shared<TileTable>();
  for (const ScheduledContraction& contraction : contractions_)
    if (candidate < contraction.candidates.size()) tiles->emplace(contraction.key, contraction.candidates[candidate]);
  if (tiles->empty()) return;
  ScheduleOptions options = options_;
  options.tiles = tiles;
  const Schedule schedule = make_schedule(module, options);
  program_.variables = schedule.program.variables;
  for (size_t i = 0; i < contractions_.size(); i++) {
    if (candidate >= pieces_[i].size()) continue;
    const auto found =
        std::find_if(schedule.contractions.begin(), schedule.contractions.end(),
                     [&](const ScheduledContraction& other) { return other.key == contractions_[i].key; });
    if (found != schedule.contractions.end()) add_piece(schedule, *found, pieces_[i][candidate], candidate);
  }
}

void TileTrial::add_piece(const Schedule& schedule, const ScheduledContraction& from, Piece& piece, size_t candidate) {
  const Program& source = schedule.program;
  std::vector<std::pair<uint32_t, uint32_t>> kernels, slots;  // From numbers there to numbers here.
  const auto number_of = [](const auto& known, uint32_t there) -> std::optional<uint32_t> {
    for (const auto& [number, here] : known)
      if (number == there) return here;
    return std::nullopt;
  };
  int64_t end = 0;
  piece.first = program_.step_calls.size();
  for (size_t i = from.first_call; i < from.last_call; i++) {
    KernelCall call = source.step_calls[i];
    if (const auto known = number_of(kernels, call.kernel)) {
      call.kernel = *known;
    } else {
      Kernel kernel = source.kernels[call.kernel];
      kernel.name = concat("c", candidate, "_", program_.kernels.size(), "_", kernel.name);
      kernels.emplace_back(call.kernel, static_cast<uint32_t>(program_.kernels.size()));
      call.kernel = kernels.back().second;
      program_.kernels.push_back(std::move(kernel));
    }
    for (uint32_t& slot : call.slots) {
      if (const auto known = number_of(slots, slot)) {
        slot = *known;
        continue;
      }
      slots.emplace_back(slot, static_cast<uint32_t>(program_.slots.size()));
      program_.slots.push_back(source.slots[slot]);
      offsets_.push_back(end);
      end += aligned_size(source.slots[slot].bytes);
      slot = slots.back().second;
    }
    program_.step_calls.push_back(std::move(call));
  }
  piece.last = program_.step_calls.size();
  bytes_ = std::max(bytes_, end);
}

bool TileTrial::compile_and_allocate(int64_t memory_limit) {
  if (bytes_ == 0 || (memory_limit > 0 && bytes_ > memory_limit)) return false;
  CompileStatistics ignored;
  auto compiled = backend_.compile(program_, options_.capabilities, options_.numerics, ignored);
  if (!compiled) return false;
  executable_ = std::move(*compiled);
  memory_ = backend_.allocate(static_cast<size_t>(bytes_));
  if (!memory_) return false;
  std::memset(memory_, kFill, static_cast<size_t>(bytes_));
  for (const int64_t offset : offsets_) slots_.push_back(static_cast<std::byte*>(memory_) + offset);
  return true;
}

/// Runs a candidate and counts the seconds of one repetition. False: the backend failed.
bool TileTrial::time(const Piece& piece, int repetitions, double& seconds) {
  const double start = measurements_.now();
  for (int i = 0; i < repetitions; i++)
    if (!executable_->run(Phase::kStep, slots_.data(), values_.data(), piece.first, piece.last)) return false;
  seconds = (measurements_.now() - start) / repetitions;
  return true;
}

/// The shortest batch whose time is worth something. Clocks of pages move in steps of up to 0.1 ms.
double TileTrial::least_batch() const {
  double tick = 1;
  for (int i = 0; i < 3; i++) {
    const double start = measurements_.now();
    double moved = 0;
    for (int tries = 0; moved <= 0 && tries < 100'000; tries++) moved = measurements_.now() - start;
    tick = std::min(tick, moved);
  }
  return std::max(kLeastBatch, tick * kTicksPerBatch);
}

/// Runs each candidate of a contraction, and finds how often one has to be run for a batch of so many seconds.
bool TileTrial::warm_up(size_t contraction, double batch) {
  const double enough = options_.capabilities.wasm ? std::max(kWasmWarmUp, batch) : batch;
  double fastest = std::numeric_limits<double>::infinity(), all = 0;
  for (const Piece& piece : pieces_[contraction]) {
    if (piece.first == piece.last) continue;
    double seconds = 0, spent = 0;
    int count = 1;
    for (;; count *= 2) {
      if (!time(piece, count, seconds)) return false;
      spent += seconds * count;
      if (spent >= enough || count >= kMostRepetitions) break;
    }
    fastest = std::min(fastest, seconds);
    all += seconds;
  }
  const double needed = fastest > 0 ? batch / fastest : 1;
  repetitions_.push_back(static_cast<int>(std::min<double>(kMostRepetitions, 1 + needed)));
  const double round = all * repetitions_.back();
  rounds_.push_back(
      round > 0 ? static_cast<int>(std::clamp<double>(kSecondsPerContraction / round, kLeastRounds, kMostRounds))
                : kLeastRounds);
  return true;
}

std::optional<std::vector<std::vector<std::vector<double>>>> TileTrial::run(int64_t memory_limit) {
  if (!compile_and_allocate(memory_limit)) return std::nullopt;
  std::vector<std::vector<std::vector<double>>> rounds;
  const double batch = least_batch();
  for (size_t i = 0; i < pieces_.size(); i++) {
    rounds.emplace_back(pieces_[i].size());
    if (!warm_up(i, batch)) return std::nullopt;
  }
  // All contractions have their turn before the next candidate of one of them, as they have in a step.
  for (int round = 0; round < kMostRounds; round++)
    for (size_t candidate = 0; candidate < kMostCandidates; candidate++)
      for (size_t i = 0; i < pieces_.size(); i++) {
        if (round >= rounds_[i] || candidate >= pieces_[i].size()) continue;
        const Piece& piece = pieces_[i][candidate];
        double seconds = 0;
        if (piece.first == piece.last) continue;
        if (!time(piece, repetitions_[i], seconds)) return std::nullopt;
        rounds[i][candidate].push_back(seconds);
      }
  return rounds;
}

}  // namespace tandem
