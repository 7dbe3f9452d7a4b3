#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace tandem {

/// What went wrong, as a stable code: the text of an error may change, its code is part of the interface.
enum class ErrorCode : uint8_t {
  kNotPrepared,           ///< A per-step method was called before `prepare()`.
  kInputBufferNotFound,   ///< A declared input does not reach the plan: the build function ignores it.
  kDuplicateInputBuffer,  ///< Two declared inputs ended up on one buffer.
  kBuild,                 ///< The build function failed; the inner message is kept.
  kTensor,                ///< A shape, dtype or argument is wrong before or while the graph is built.
  kDevice,                ///< The backend could not compile, load or allocate.
  kOutputLayoutMismatch,  ///< The recurrent output is not [head | h | c].
  kRuntime,               ///< A prepared plan could not be executed.
  kVariable,              ///< A symbolic variable is unknown or its value is out of bounds.
  kDtypeMismatch,         ///< A typed view was asked for another dtype than the buffer holds.
  kViewOutOfBounds,       ///< A view or copy reaches past the live part of a buffer.
  kInvalidFormat,         ///< Bytes of a file are not what the format demands.
  kUnsupported,           ///< A valid request or file that this version does not implement.
  kNotFound,              ///< A file, tensor or weight is missing.
  kNonFinite,             ///< Samples hold NaN or an infinity.
  kTooShort,              ///< An input is shorter than the model needs.
  kInvalidArgument,       ///< An option or argument is out of its range.
  kMemoryLimit,           ///< A plan needs more memory than the limit allows.
};

/// The code as it is written for users, for instance "OutputLayoutMismatch".
const char* name_of(ErrorCode code);

/// The error value of every `Result`: a stable code and a sentence that names the thing, the value, the limit and the
/// way out.
struct JitError {
  ErrorCode code = ErrorCode::kRuntime;
  std::string message;
  /// kBuild: the error that the build function threw.
  std::shared_ptr<const JitError> inner = {};

  /// "NotPrepared: execute() was called before prepare() ..."
  std::string text() const { return std::string(name_of(code)) + ": " + message; }
};

/// Result of everything that can fail after a wrapper is declared.
template <typename T>
using Result = tl::expected<T, JitError>;

/// Makes the failing side of a `Result`.
inline tl::unexpected<JitError> fail(ErrorCode code, std::string message) {
  return tl::unexpected<JitError>(JitError{code, std::move(message)});
}

/// Thrown by tensor operations inside a build function, so that model code reads like the maths; `prepare()` turns it
/// into `ErrorCode::kBuild`. Also used inside readers and compilers below the `Result` boundary, with its own code.
class TensorError : public std::runtime_error {
 public:
  explicit TensorError(const std::string& message, ErrorCode code = ErrorCode::kTensor)
      : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }
  JitError to_error() const { return JitError{code_, what()}; }

 private:
  ErrorCode code_;
};

/// A broken invariant of the engine itself: never the user's fault. `prepare()` reports it as `ErrorCode::kDevice`.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws `InternalError` naming file, line and condition; used by TANDEM_CHECK.
[[noreturn]] void throw_internal_error(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace tandem

/// States an invariant of the engine. The detail is only evaluated when the condition fails.
#define TANDEM_CHECK(condition, detail) \
  ((condition) ? (void)0 : ::tandem::throw_internal_error(__FILE__, __LINE__, #condition, (detail)))

/// Returns the error of a Result expression early, or assigns its value to `target`.
#define TANDEM_TRY(target, expression)                                                      \
  auto target##_result = (expression);                                                      \
  if (!target##_result) return tl::unexpected<::tandem::JitError>(target##_result.error()); \
  auto& target = *target##_result
