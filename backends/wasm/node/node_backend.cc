#include "backends/wasm/node/node_backend.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "backends/wasm/emit.h"
#include "backends/wasm/node/module_text.h"
#include "backends/wasm/node/runner_process.h"
#include "core/base/text.h"
#include "core/plan/memory.h"

namespace tandem {

namespace {

constexpr uint64_t kPage = 65536;
constexpr uint64_t kMostPages = 65536;
/// First byte that is used in a program's memory.
constexpr uint64_t kFirstAddress = 64;

uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

bool is_written_before(SlotRole role) { return role == SlotRole::kInput || role == SlotRole::kState; }
bool is_read_after(SlotRole role) { return role == SlotRole::kOutput || role == SlotRole::kState; }

bool write(RunnerProcess& runner, uint32_t program, uint32_t address, const void* data, size_t bytes) {
  const uint32_t head[2] = {program, address};
  const RunnerProcess::Piece pieces[2] = {{head, sizeof(head)}, {data, bytes}};
  return bytes == 0 || runner.send(RunnerProcess::kWrite, pieces, 2);
}

/// Where everything lies in a program's own memory: slot addresses, variable values, the plan's arena, and what only
/// prepare calls need.
struct Layout {
  std::vector<uint32_t> addresses;
  uint32_t slots = 0;
  uint32_t variables = 0;
  uint64_t bytes = 0;

  explicit Layout(const Program& program) {
    uint64_t next = kFirstAddress;
    slots = static_cast<uint32_t>(next);
    next = aligned(next + 4 * program.slots.size());
    variables = static_cast<uint32_t>(next);
    next = aligned(next + 4 * program.variables.size());
    const MemoryLayout memory = plan_memory(program);
    const uint64_t scratch = next + static_cast<uint64_t>(memory.arena_bytes);
    for (size_t slot = 0; slot < program.slots.size(); slot++) {
      const uint64_t start = memory.places[slot] == MemoryLayout::Place::kArena ? next : scratch;
      addresses.push_back(static_cast<uint32_t>(start + static_cast<uint64_t>(memory.offsets[slot])));
    }
    bytes = scratch + static_cast<uint64_t>(memory.scratch_bytes);
  }
};

class NodeExecutable : public Executable {
 public:
  NodeExecutable(std::shared_ptr<RunnerProcess> runner, uint32_t id, const Program& program,
                 const Capabilities& capabilities, const Layout& layout, std::vector<uint8_t> binary)
      : runner_(std::move(runner)),
        id_(id),
        program_(program),
        capabilities_(capabilities),
        layout_(layout),
        binary_(std::move(binary)) {
    request_.reserve(7 + program.variables.size() + 2 * program_.slots.size());
    std::vector<bool> seen(program_.slots.size(), false);
    const auto new_constants = [&](const KernelCall& call, std::vector<uint32_t>& list) {
      for (const uint32_t slot : call.slots) {
        if (program_.slots[slot].role == SlotRole::kConstant && !seen[slot]) list.push_back(slot);
        seen[slot] = true;
      }
    };
    for (const KernelCall& call : program.prepare_calls) new_constants(call, prepare_constants_.emplace_back());
    for (const KernelCall& call : program.step_calls) new_constants(call, step_constants_);
  }

  ~NodeExecutable() override {
    std::lock_guard<std::mutex> lock(runner_->mutex());
    const RunnerProcess::Piece piece{&id_, 4};
    uint32_t bytes = 0;
    if (runner_->send(RunnerProcess::kUnload, &piece, 1)) runner_->receive(bytes);
  }

  bool run(Phase phase, void* const* slots, const int64_t* variables, size_t first, size_t last) noexcept override {
    std::lock_guard<std::mutex> lock(runner_->mutex());
    const bool done = phase == Phase::kPrepare
                          ? prepare(slots, variables, first, last)
                          : send_slots(slots) && send_run(phase, variables, first, last) && receive_slots(phase, slots);
    if (!done) failure_ = runner_->failure();
    return done;
  }

  bool copy_memory_of(const Executable& source) noexcept override {
    const auto& other = static_cast<const NodeExecutable&>(source);
    std::lock_guard<std::mutex> lock(runner_->mutex());
    const uint32_t ids[2] = {id_, other.id_};
    const RunnerProcess::Piece piece{ids, sizeof(ids)};
    uint32_t bytes = 0;
    step_constants_ = other.step_constants_;
    if (runner_->send(RunnerProcess::kCopy, &piece, 1) && runner_->receive(bytes)) return true;
    failure_ = runner_->failure();
    return false;
  }

  std::string failure() const override { return failure_; }
  std::vector<uint8_t> binary() const override { return binary_; }
  std::string source() const override {
    auto text = module_text(program_, capabilities_);
    return text ? std::move(*text) : concat(";; ", text.error().message, "\n");
  }

 private:
  /// Calls share the place where constants wait for them: each gets its own just before it runs.
  bool prepare(void* const* slots, const int64_t* variables, size_t first, size_t last) {
    const auto run_calls = [&](size_t begin, size_t end) {
      return begin == end ||
             (send_run(Phase::kPrepare, variables, begin, end) && receive_slots(Phase::kPrepare, slots));
    };
    size_t done = first;
    for (size_t call = first; call < last; call++) {
      if (prepare_constants_[call].empty()) continue;
      if (!run_calls(done, call)) return false;
      done = call;
      for (const uint32_t slot : prepare_constants_[call])
        if (!send_slot(slot, slots)) return false;
    }
    return run_calls(done, last);
  }

  bool send_slots(void* const* slots) {
    for (const uint32_t slot : step_constants_)
      if (!send_slot(slot, slots)) return false;
    step_constants_.clear();
    for (uint32_t slot = 0; slot < program_.slots.size(); slot++)
      if (is_written_before(program_.slots[slot].role) && !send_slot(slot, slots)) return false;
    return true;
  }

  bool send_slot(uint32_t slot, void* const* slots) {
    return write(*runner_, id_, layout_.addresses[slot], slots[slot], static_cast<size_t>(program_.slots[slot].bytes));
  }

  bool send_run(Phase phase, const int64_t* variables, size_t first, size_t last) {
    request_.assign({id_, phase == Phase::kPrepare ? 0u : 1u, static_cast<uint32_t>(first), static_cast<uint32_t>(last),
                     layout_.slots, layout_.variables, static_cast<uint32_t>(program_.variables.size())});
    for (size_t i = 0; i < program_.variables.size(); i++) request_.push_back(static_cast<uint32_t>(variables[i]));
    for (size_t i = 0; i < program_.slots.size() && phase == Phase::kStep; i++) {
      if (!is_read_after(program_.slots[i].role)) continue;
      request_.push_back(layout_.addresses[i]);
      request_.push_back(static_cast<uint32_t>(program_.slots[i].bytes));
    }
    const RunnerProcess::Piece piece{request_.data(), 4 * request_.size()};
    return runner_->send(RunnerProcess::kRun, &piece, 1);
  }

  bool receive_slots(Phase phase, void* const* slots) {
    uint32_t bytes = 0;
    if (!runner_->receive(bytes)) return false;
    for (size_t i = 0; i < program_.slots.size() && phase == Phase::kStep; i++) {
      if (!is_read_after(program_.slots[i].role)) continue;
      if (!runner_->receive(slots[i], static_cast<size_t>(program_.slots[i].bytes))) return false;
    }
    return true;
  }

  std::shared_ptr<RunnerProcess> runner_;
  uint32_t id_;
  Program program_;  ///< Without weights: these are in the slots.
  Capabilities capabilities_;
  Layout layout_;
  std::vector<uint8_t> binary_;
  std::vector<uint32_t> request_;
  std::string failure_;
  std::vector<std::vector<uint32_t>> prepare_constants_;  ///< Per prepare call: those that no earlier one reads.
  std::vector<uint32_t> step_constants_;                  ///< Read by steps alone, and not sent yet.
};

class NodeBackend : public Backend {
 public:
  explicit NodeBackend(std::shared_ptr<RunnerProcess> runner) : runner_(std::move(runner)) {}

  std::string name() const override { return "wasm"; }

  Capabilities capabilities() const override {
    return *capabilities_named(runner_->has_relaxed_simd() ? "wasm-relaxed" : "wasm-simd128");
  }

  Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& capabilities, Numerics,
                                              CompileStatistics& statistics) override {
    if (capabilities.fma && !runner_->has_relaxed_simd()) {
      return fail(ErrorCode::kDevice,
                  concat("the instruction set ", capabilities.isa,
                         " needs relaxed SIMD, which this Node.js does not have; use wasm-simd128, or Node.js 24"));
    }
    const auto start = std::chrono::steady_clock::now();
    TANDEM_TRY(binary, emit_module(program, capabilities));
    statistics.kernels = static_cast<int>(program.kernels.size());
    statistics.generate_ms = milliseconds_since(start);
    const Layout layout(program);
    if (layout.bytes > kPage * kMostPages) {
      return fail(ErrorCode::kMemoryLimit, concat("the plan needs ", layout.bytes, " bytes, and WebAssembly addresses ",
                                                  kPage * kMostPages, "; lower the bounds of the variables"));
    }
    return load(program, capabilities, layout, std::move(binary), statistics);
  }

  void* allocate(size_t bytes) override {
    const size_t size = aligned(std::max<size_t>(bytes, 1));
    void* memory = std::aligned_alloc(64, size);
    if (memory) std::memset(memory, 0, size);
    return memory;
  }

  void release(void* memory, size_t) override { std::free(memory); }

 private:
  Result<std::unique_ptr<Executable>> load(const Program& program, const Capabilities& capabilities,
                                           const Layout& layout, std::vector<uint8_t> binary,
                                           CompileStatistics& statistics) {
    const auto start = std::chrono::steady_clock::now();
    std::lock_guard<std::mutex> lock(runner_->mutex());
    const uint32_t id = next_program_++;
    const uint32_t head[2] = {id, static_cast<uint32_t>((layout.bytes + kPage - 1) / kPage)};
    uint32_t bytes = 0;
    if (!runner_->send(RunnerProcess::kLoad, {{head, sizeof(head)}, {binary.data(), binary.size()}}) ||
        !runner_->receive(bytes) ||
        !write(*runner_, id, layout.slots, layout.addresses.data(), 4 * layout.addresses.size())) {
      return fail(ErrorCode::kDevice, concat("Node.js could not load the WebAssembly module: ", runner_->failure()));
    }
    statistics.compiled_units = 1;
    statistics.load_ms = milliseconds_since(start);
    return std::unique_ptr<Executable>(
        std::make_unique<NodeExecutable>(runner_, id, program, capabilities, layout, std::move(binary)));
  }

  std::shared_ptr<RunnerProcess> runner_;
  uint32_t next_program_ = 1;
};

}  // namespace

NodeBackendOptions NodeBackendOptions::from_environment() {
  NodeBackendOptions options;
  if (const char* node = std::getenv("TANDEM_NODE"); node && *node) options.node = node;
  if (const char* flags = std::getenv("TANDEM_NODE_FLAGS")) {
    std::istringstream words(flags);
    for (std::string word; words >> word;) options.flags.push_back(word);
  }
  return options;
}

Result<std::unique_ptr<Backend>> make_node_backend(const NodeBackendOptions& options) {
  TANDEM_TRY(runner, RunnerProcess::start(options));
  return std::unique_ptr<Backend>(std::make_unique<NodeBackend>(std::move(runner)));
}

}  // namespace tandem
