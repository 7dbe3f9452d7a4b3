#include "backends/clang/native_program.h"

#include "core/base/text.h"

namespace tandem {

namespace {

constexpr size_t kMaxBuffers = 256;
constexpr size_t kMaxVariables = 64;
/// Waking a thread costs some microseconds: kernels with less work stay on the caller's. A core does about 100,000 of
/// these in one microsecond.
constexpr int64_t kLargeFlops = 4'000'000;
/// Prepare calls mostly copy: what counts is how much.
constexpr int64_t kLargeBytes = 1 << 20;

/// All exceptions masked, rounding to nearest; 0x8040 flushes denormal results and inputs to zero.
unsigned control_word(Numerics numerics) { return numerics == Numerics::kFast ? 0x1f80u | 0x8040u : 0x1f80u; }

/// Sets rounding and the treatment of denormals for a run and gives the caller's setting back.
class FloatingPointMode {
 public:
  explicit FloatingPointMode(Numerics numerics) : before_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(control_word(numerics));
  }
  ~FloatingPointMode() { __builtin_ia32_ldmxcsr(before_); }
  FloatingPointMode(const FloatingPointMode&) = delete;
  FloatingPointMode& operator=(const FloatingPointMode&) = delete;

 private:
  unsigned before_;
};

/// As many threads as the process may use, when that is more.
std::unique_ptr<WorkerPool> wider_pool(int threads) {
  auto pool = std::make_unique<WorkerPool>(0);
  return pool->threads() > threads ? std::move(pool) : nullptr;
}

}  // namespace

NativeProgram::NativeProgram(const Program& program, Numerics numerics, std::unique_ptr<LoadedCode> code,
                             std::shared_ptr<WorkerPool> pool, std::string source, std::vector<uint8_t> binary)
    : numerics_(numerics),
      code_(std::move(code)),
      pool_(std::move(pool)),
      prepare_pool_(wider_pool(pool_->threads())),
      prepare_calls_(resolve(program, program.prepare_calls, code_->functions, kLargeBytes)),
      step_calls_(resolve(program, program.step_calls, code_->functions, INT64_MAX)),
      source_(std::move(source)),
      binary_(std::move(binary)) {}

std::vector<NativeProgram::Call> NativeProgram::resolve(const Program& program, const std::vector<KernelCall>& calls,
                                                        const std::vector<KernelFunction>& functions,
                                                        int64_t large_bytes) {
  std::vector<Call> resolved;
  for (const KernelCall& call : calls) {
    TANDEM_CHECK(call.kernel < program.kernels.size(), concat("call of kernel ", call.kernel));
    const Kernel& kernel = program.kernels[call.kernel];
    TANDEM_CHECK(call.slots.size() == kernel.buffers.size() && call.slots.size() <= kMaxBuffers,
                 concat("kernel \"", kernel.name, "\" has ", kernel.buffers.size(), " buffers, the call ",
                        call.slots.size(), ", the limit is ", kMaxBuffers));
    TANDEM_CHECK(call.variables.size() == kernel.variables.size() && call.variables.size() <= kMaxVariables,
                 concat("kernel \"", kernel.name, "\" has ", kernel.variables.size(), " variables, the call ",
                        call.variables.size(), ", the limit is ", kMaxVariables));
    int64_t bytes = 0;
    for (uint32_t slot : call.slots) {
      TANDEM_CHECK(slot < program.slots.size(), concat("slot ", slot));
      bytes += program.slots[slot].bytes;
    }
    Call made{functions[call.kernel],
              call.slots,
              {},
              IndexProgram(call.range, program.variables),
              (kernel.flops >= kLargeFlops || bytes >= large_bytes) && call.range.upper() > 1,
              false};
    for (const Index& variable : call.variables) made.variables.emplace_back(variable, program.variables);
    resolved.push_back(std::move(made));
  }
  for (size_t i = resolved.size(); i-- > 0;)
    if (resolved[i].large) {
      resolved[i].last_large = true;
      break;
    }
  return resolved;
}

bool NativeProgram::run(Phase phase, void* const* slots, const int64_t* variables, size_t first, size_t last) noexcept {
  const bool preparing = phase == Phase::kPrepare;
  const std::vector<Call>& calls = preparing ? prepare_calls_ : step_calls_;
  WorkerPool& pool = preparing && prepare_pool_ ? *prepare_pool_ : *pool_;
  const FloatingPointMode mode(numerics_);
  void* buffers[kMaxBuffers];
  long values[kMaxVariables];
  for (size_t i = first; i < last && i < calls.size(); i++) {
    const Call& call = calls[i];
    for (size_t k = 0; k < call.slots.size(); k++) buffers[k] = slots[call.slots[k]];
    for (size_t k = 0; k < call.variables.size(); k++) values[k] = call.variables[k].evaluate(variables);
    const int64_t range = call.range.evaluate(variables);
    if (call.large && range > 1 && pool.threads() > 1)
      pool.run(call.function, buffers, values, range, control_word(numerics_), call.last_large || i + 1 == last);
    else
      call.function(buffers, values, 0, range);
  }
  // Weights are packed once: threads that wait for more would wait for ever.
  if (preparing && last >= calls.size()) prepare_pool_.reset();
  return true;
}

}  // namespace tandem
