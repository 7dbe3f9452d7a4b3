#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/backend/backend.h"

namespace tandem::test {

/// Another backend, whose clock goes on by what a test says that each kernel takes, and stands still otherwise.
class TimedBackend : public Backend {
 public:
  /// `seconds_of`: of one call of a kernel, by its name.
  TimedBackend(std::shared_ptr<Backend> inner, std::function<double(const std::string& kernel)> seconds_of)
      : inner_(std::move(inner)), clock_(inner_->measurements()), seconds_of_(std::move(seconds_of)) {}

  std::string name() const override { return inner_->name(); }
  Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& capabilities,
                                              Numerics numerics, CompileStatistics& statistics) override {
    if (++compilations_ == failing_compilation) return fail(ErrorCode::kDevice, "no compiler");
    TANDEM_TRY(executable, inner_->compile(program, capabilities, numerics, statistics));
    std::vector<double> seconds;
    for (const KernelCall& call : program.step_calls) seconds.push_back(seconds_of_(program.kernels[call.kernel].name));
    return std::unique_ptr<Executable>(std::make_unique<Timed>(std::move(executable), std::move(seconds), clock_));
  }
  Measurements* measurements() override { return &clock_; }
  void* allocate(size_t bytes) override {
    if (++allocations_ == failing_allocation) return nullptr;
    return inner_->allocate(bytes);
  }
  void release(void* memory, size_t bytes) override { inner_->release(memory, bytes); }

  // Which calls fail, counted from 1 on; 0: none.
  int failing_compilation = 0;
  int failing_allocation = 0;

 private:
  /// Keeps what the other backend keeps, if that keeps anything.
  struct Clock : Measurements {
    explicit Clock(Measurements* kept) : inner(kept) {}
    double now() const override { return time; }
    std::optional<std::string> find(const std::string& key) override {
      return inner ? inner->find(key) : Measurements::find(key);
    }
    void keep(const std::string& key, const std::string& value) override {
      inner ? inner->keep(key, value) : Measurements::keep(key, value);
    }
    Measurements* inner;
    double time = 0;
  };

  struct Timed : Executable {
    Timed(std::unique_ptr<Executable> executable, std::vector<double> of_calls, Clock& shown)
        : inner(std::move(executable)), seconds(std::move(of_calls)), clock(shown) {}
    bool run(Phase phase, void* const* slots, const int64_t* variables, size_t first, size_t last) noexcept override {
      for (size_t i = first; i < last && phase == Phase::kStep; i++) clock.time += seconds[i];
      return inner->run(phase, slots, variables, first, last);
    }
    std::string failure() const override { return inner->failure(); }
    std::unique_ptr<Executable> inner;
    std::vector<double> seconds;
    Clock& clock;
  };

  std::shared_ptr<Backend> inner_;
  Clock clock_;
  std::function<double(const std::string&)> seconds_of_;
  int compilations_ = 0, allocations_ = 0;
};

}  // namespace tandem::test
