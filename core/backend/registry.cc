#include "core/backend/registry.h"

#include <mutex>

#include "core/base/text.h"

namespace tandem {
namespace {

struct LiveBackend {
  BackendRequest request;
  std::weak_ptr<Backend> backend;
};

struct Entry {
  std::string name;
  BackendFactory factory;
  std::vector<LiveBackend> live;
};

/// Holds functions and weak pointers only: no backend outlives its plans.
struct Registry {
  std::mutex mutex;
  std::vector<Entry> entries;
  MemoryProbe probe = nullptr;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

Entry* find_entry(Registry& all, std::string_view name) {
  for (Entry& entry : all.entries)
    if (entry.name == name || name.empty()) return &entry;
  return nullptr;
}

std::vector<std::string> names_of(const Registry& all) {
  std::vector<std::string> names;
  for (const Entry& entry : all.entries) names.push_back(entry.name);
  return names;
}

}  // namespace

void register_backend(std::string name, BackendFactory factory) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (Entry& entry : all.entries)
    if (entry.name == name) {
      entry.factory = std::move(factory);
      entry.live.clear();
      return;
    }
  all.entries.push_back({std::move(name), std::move(factory), {}});
}

std::vector<std::string> backend_names() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return names_of(all);
}

Result<std::shared_ptr<Backend>> find_backend(std::string_view name, const BackendRequest& request) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  Entry* entry = find_entry(all, name);
  if (!entry) {
    if (all.entries.empty())
      return fail(ErrorCode::kInvalidArgument,
                  "no backend is registered; include <tandem/tandem.h> or call register_native_backends()");
    return fail(ErrorCode::kInvalidArgument,
                concat("no backend is named \"", name, "\"; there are ", join(names_of(all))));
  }
  LiveBackend* place = nullptr;
  for (LiveBackend& live : entry->live)
    if (live.request == request) {
      if (auto backend = live.backend.lock()) return backend;
      place = &live;
    }
  auto made = entry->factory(request);
  if (!made) return made;
  if (place)
    place->backend = *made;
  else
    entry->live.push_back({request, *made});
  return made;
}

void set_memory_probe(MemoryProbe probe) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.probe = probe;
}

int64_t available_memory() {
  Registry& all = registry();
  MemoryProbe probe = nullptr;
  {
    const std::lock_guard lock(all.mutex);
    probe = all.probe;
  }
  return probe ? probe() : 0;
}

}  // namespace tandem
