#include "core/base/error.h"

#include "core/base/text.h"

namespace tandem {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotPrepared:
      return "NotPrepared";
    case ErrorCode::kInputBufferNotFound:
      return "InputBufferNotFound";
    case ErrorCode::kDuplicateInputBuffer:
      return "DuplicateInputBuffer";
    case ErrorCode::kBuild:
      return "Build";
    case ErrorCode::kTensor:
      return "Tensor";
    case ErrorCode::kDevice:
      return "Device";
    case ErrorCode::kOutputLayoutMismatch:
      return "OutputLayoutMismatch";
    case ErrorCode::kRuntime:
      return "Runtime";
    case ErrorCode::kVariable:
      return "Variable";
    case ErrorCode::kDtypeMismatch:
      return "DtypeMismatch";
    case ErrorCode::kViewOutOfBounds:
      return "ViewOutOfBounds";
    case ErrorCode::kInvalidFormat:
      return "InvalidFormat";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kNonFinite:
      return "NonFinite";
    case ErrorCode::kTooShort:
      return "TooShort";
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kMemoryLimit:
      return "MemoryLimit";
  }
  return "Unknown";
}

void throw_internal_error(const char* file, int line, const char* condition, const std::string& detail) {
  throw InternalError(concat("internal error at ", file, ":", line, ": expected ", condition, "; ", detail));
}

}  // namespace tandem
