#include "backends/interpreter/interpreter.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/interpreter/machine.h"
#include "core/base/text.h"

namespace tandem {
namespace {

/// Rounding to nearest and kept denormals while it lives; then the caller's mode again.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t saved_;
};

/// A call with its expressions over the program's variables.
struct ReadyCall {
  const KernelCall* call;
  std::vector<IndexExpression> variables;
  IndexExpression range;
};

class InterpreterExecutable final : public Executable {
 public:
  explicit InterpreterExecutable(const Program& program) : program_(program) {
    for (const Index& variable : program_.variables) {
      const uint32_t number = indices_.add_number();
      program_variables_.push_back(number);
      numbers_of_variables_.emplace(variable.name(), number);
    }
    for (const Kernel& kernel : program_.kernels) {
      verify(kernel);
      codes_.push_back(assemble(kernel));
    }
    size_t most_buffers = 0;
    for (const Kernel& kernel : program_.kernels) most_buffers = std::max(most_buffers, kernel.buffers.size());
    buffers_.resize(most_buffers);
    for (const Slot& slot : program_.slots) {
      const bool starts_empty = slot.role == SlotRole::kIntermediate || slot.role == SlotRole::kOutput;
      written_.emplace_back(starts_empty ? static_cast<size_t>(slot.bytes) : 0, static_cast<unsigned char>(0));
    }
    for (const KernelCall& call : program_.prepare_calls) prepare_calls_.push_back(ready(call));
    for (const KernelCall& call : program_.step_calls) step_calls_.push_back(ready(call));
  }

  bool run(Phase phase, void* const* slots, const int64_t* variables, size_t first, size_t last) noexcept override {
    try {
      const DefaultFloatingPoint mode;
      failure_.clear();
      if (first == 0)
        for (std::vector<unsigned char>& written : written_) std::fill(written.begin(), written.end(), 0);
      for (size_t i = 0; i < program_variables_.size(); i++) indices_.set(program_variables_[i], variables[i]);
      const std::vector<ReadyCall>& calls = phase == Phase::kPrepare ? prepare_calls_ : step_calls_;
      for (size_t i = first; i < last; i++) {
        if (i >= calls.size())
          failure_ = concat("there is no call ", i);
        else
          failure_ = run_call(calls[i], slots);
        if (failure_.empty()) continue;
        if (i < calls.size() && !calls[i].call->origin.empty()) failure_ += concat(" (", calls[i].call->origin, ")");
        return false;
      }
      return true;
    } catch (const std::exception& error) {
      keep_failure(error.what());
    } catch (...) {
      keep_failure("unknown error");
    }
    return false;
  }

  std::string failure() const override { return failure_; }

  uint64_t operations() const override {
    uint64_t count = 0;
    for (const Code& code : codes_) count += code.executed;
    return count;
  }

  std::string source() const override {
    std::string out;
    for (const Kernel& kernel : program_.kernels) out += text(kernel);
    return out;
  }

 private:
  void keep_failure(const char* what) noexcept {
    try {
      failure_ = what;
    } catch (...) {
      failure_.clear();
    }
  }

  ReadyCall ready(const KernelCall& call) {
    const auto broken = [&](const std::string& what) -> TensorError {
      return TensorError(concat("call of kernel ", call.kernel, " (", call.origin, ") ", what), ErrorCode::kDevice);
    };
    if (call.kernel >= program_.kernels.size()) throw broken("names a kernel that the program doesn't have");
    const Kernel& kernel = program_.kernels[call.kernel];
    if (call.slots.size() != kernel.buffers.size() || call.variables.size() != kernel.variables.size())
      throw broken(concat("gives ", call.slots.size(), " slots and ", call.variables.size(), " variables; '",
                          kernel.name, "' takes ", kernel.buffers.size(), " and ", kernel.variables.size()));
    for (size_t i = 0; i < call.slots.size(); i++) {
      if (call.slots[i] >= program_.slots.size()) throw broken(concat("names slot ", call.slots[i]));
      if (kernel.buffers[i].access != Access::kRead && program_.slots[call.slots[i]].role == SlotRole::kConstant)
        throw broken(concat("writes to the constant '", program_.slots[call.slots[i]].name, "'"));
    }
    const auto number_of = [&](const Index& leaf) {
      const auto found =
          leaf.kind() == IndexKind::kVariable ? numbers_of_variables_.find(leaf.name()) : numbers_of_variables_.end();
      if (found == numbers_of_variables_.end()) throw broken(concat("uses '", leaf.text(), "'"));
      return found->second;
    };
    ReadyCall result{&call, {}, indices_.add(call.range, number_of)};
    for (const Index& variable : call.variables) result.variables.push_back(indices_.add(variable, number_of));
    return result;
  }

  std::string run_call(const ReadyCall& ready_call, void* const* slots) {
    Code& code = codes_[ready_call.call->kernel];
    const Kernel& kernel = *code.kernel;
    for (size_t i = 0; i < kernel.variables.size(); i++) {
      const Index& variable = kernel.variables[i];
      int64_t value = 0;
      if (!indices_.evaluate(ready_call.variables[i], value)) return indices_.fault();
      if (value < variable.lower() || value > variable.upper() ||
          value % std::max<int64_t>(1, variable.multiple()) != 0)
        return concat("kernel '", kernel.name, "' gets ", variable.text(), " = ", value,
                      ", which must be a multiple of ", variable.multiple(), " in ", variable.lower(), " .. ",
                      variable.upper());
      code.indices.set(code.variables[i], value);
    }
    int64_t range = 0, stated = 0;
    if (!indices_.evaluate(ready_call.range, range)) return indices_.fault();
    if (!code.indices.evaluate(code.range, stated)) return code.indices.fault();
    if (range > stated)
      return concat("kernel '", kernel.name, "' is called over a range of ", range, " and states one of ", stated);
    for (size_t i = 0; i < kernel.buffers.size(); i++) {
      const uint32_t slot = ready_call.call->slots[i];
      unsigned char* const written = written_[slot].empty() ? nullptr : written_[slot].data();
      buffers_[i] = MachineBuffer{static_cast<unsigned char*>(slots[slot]), program_.slots[slot].bytes, written};
    }
    return run_kernel(code, buffers_.data(), 0, range);
  }

  const Program program_;
  IndexCode indices_;
  std::vector<uint32_t> program_variables_;
  std::map<std::string, uint32_t> numbers_of_variables_;
  std::vector<Code> codes_;
  std::vector<ReadyCall> prepare_calls_, step_calls_;
  std::vector<MachineBuffer> buffers_;
  std::vector<std::vector<unsigned char>> written_;  // By slot; empty when all of its bytes are always defined.
  std::string failure_;
};

}  // namespace

Capabilities InterpreterBackend::capabilities() const { return *capabilities_named("interpreter"); }

Result<std::unique_ptr<Executable>> InterpreterBackend::compile(const Program& program, const Capabilities&, Numerics,
                                                                CompileStatistics& statistics) {
  const auto start = std::chrono::steady_clock::now();
  try {
    std::unique_ptr<Executable> executable = std::make_unique<InterpreterExecutable>(program);
    statistics.kernels = static_cast<int>(program.kernels.size());
    statistics.generate_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return executable;
  } catch (const std::exception& error) {
    return fail(ErrorCode::kDevice, concat("the interpreter can't run this plan: ", error.what()));
  }
}

void* InterpreterBackend::allocate(size_t bytes) {
  const size_t whole = (std::max<size_t>(bytes, 1) + 63) / 64 * 64;
  void* const memory = std::aligned_alloc(64, whole);
  if (memory != nullptr) std::memset(memory, 0, whole);
  return memory;
}

void InterpreterBackend::release(void* memory, size_t) { std::free(memory); }

}  // namespace tandem
