#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "native/native_backends.h"

namespace tandem {
namespace {

/// The number in a file of one word; nothing for "max" and for files that aren't there.
std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<int64_t> machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  int64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes && std::getline(file, unit))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return std::nullopt;
}

/// What one group leaves: its limit without what its processes use.
std::optional<int64_t> group_left(const std::string& folder, const char* limit_file, const char* usage_file) {
  const auto limit = read_number(folder + "/" + limit_file);
  if (!limit) return std::nullopt;
  return std::max<int64_t>(*limit - read_number(folder + "/" + usage_file).value_or(0), 0);
}

/// The smallest of the limits of the process's group and of all groups above it.
std::optional<int64_t> groups_left() {
  std::optional<int64_t> least;
  const auto take = [&](std::optional<int64_t> left) {
    if (left) least = std::min(least.value_or(*left), *left);
  };
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    std::string group = line.substr(second + 1);
    // In a container the group's own path may not be visible; its root then stands for it.
    while (true) {
      take(unified ? group_left(root + group, "memory.max", "memory.current")
                   : group_left(root + group, "memory.limit_in_bytes", "memory.usage_in_bytes"));
      const size_t slash = group.rfind('/');
      if (group.empty() || slash == std::string::npos) break;
      group.resize(slash);
    }
  }
  return least;
}

}  // namespace

int64_t native_available_memory() {
  const auto machine = machine_available();
  const auto groups = groups_left();
  if (machine && groups) return std::max<int64_t>(std::min(*machine, *groups), 1);
  return machine ? *machine : groups.value_or(0);
}

}  // namespace tandem
