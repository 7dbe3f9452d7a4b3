#include "core/jit/debug.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#ifndef __EMSCRIPTEN__  // A page has no folders.
#include <filesystem>
#endif

#include "core/base/text.h"

namespace tandem {
namespace {

/// What can't be made can't be written to, which is said then.
void make_folder([[maybe_unused]] const std::string& folder) {
#ifndef __EMSCRIPTEN__
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
#endif
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int reason = errno;
  const bool closed = file && std::fclose(file) == 0;
  if (written && closed) return;
  if (written) reason = errno;
  std::fprintf(stderr, "tandem: TANDEM_DUMP can't write %s: %s\n", path.c_str(), std::strerror(reason));
}

/// A name as part of a file's: what shells and folders read as something else becomes '_'.
std::string file_name(std::string name) {
  constexpr std::string_view kSpecial = "!\"#$%&'()*/:;<=>?[\\]^`{|}~";
  for (char& c : name)
    if ((c >= 0 && c <= ' ') || c == '\x7f' || kSpecial.find(c) != std::string_view::npos) c = '_';
  return name;
}

}  // namespace

std::string_view name_of(Stage stage) {
  constexpr std::string_view names[] = {"", "summary", "graph", "rewritten", "schedule", "kernel", "source", "tuning"};
  return names[static_cast<int>(stage)];
}

void show_stage(const DebugOptions& options, const std::string& name, Stage stage, const std::string& text) {
  if (options.level >= level_of(stage))
    std::fprintf(stderr, "--- %s: %s\n%s%s", name.c_str(), std::string(name_of(stage)).c_str(), text.c_str(),
                 !text.empty() && text.back() == '\n' ? "" : "\n");
  if (!options.folder.empty()) {
    make_folder(options.folder);
    const std::string file = concat(file_name(name), ".", static_cast<int>(stage), "-", name_of(stage), ".txt");
    write_file(concat(options.folder, "/", file), text);
  }
  if (options.observer) options.observer(stage, text);
}

}  // namespace tandem
