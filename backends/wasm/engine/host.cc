#include "backends/wasm/engine/host.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "backends/wasm/emit.h"
#include "core/base/bits.h"
#include "core/base/text.h"

// host_library.js. A function that can fail returns a negative code and writes a text of at most `capacity` bytes.
extern "C" {
int tandem_module_load(const uint8_t* bytes, uint32_t size, uint32_t key_low, uint32_t key_high, char* message,
                       uint32_t capacity);
int tandem_module_run(int module, int phase, const void* slots, const int32_t* variables, uint32_t first, uint32_t last,
                      char* message, uint32_t capacity);
void tandem_module_unload(int module);
int tandem_module_count();
int tandem_has_relaxed_simd();
void tandem_zero(void* memory, uint32_t size);
}

namespace tandem {

namespace {

static_assert(sizeof(void*) == 4, "slot addresses are handed to kernels as they are");

constexpr size_t kMessageBytes = 1024;
constexpr size_t kAlignment = 64;

uint64_t hash_of(const std::vector<uint8_t>& bytes) {
  uint64_t hash = bytes.size();
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], std::min<size_t>(8, bytes.size() - i));
    hash = hash_mix(hash, word);
  }
  return hash;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Why kernels can't run any more; shared by a backend and its programs. The text has its place from the start, since
/// a run allocates nothing.
struct Breakage {
  bool is_broken = false;
  char message[kMessageBytes] = {};
};

class EngineExecutable : public Executable {
 public:
  EngineExecutable(int module, std::shared_ptr<Breakage> breakage, size_t variables, std::vector<uint8_t> binary)
      : module_(module), breakage_(std::move(breakage)), variables_(variables), binary_(std::move(binary)) {}

  ~EngineExecutable() override { tandem_module_unload(module_); }

  bool run(Phase phase, void* const* slots, const int64_t* variables, size_t first, size_t last) noexcept override {
    if (breakage_->is_broken) return false;
    for (size_t i = 0; i < variables_.size(); i++) variables_[i] = static_cast<int32_t>(variables[i]);
    const int status =
        tandem_module_run(module_, phase == Phase::kPrepare ? 0 : 1, static_cast<const void*>(slots), variables_.data(),
                          static_cast<uint32_t>(first), static_cast<uint32_t>(last), breakage_->message, kMessageBytes);
    breakage_->is_broken = status < 0;
    return status >= 0;
  }

  std::string failure() const override { return breakage_->message; }
  std::vector<uint8_t> binary() const override { return binary_; }

 private:
  int module_;
  std::shared_ptr<Breakage> breakage_;
  std::vector<int32_t> variables_;
  std::vector<uint8_t> binary_;
};

/// Pieces in which the heap grows: Emscripten's allocator takes 2 GiB or more for a negative number when it asks for
/// new memory, though it handles blocks of that size.
constexpr size_t kPiece = size_t{1} << 30;
/// What the allocator keeps for itself between two neighbours, and around an aligned block.
constexpr size_t kBlockOverhead = 256;

/// Makes one free block of the size at the end of the heap, if memory can grow by so much: neighbours that are free
/// become one.
void make_room(size_t size) {
  std::vector<char*> pieces;
  size_t together = 0;
  while (together < size + kBlockOverhead) {
    const size_t bytes = std::min(kPiece, size + kBlockOverhead - together);
    char* piece = static_cast<char*>(std::malloc(bytes));
    if (!piece) break;
    const bool adjoins = !pieces.empty() && piece > pieces.back() &&
                         static_cast<size_t>(piece - pieces.back()) < kPiece + kBlockOverhead;
    together = adjoins ? together + bytes : bytes;
    pieces.push_back(piece);
  }
  for (char* piece : pieces) std::free(piece);
}

class EngineBackend : public Backend {
 public:
  std::string name() const override { return "wasm"; }

  Capabilities capabilities() const override {
    return *capabilities_named(tandem_has_relaxed_simd() ? "wasm-relaxed" : "wasm-simd128");
  }

  Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& capabilities, Numerics,
                                              CompileStatistics& statistics) override {
    if (breakage_->is_broken) {
      return fail(ErrorCode::kDevice, concat("the engine stopped working: ", breakage_->message));
    }
    if (capabilities.fma && !tandem_has_relaxed_simd()) {
      return fail(ErrorCode::kDevice, concat("the instruction set ", capabilities.isa,
                                             " needs relaxed SIMD, which this host does not have; use wasm-simd128"));
    }
    auto start = std::chrono::steady_clock::now();
    TANDEM_TRY(binary, emit_module(program, capabilities));
    statistics.kernels = static_cast<int>(program.kernels.size());
    statistics.generate_ms = milliseconds_since(start);
    start = std::chrono::steady_clock::now();
    const uint64_t key = hash_of(binary);
    char message[kMessageBytes] = {};
    const int module =
        tandem_module_load(binary.data(), static_cast<uint32_t>(binary.size()), static_cast<uint32_t>(key),
                           static_cast<uint32_t>(key >> 32), message, kMessageBytes);
    statistics.load_ms = milliseconds_since(start);
    if (module < 0) {
      return fail(ErrorCode::kDevice, concat("the WebAssembly module of the plan could not be loaded: ", message));
    }
    statistics.compiled_units = 1;
    return std::unique_ptr<Executable>(
        std::make_unique<EngineExecutable>(module, breakage_, program.variables.size(), std::move(binary)));
  }

  Measurements* measurements() override { return &measurements_; }

  void* allocate(size_t bytes) override {
    if (bytes > SIZE_MAX - 2 * kAlignment) return nullptr;
    const size_t size = bytes + 2 * kAlignment;
    void* block = std::malloc(size);
    if (!block && size > kPiece) {
      make_room(size);
      block = std::malloc(size);
    }
    if (!block) return nullptr;
    // The last multiple that leaves room for the block's address before it. An aligned allocation would trim the block,
    // and what is trimmed goes to others: a block of the same size would not fit its place again.
    const auto address = reinterpret_cast<uintptr_t>(block);
    void* memory = static_cast<char*>(block) + ((address + 2 * kAlignment - 1) / kAlignment * kAlignment - address);
    static_cast<void**>(memory)[-1] = block;
    tandem_zero(memory, bytes);
    return memory;
  }

  void release(void* memory, size_t) override {
    if (memory) std::free(static_cast<void**>(memory)[-1]);
  }

 private:
  std::shared_ptr<Breakage> breakage_ = std::make_shared<Breakage>();
  Measurements measurements_;
};

}  // namespace

std::unique_ptr<Backend> make_engine_backend() { return std::make_unique<EngineBackend>(); }

int loaded_module_count() { return tandem_module_count(); }

}  // namespace tandem
