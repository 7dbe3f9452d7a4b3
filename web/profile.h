#pragma once

#include <functional>
#include <vector>

#include "core/plan/plan.h"

namespace tandem::web {

/// Profiles one execution; called several times, because clocks of browsers tick every 0.1 ms while a kernel may take a
/// hundredth of that.
using ProfiledRun = std::function<Result<std::vector<KernelProfile>>()>;

/// Runs it `repetitions` times (at least once) and keeps the mean of every kernel for JavaScript to read with the
/// functions of profile_entry.cc. Returns the number of kernels; -1 when a kernel trapped, after reporting "Broken".
Result<int> profile(const Plan& plan, int repetitions, const ProfiledRun& run);

}  // namespace tandem::web
