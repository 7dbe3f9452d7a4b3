#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "core/backend/backend.h"

namespace tandem::test {

/// Another backend, with counters: what it was asked to compile (which in WebAssembly makes and instantiates a module)
/// and to allocate.
class CountingBackend : public Backend {
 public:
  explicit CountingBackend(std::shared_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<std::unique_ptr<Executable>> compile(const Program& program, const Capabilities& capabilities,
                                              Numerics numerics, CompileStatistics& statistics) override {
    compilations++;
    return inner_->compile(program, capabilities, numerics, statistics);
  }
  void* allocate(size_t bytes) override {
    allocations++;
    return inner_->allocate(bytes);
  }
  void release(void* memory, size_t bytes) override { inner_->release(memory, bytes); }

  std::atomic<int> compilations = 0;
  std::atomic<int> allocations = 0;

 private:
  std::shared_ptr<Backend> inner_;
};

}  // namespace tandem::test
