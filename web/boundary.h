#pragma once

#include <emscripten.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"

/// Marks a function that JavaScript can call. All of them have plain C types and let no exception through.
#define TANDEM_EXPORT extern "C" EMSCRIPTEN_KEEPALIVE

namespace tandem::web {

/// What the last failed call left for JavaScript to read.
struct Failure {
  std::string code;     ///< Name of the error code, "Broken" when kernels can't run any more.
  std::string message;  ///< A sentence for people.
  double index = NAN;   ///< Position of the sample that is to blame; NaN when it isn't about one.
};
Failure& last_failure();

/// Fills `last_failure()`.
void report(const JitError& error);
void report(std::string code, std::string message);
/// Turns the exception that is being handled into `last_failure()`.
void report_current_exception() noexcept;

/// Runs a function behind the C interface. Its failures and exceptions end in `last_failure()`, and `otherwise` is
/// returned.
template <typename Value, typename Function>
Value guarded(Value otherwise, Function&& function) noexcept {
  try {
    last_failure().index = NAN;
    Result<Value> result = function();
    if (result) return std::move(*result);
    report(result.error());
  } catch (...) {
    report_current_exception();
  }
  return otherwise;
}

/// Objects that JavaScript holds, by number. Numbers start at 1 and are not used again, so that a call with one of a
/// destroyed object fails instead of reaching another object.
template <typename Object>
class Handles {
 public:
  uint32_t add(std::unique_ptr<Object> object) {
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  /// nullptr for a number that is not in use.
  Object* find(uint32_t handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second.get();
  }
  /// Throws TensorError (NotFound) for a number that is not in use.
  Object& get(uint32_t handle) const {
    if (Object* object = find(handle)) return *object;
    throw TensorError("this object was destroyed; make a new one", ErrorCode::kNotFound);
  }
  void remove(uint32_t handle) { objects_.erase(handle); }
  size_t size() const { return objects_.size(); }

 private:
  std::unordered_map<uint32_t, std::unique_ptr<Object>> objects_;
  uint32_t last_ = 0;
};

}  // namespace tandem::web
