// Times of kernels: a profiled run leaves its rows here, and JavaScript reads them one number at a time.

#include "web/profile.h"

#include <algorithm>

#include "web/boundary.h"

namespace tandem::web {

namespace {

std::vector<KernelProfile>& rows() {
  static std::vector<KernelProfile> all;
  return all;
}

}  // namespace

Result<int> profile(const Plan& plan, int repetitions, const ProfiledRun& run) {
  const int times = std::max(repetitions, 1);
  rows().clear();
  for (int i = 0; i < times; i++) {
    Result<std::vector<KernelProfile>> profiles = run();
    if (!profiles) {
      if (plan.failure().empty()) return tl::unexpected<JitError>(profiles.error());
      report("Broken", plan.failure());
      return -1;
    }
    if (i == 0) {
      rows() = std::move(*profiles);
      continue;
    }
    for (size_t row = 0; row < rows().size(); row++) rows()[row].seconds += (*profiles)[row].seconds;
  }
  for (KernelProfile& row : rows()) row.seconds /= times;
  settle_profile(rows());
  return static_cast<int>(rows().size());
}

}  // namespace tandem::web

using tandem::web::rows;

/// Name of a kernel (0), or where in the model its call comes from (1).
TANDEM_EXPORT const char* tandem_profile_text(uint32_t row, int which) {
  return which == 0 ? rows()[row].kernel.c_str() : rows()[row].origin.c_str();
}

/// 0 floating-point operations and 1 bytes, at the values of the variables; 2 seconds; 3 share of all.
TANDEM_EXPORT double tandem_profile_number(uint32_t row, int which) {
  const tandem::KernelProfile& profile = rows()[row];
  if (which == 0) return static_cast<double>(profile.flops);
  if (which == 1) return static_cast<double>(profile.bytes);
  return which == 2 ? profile.seconds : profile.share;
}
