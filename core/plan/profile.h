#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// One kernel call's share of a profiled execution.
struct KernelProfile {
  std::string kernel;  ///< Name of the kernel.
  std::string origin;  ///< Where in the model's code the call comes from: its scopes, "encoder.0 / linear".
  int64_t flops =
      0;  ///< Floating-point operations at the call's values of the variables; see Work in core/schedule/schedule.h.
  int64_t bytes = 0;   ///< Bytes read and written, each element once, at these values.
  double start = 0;    ///< Seconds from the beginning of the execution.
  double seconds = 0;  ///< Wall time.
  double share = 0;    ///< Of the kernels' time; those of one execution add up to 1.

  /// 10^9 operations, 10^9 bytes in a second; 0 when no time was measured.
  double gflops_per_second() const { return seconds > 0 ? 1e-9 * static_cast<double>(flops) / seconds : 0; }
  double gigabytes_per_second() const { return seconds > 0 ? 1e-9 * static_cast<double>(bytes) / seconds : 0; }
};

/// Sets every `share` from the times, and `start` as if the calls followed each other without a gap: for times that
/// were put together from several executions.
void settle_profile(std::vector<KernelProfile>& profiles);

/// A table for people: the longest call first, with GFLOP/s and GB/s.
std::string profile_table(std::span<const KernelProfile> profiles);
/// A JSON array of objects in the order of execution: kernel, origin, flops, bytes, start, seconds, share.
std::string profile_json(std::span<const KernelProfile> profiles);
/// Chrome's trace format (chrome://tracing, Perfetto): one complete event for each call, in microseconds; `process` is
/// what the viewer calls the row.
std::string profile_trace(std::span<const KernelProfile> profiles, const std::string& process);

}  // namespace tandem
