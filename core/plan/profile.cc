#include "core/plan/profile.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "core/base/text.h"

namespace tandem {
namespace {

/// A JSON string. Names are UTF-8 or less: only what JSON forbids is escaped.
std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

void settle_profile(std::vector<KernelProfile>& profiles) {
  double total = 0;
  for (KernelProfile& profile : profiles) {
    profile.start = total;
    total += profile.seconds;
  }
  const double equal = profiles.empty() ? 0 : 1.0 / static_cast<double>(profiles.size());
  for (KernelProfile& profile : profiles) profile.share = total > 0 ? profile.seconds / total : equal;
}

std::string profile_table(std::span<const KernelProfile> profiles) {
  std::vector<size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return profiles[a].seconds != profiles[b].seconds ? profiles[a].seconds > profiles[b].seconds : a < b;
  });
  std::string out = "  share        us   GFLOP/s      GB/s        flops        bytes  kernel (origin)\n";
  for (const size_t i : order) {
    const KernelProfile& profile = profiles[i];
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "%6.1f%% %9.2f %9.2f %9.2f %12lld %12lld  ", 100 * profile.share,
                  1e6 * profile.seconds, profile.gflops_per_second(), profile.gigabytes_per_second(),
                  static_cast<long long>(profile.flops), static_cast<long long>(profile.bytes));
    out += numbers + profile.kernel;
    if (!profile.origin.empty()) out += concat(" (", profile.origin, ")");
    out += '\n';
  }
  return out;
}

std::string profile_json(std::span<const KernelProfile> profiles) {
  std::string out = "[";
  for (const KernelProfile& profile : profiles)
    out +=
        concat(out.size() > 1 ? ",\n " : "", "{\"kernel\": ", quoted(profile.kernel),
               ", \"origin\": ", quoted(profile.origin), ", \"flops\": ", profile.flops, ", \"bytes\": ", profile.bytes,
               ", \"start\": ", profile.start, ", \"seconds\": ", profile.seconds, ", \"share\": ", profile.share, "}");
  return out + "]\n";
}

std::string profile_trace(std::span<const KernelProfile> profiles, const std::string& process) {
  std::string out = concat(
      "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n {\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, "
      "\"tid\": 1, \"args\": {\"name\": ",
      quoted(process), "}}");
  for (const KernelProfile& profile : profiles)
    out += concat(",\n {\"name\": ", quoted(profile.kernel),
                  ", \"cat\": \"kernel\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": ", 1e6 * profile.start,
                  ", \"dur\": ", 1e6 * profile.seconds, ", \"args\": {\"origin\": ", quoted(profile.origin),
                  ", \"flops\": ", profile.flops, ", \"bytes\": ", profile.bytes,
                  ", \"gflops_per_second\": ", profile.gflops_per_second(),
                  ", \"gigabytes_per_second\": ", profile.gigabytes_per_second(), ", \"share\": ", profile.share, "}}");
  return out + "]}\n";
}

}  // namespace tandem
