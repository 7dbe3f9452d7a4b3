#include "core/jit/debug.h"

#include <cstdio>

#include "core/base/text.h"

namespace tandem {
namespace {

void write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file && std::fclose(file) == 0;
  if (!written || !closed) std::fprintf(stderr, "tandem: TANDEM_DUMP can't write %s\n", path.c_str());
}

}  // namespace

std::string_view name_of(Stage stage) {
  constexpr std::string_view names[] = {"", "summary", "graph", "rewritten", "schedule", "kernel", "source"};
  return names[static_cast<int>(stage)];
}

void show_stage(const DebugOptions& options, const std::string& name, Stage stage, const std::string& text) {
  if (options.level >= static_cast<int>(stage))
    std::fprintf(stderr, "--- %s: %s\n%s%s", name.c_str(), std::string(name_of(stage)).c_str(), text.c_str(),
                 !text.empty() && text.back() == '\n' ? "" : "\n");
  if (!options.folder.empty())
    write_file(concat(options.folder, "/", name, ".", static_cast<int>(stage), "-", name_of(stage), ".txt"), text);
  if (options.observer) options.observer(stage, text);
}

}  // namespace tandem
