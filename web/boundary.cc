#include "web/boundary.h"

#include <new>
#include <stdexcept>

namespace tandem::web {

Failure& last_failure() {
  static Failure failure;
  return failure;
}

namespace {

void report_out_of_memory() {
  report(name_of(ErrorCode::kDevice), "out of memory; allow more with maximumMemory or destroy what is not needed");
}

}  // namespace

void report(std::string code, std::string message) {
  last_failure().code = std::move(code);
  last_failure().message = std::move(message);
}

void report(const JitError& error) { report(name_of(error.code), error.message); }

void report_current_exception() noexcept {
  try {
    throw;
  } catch (const TensorError& error) {
    report(error.to_error());
  } catch (const std::bad_alloc&) {
    report_out_of_memory();
  } catch (const std::length_error&) {
    // More elements than 32 bits can address.
    report_out_of_memory();
  } catch (const std::invalid_argument& error) {
    report(name_of(ErrorCode::kInvalidArgument), error.what());
  } catch (const std::exception& error) {
    report(name_of(ErrorCode::kRuntime), error.what());
  } catch (...) {
    report(name_of(ErrorCode::kRuntime), "something that is no std::exception was thrown");
  }
}

}  // namespace tandem::web

using tandem::web::last_failure;

TANDEM_EXPORT const char* tandem_failure_code() { return last_failure().code.c_str(); }
TANDEM_EXPORT const char* tandem_failure_message() { return last_failure().message.c_str(); }
TANDEM_EXPORT double tandem_failure_index() { return last_failure().index; }
